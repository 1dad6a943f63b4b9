//! The explorations of writes by query and of the removal of a declared index, beside other calls, with a lost request
//! or response, and with a crash.

use azure_table::{ErrorKind, Guid};
use azure_table_patterns::Indexed;

use super::*;
use crate::explorations::index_rows::{self, Declared, Field};

const INDEXES: [Declared; 2] = [
    Declared::unique("by_mail", &[Field::Text("mail")]),
    Declared::plain("by_name", &[Field::Text("name")]),
];

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
            let people = Indexed::open(&table::<Later>(service)).await?;
            return match self {
                Self::Remove => people.remove_index("by_name").await.map(drop),
                _ => {
                    let change = |person: &mut Later| person.name = "Eve".into();
                    people.modify(("t", 1), change).await.map(drop)
                }
            };
        }
        let people = Indexed::open(&table::<Person>(service)).await?.concurrency(2);
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

/// Runs the calls beside each other, and the second as a task that never crashes. Then each index row has its entity,
/// and each entity its index rows.
async fn beside(place: Place, calls: [Call; 2]) -> Result<()> {
    let behind = place.behind();
    let people = Indexed::open(&table::<Person>(&behind)).await?;
    people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    for (id, mail) in [(1, "1@x"), (2, "2@x")] {
        people.insert(&person(id, mail)).await?;
    }
    let first = place.task("a", async |service| calls[0].run(&service).await);
    let service = place.client("b");
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
        let later = Indexed::open(&table::<Later>(&behind)).await?;
        if !is_done {
            later.remove_index("by_name").await?;
        }
        // Two entities with one mail address have one row.
        index_rows::check(&behind, TABLE, &INDEXES[..1], &later).await;
        // A mark that arrives late needs another call. Then the name is free again.
        later.remove_index("by_name").await?;
        people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    }
    index_rows::check(&behind, TABLE, &INDEXES, &people).await;
    Ok(())
}

use Call::{DeleteWhere, Insert, Modify, ModifyLater, Remove, UpdateWhere};

macro_rules! cases {
    ($($name:literal $(, slow_with = $faults:literal / $with_crash:literal)?: $first:expr, $second:expr;)*) => {
        /// The calls, two beside each other, also if the first crashes.
        pub(super) const ALL: &[Case] = &[$(
            case!($name, |place| beside(place, [$first, $second])).only_orders()$(.slow_with($faults))?,
            case!($name, |place| beside(place, [$first, $second]))
                .with_crash(concat!($name, ", the first crashes"))
                .slow_with(slow_with!(1$(, $with_crash)?)),
        )*];
    };
}

cases![
    "`Indexed`: `update_where` and `modify`", slow_with = 1 / 0: UpdateWhere, Modify;
    "`Indexed`: `update_where`, and an insert of a freed value", slow_with = 1 / 0: UpdateWhere, Insert;
    "`Indexed`: `delete_where` and `modify`", slow_with = 1 / 0: DeleteWhere, Modify;
    "`Indexed`: `delete_where`, and an insert of a freed value", slow_with = 1 / 0: DeleteWhere, Insert;
    "`Indexed`: `remove_index` and `modify`": Remove, ModifyLater;
    "`Indexed`: `remove_index` by two", slow_with = 1 / 0: Remove, Remove;
];
