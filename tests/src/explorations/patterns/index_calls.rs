//! The explorations of writes by query and of the removal of a declared index, beside other calls, with a lost request
//! or response, and with a crash.

use azure_table::index::IndexedEntity;
use azure_table::testing::{Exploration, Simulation, explore};
use azure_table::{DynamicEntity, ErrorKind, Guid, ReadEntity, Result, TableEntity, TableServiceClient};
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
    mail: String,
    name: String,
    #[table(write_id)]
    write: Option<Guid>,
}

/// The same without the index `by_name`.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
struct Later {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u8,
    mail: String,
    name: String,
    #[table(write_id)]
    write: Option<Guid>,
}

fn person(id: u8, mail: &str) -> Person {
    Person {
        tenant: "t".into(),
        id,
        mail: mail.into(),
        name: "Ada".into(),
        write: None,
    }
}

/// A call of one task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    /// Appends `!` to all mail addresses, two entities at a time.
    UpdateWhere,
    DeleteWhere,
    /// Sets the mail address of the entity 1.
    Modify,
    /// Inserts the entity 3 with the mail address of the entity 1.
    Insert,
    Remove,
    /// Changes the name of the entity 1, as a program without the index.
    ModifyLater,
}

impl Call {
    async fn run(self, service: &TableServiceClient) -> Result<()> {
        if let Self::Remove | Self::ModifyLater = self {
            let people = Indexed::open(&service.table::<Later>("People")?).await?;
            return match self {
                Self::Remove => people.remove_index("by_name").await.map(drop),
                _ => {
                    let change = |person: &mut Later| person.name = "Eve".into();
                    people.modify(("t", 1), change).await.map(drop)
                }
            };
        }
        let people = Indexed::open(&service.table::<Person>("People")?).await?.concurrency(2);
        let all = people.query().partition("t");
        match self {
            Self::UpdateWhere => {
                let report = people.update_where(all, |person| person.mail.push('!')).await?;
                let entities = report.applied() + report.leftovers().len() as u64;
                assert!(entities <= 3, "{report:?}");
                Ok(())
            }
            Self::DeleteWhere => people.delete_where(all).await?.ensure_no_leftovers(),
            Self::Modify => people
                .modify(("t", 1), |person| person.mail = "new@x".into())
                .await
                .map(drop),
            _ => people.insert(&person(3, "1@x")).await.map(drop),
        }
    }
}

/// Runs the calls beside each other, the first as a process. Then each index row has its entity, and each entity its
/// index rows.
async fn beside(simulation: Simulation, calls: [Call; 2]) -> Result<()> {
    let _ = simulation.table::<Person>("People");
    let behind = TableServiceClient::from_transport(simulation.emulator().clone());
    let people = Indexed::open(&behind.table::<Person>("People")?).await?;
    people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    for (id, mail) in [(1, "1@x"), (2, "2@x")] {
        people.insert(&person(id, mail)).await?;
    }
    let first = simulation.process("a", async |service: TableServiceClient| calls[0].run(&service).await);
    let service = simulation.client("b");
    let (first, second) = join(first, calls[1].run(&service)).await;
    let is_done = first.is_ok() || second.is_ok() && calls[1] == Call::Remove;
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
    if calls.contains(&Call::Remove) {
        let later = Indexed::open(&behind.table::<Later>("People")?).await?;
        if !is_done {
            later.remove_index("by_name").await?;
        }
        check(&behind, &later).await?;
        let rows = behind.dynamic_table("People")?.query().partition("t").all().await?;
        let left: Vec<_> = rows
            .iter()
            .filter(|row| row.row_key.starts_with("$ix;by_name"))
            .collect();
        assert!(left.is_empty(), "{left:?} after {calls:?}");
        // A mark that arrives late needs another call. Then the name is free again.
        later.remove_index("by_name").await?;
        people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    }
    check(&behind, &people).await
}

async fn check<E: IndexedEntity + ReadEntity>(behind: &TableServiceClient, people: &Indexed<E>) -> Result<()> {
    people.verify().await?.ensure_none()?;
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
    ($($name:literal $(, slow_with = $faults:literal / $with_crash:literal)?: $first:expr, $second:expr;)*) => {
        [$(
            Case { name: $name, slow_with: slow_with!(None$(, $faults)?), explore: |faults| explored([$first, $second], faults, 0) },
            Case { name: concat!($name, ", the first crashes"), slow_with: slow_with!(Some(1)$(, $with_crash)?), explore: |faults| explored([$first, $second], faults, 1) },
        )*]
    };
}

use Call::{DeleteWhere, Insert, Modify, ModifyLater, Remove, UpdateWhere};

/// The calls, two beside each other.
pub(super) const ALL: [Case; 12] = cases![
    "`Indexed`: `update_where` and `modify`", slow_with = 1 / 0: UpdateWhere, Modify;
    "`Indexed`: `update_where`, and an insert of a freed value", slow_with = 1 / 0: UpdateWhere, Insert;
    "`Indexed`: `delete_where` and `modify`", slow_with = 1 / 0: DeleteWhere, Modify;
    "`Indexed`: `delete_where`, and an insert of a freed value", slow_with = 1 / 0: DeleteWhere, Insert;
    "`Indexed`: `remove_index` and `modify`": Remove, ModifyLater;
    "`Indexed`: `remove_index` by two", slow_with = 1 / 0: Remove, Remove;
];
