//! The explorations of declared indexes: writes beside each other, beside `build` and beside `repair`, with a lost
//! request or response, and with a crash.

use azure_table::testing::{Exploration, Simulation, explore};
use azure_table::{DynamicEntity, ErrorKind, Guid, Result, TableEntity, TableServiceClient};
use azure_table_patterns::Indexed;
use futures::future::join;

use super::MAX_TIME;
use crate::explorations::Case;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique), index(by_name = (name)))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u8,
    mail: Option<String>,
    name: String,
    #[table(write_id)]
    write: Option<Guid>,
}

fn person(id: u8, mail: &str, name: &str) -> Person {
    Person {
        tenant: "t".into(),
        id,
        mail: Some(mail.into()),
        name: name.into(),
        write: None,
    }
}

/// Returns an entity without a value of the unique index.
fn dangling() -> Person {
    Person {
        mail: None,
        ..person(3, "", "Dan")
    }
}

/// A call of one task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    /// Inserts the entity 1 or 2 with this mail address.
    Insert(u8, &'static str),
    /// Inserts or replaces the entity 1.
    Upsert(&'static str),
    /// Sets mail address and name of the entity 1.
    Modify(&'static str),
    Delete,
    Build,
    Repair,
    /// Inserts the entity 2 as a writer that does not know the indexes.
    InsertUnindexed,
    /// Changes the entity 3, which only another call may have inserted.
    ModifyAbsent,
    /// Inserts the entity 3, whose index row dangles.
    InsertOverDangling,
}

impl Call {
    async fn run(self, service: &TableServiceClient) -> Result<()> {
        let table = service.table::<Person>("People")?;
        if let Self::InsertUnindexed = self {
            return table.insert(&person(2, "c@x", "Cid")).await.map(drop);
        }
        let people = Indexed::open(&table).await?;
        match self {
            Self::Insert(id, mail) => people.insert(&person(id, mail, mail)).await.map(drop),
            Self::Upsert(mail) => people.insert_or_replace(&person(1, mail, mail)).await.map(drop),
            Self::Modify(mail) => {
                let change = |person: &mut Person| (person.mail, person.name) = (Some(mail.into()), mail.into());
                people.modify(("t", 1), change).await.map(drop)
            }
            Self::Delete => people.delete(("t", 1)).await.map(drop),
            Self::ModifyAbsent => people
                .modify(("t", 3), |person| person.name = "Eve".into())
                .await
                .map(drop),
            Self::Build => {
                people.build(Person::BY_MAIL).await?;
                people.build(Person::BY_NAME).await.map(drop)
            }
            Self::Repair => {
                let found = people.verify().await?;
                people.repair(&found).await.map(drop)
            }
            Self::InsertUnindexed => Ok(()),
            Self::InsertOverDangling => people.insert(&dangling()).await.map(drop),
        }
    }

    /// Returns `true` if it leaves index rows that no writer repairs.
    fn leaves_holes(self) -> bool {
        matches!(self, Self::InsertUnindexed)
    }
}

/// Runs the calls beside each other, the first as a process. Then each index row has its entity, and each entity its
/// index rows.
async fn beside(simulation: Simulation, calls: [Call; 2]) -> Result<()> {
    let _ = simulation.table::<Person>("People");
    let behind = TableServiceClient::from_transport(simulation.emulator().clone());
    let people = Indexed::open(&behind.table::<Person>("People")?).await?;
    people.insert(&person(1, "a@x", "Ada")).await?;
    if calls.contains(&Call::InsertOverDangling) {
        people.insert(&dangling()).await?;
        behind.table::<Person>("People")?.delete(("t", 3)).await?;
    }
    let first = simulation.process("a", async |service: TableServiceClient| calls[0].run(&service).await);
    let service = simulation.client("b");
    let (first, second) = join(first, calls[1].run(&service)).await;
    for result in [first, second] {
        let expected = [
            ErrorKind::AlreadyExists,
            ErrorKind::NotFound,
            ErrorKind::ConditionNotMet,
        ];
        if let Err(e) = result
            && !expected.contains(&e.kind())
            && !e.may_have_applied()
            && !matches!(e.kind(), ErrorKind::Connection | ErrorKind::Timeout)
        {
            return Err(e);
        }
    }
    let mut found = people.verify().await?;
    if calls.iter().any(|call| call.leaves_holes()) {
        people.repair(&found).await?;
        found = people.verify().await?;
    }
    assert!(found.faults.is_empty(), "{:?} after {calls:?}", found.faults);
    let all = behind.dynamic_table("People")?.query().partition("t").all().await?;
    let mails: Vec<_> = all.iter().filter_map(|row: &DynamicEntity| row.get("mail")).collect();
    let distinct = mails.iter().enumerate().all(|(at, mail)| !mails[..at].contains(mail));
    assert!(distinct, "two entities have one mail address: {mails:?}");
    Ok(())
}

fn explored(calls: [Call; 2], faults: usize, crashes: usize) -> Exploration {
    let body = async move |simulation: Simulation| beside(simulation, calls).await;
    let exploration = explore(body).isolated().faults(faults).crashes(crashes);
    exploration.max_schedules(200_000).max_time(MAX_TIME).run()
}

macro_rules! cases {
    ($($name:literal: $first:expr, $second:expr;)*) => {
        [$(
            Case { name: $name, explore: |faults| explored([$first, $second], faults, 0) },
            Case { name: concat!($name, ", the first crashes"), explore: |faults| explored([$first, $second], faults, 1) },
        )*]
    };
}

use Call::{Build, Delete, Insert, InsertOverDangling, InsertUnindexed, Modify, ModifyAbsent, Repair, Upsert};

/// The calls, two beside each other.
pub(super) const ALL: [Case; 28] = cases![
    "`Indexed`: two inserts of one entity": Insert(2, "c@x"), Insert(2, "d@x");
    "`Indexed`: two inserts of one unique value": Insert(2, "c@x"), Upsert("c@x");
    "`Indexed`: `modify` by two": Modify("b@x"), Modify("c@x");
    "`Indexed`: `modify`, and an insert of the freed value": Modify("b@x"), Insert(2, "a@x");
    "`Indexed`: `modify` and `delete`": Modify("b@x"), Delete;
    "`Indexed`: `insert_or_replace` and `delete`": Upsert("b@x"), Delete;
    "`Indexed`: `insert_or_replace` and `modify`": Upsert("b@x"), Modify("c@x");
    "`Indexed`: `modify` of an absent entity, and its insert": ModifyAbsent, Insert(3, "c@x");
    "`Indexed`: `delete` by two": Delete, Delete;
    "`Indexed`: `build` and `modify`": Build, Modify("b@x");
    "`Indexed`: `build` and `delete`": Build, Delete;
    "`Indexed`: `repair` and `modify`": Repair, Modify("b@x");
    "`Indexed`: `repair`, and a writer that does not know the indexes": Repair, InsertUnindexed;
    "`Indexed`: `repair`, and an insert over a dangling row": Repair, InsertOverDangling;
];
