//! The promises of declared indexes to calls beside each other: writes, queries, `build`, `verify` and `repair`.
//!
//! Has the calls, their checks, and the cases of ordinary tests. `indexes/matrix.rs` has all calls beside each other
//! under every setting, for the program, and `indexes/deployment.rs` a changed index.

pub mod deployment;
pub mod matrix;

use std::collections::{BTreeMap, BTreeSet};

use azure_table::Versioned;
use azure_table::index::{Index, IndexRow};
use azure_table_patterns::Indexed;
use futures::future::join_all;

use super::*;
use crate::explorations::index_rows;
use crate::explorations::index_writes::{INDEXES, Id, Outcome, Person, State, Write, explains, stored};

/// The names of the tasks.
const TASKS: [&str; 3] = ["a", "b", "c"];
/// The entity that exists before, and which writes change.
const FIRST: Id = ("t", 1);
/// The entity whose index row dangles.
const DANGLING: Id = ("t", 3);
/// The entity that exists before, and that no call changes.
const UNCHANGED: Id = ("t", 4);

fn person(id: u8, mail: &str) -> Person {
    Person {
        tenant: "t".into(),
        id,
        mail: Some(mail.into()),
        code: None,
        team: Some("team".into()),
        grade: 1,
        name: mail.into(),
        note: String::new(),
    }
}

/// Returns an entity without a value of a unique index.
fn dangling() -> Person {
    Person {
        mail: None,
        ..person(DANGLING.1, "Dan")
    }
}

/// A call of one task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::explorations) enum Call {
    /// Inserts this entity with this mail address.
    Insert(u8, &'static str),
    /// Inserts or replaces the first entity.
    Upsert(&'static str),
    /// Sets mail address and name of the first entity.
    Modify(&'static str),
    /// Replaces the first entity as it was stored before.
    Replace(&'static str),
    /// Changes what no index but a covering one has.
    Note,
    /// Deletes the first entity.
    Delete,
    /// Reads all entities by a covering index.
    Query,
    /// Reads all entities by an index without their properties.
    QueryKeys,
    /// Builds a unique index.
    Build,
    /// Builds a covering index.
    BuildCovering,
    Verify,
    Repair,
    /// Inserts the entity 2 as a writer that does not know the indexes.
    InsertUnindexed,
    /// Changes the entity 3, which only another call may have inserted.
    ModifyAbsent,
    /// Inserts the entity 3, whose index row dangles.
    InsertOverDangling,
}

impl Call {
    /// Returns the write, if it is one of a writer that knows the indexes.
    fn as_write(self, before: &BTreeMap<Id, Versioned<Person>>) -> Option<Write> {
        let first = |mail| Person {
            note: "changed".into(),
            ..person(FIRST.1, mail)
        };
        Some(match self {
            Self::Insert(id, mail) => Write::Insert(person(id, mail)),
            Self::Upsert(mail) => Write::Upsert(first(mail)),
            Self::Modify(mail) => Write::Modify(first(mail)),
            Self::Replace(mail) => Write::Replace(Versioned {
                entity: first(mail),
                ..before[&FIRST].clone()
            }),
            Self::Note => Write::Modify(Person {
                note: "noted".into(),
                ..person(FIRST.1, "a@x")
            }),
            Self::Delete => Write::Delete(FIRST),
            Self::ModifyAbsent => Write::Modify(person(DANGLING.1, "e@x")),
            Self::InsertOverDangling => Write::Insert(dangling()),
            Self::Query
            | Self::QueryKeys
            | Self::Build
            | Self::BuildCovering
            | Self::Verify
            | Self::Repair
            | Self::InsertUnindexed => {
                return None;
            }
        })
    }

    /// Returns `true` if it leaves index rows that no writer repairs.
    fn leaves_holes(self) -> bool {
        self == Self::InsertUnindexed
    }

    /// Returns `true` if entities get new ETags that are not changed.
    fn touches(self) -> bool {
        self.builds() || self == Self::Repair
    }

    fn builds(self) -> bool {
        matches!(self, Self::Build | Self::BuildCovering)
    }
}

/// The calls of a run.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    calls: &'a [Call],
    place: &'a Place,
    before: &'a BTreeMap<Id, Versioned<Person>>,
}

impl Run<'_> {
    fn builds(self) -> bool {
        self.calls.iter().any(|call| call.builds())
    }

    fn has(self, call: Call) -> bool {
        self.calls.contains(&call)
    }

    async fn call(self, call: Call, service: &TableServiceClient) -> Outcome {
        let table = table::<Person>(service);
        if let Call::InsertUnindexed = call {
            return Outcome::of(table.insert(&person(2, "c@x")).await, |_| Outcome::Done);
        }
        let people = match Indexed::open(&table).await {
            Ok(people) => people,
            Err(e) => return Outcome::of(Err::<(), _>(e), |()| Outcome::Done),
        };
        if let Some(write) = call.as_write(self.before) {
            return write.run(&people).await;
        }
        let done = match call {
            Call::Build => build(&people, Person::BY_MAIL).await,
            Call::BuildCovering => build(&people, Person::BY_NAME).await,
            Call::Repair => async { people.repair(&people.verify().await?).await.map(drop) }.await,
            Call::Verify => people.verify().await.map(|found| {
                let is_exact = !self.calls.iter().any(|call| call.leaves_holes())
                    && !self.has(Call::InsertOverDangling)
                    && !self.builds();
                assert!(found.faults.is_empty() || !is_exact, "{:?}", found.faults);
            }),
            // Before it is built, it is rejected.
            Call::Query => match people.by(Person::BY_NAME, ("t",)) {
                Ok(query) => query.all().await.map(|found| self.check(&found, self.place.is_adverse)),
                Err(e) => not_ready(self, e),
            },
            _ => match people.by(Person::BY_TEAM, ("t", "team")) {
                // The team of no entity changes, so the number of pages does not matter.
                Ok(query) => query.all().await.map(|found| self.check(&found, false)),
                Err(e) => not_ready(self, e),
            },
        };
        Outcome::of(done, |()| Outcome::Done)
    }

    /// Checks that entities which exist all the time come once. One that moves may come twice, or not at all, if it
    /// moves between two pages.
    fn check(self, found: &[Person], may_move: bool) {
        let times = |id: Id| found.iter().filter(|person| person.key() == id).count();
        assert_eq!(times(UNCHANGED), 1, "{found:?}");
        if !may_move && !self.has(Call::Delete) {
            assert_eq!(times(FIRST), 1, "{found:?}");
        }
    }
}

fn not_ready(run: Run<'_>, e: azure_table::Error) -> Result<()> {
    assert!(run.builds(), "{e}");
    Ok(())
}

async fn build<R: IndexRow<Entity = Person>>(people: &Indexed<Person>, index: Index<R>) -> Result<()> {
    let taken = people.build(index).await?.taken;
    assert!(taken.is_empty(), "{taken:?}");
    Ok(())
}

/// Stores the rows that exist before the calls.
async fn start(service: &TableServiceClient, calls: &[Call]) -> Result<Indexed<Person>> {
    let table = table::<Person>(service);
    let people = Indexed::open(&table).await?;
    if calls.iter().any(|call| call.builds()) {
        // A writer that does not know the indexes has written one of them.
        table.insert(&person(UNCHANGED.1, "z@x")).await?;
    } else {
        people.insert(&person(UNCHANGED.1, "z@x")).await?;
        if calls.contains(&Call::Query) || calls.contains(&Call::QueryKeys) {
            people.build(Person::BY_NAME).await?.ensure_none_taken()?;
            people.build(Person::BY_TEAM).await?.ensure_none_taken()?;
        }
    }
    people.insert(&person(FIRST.1, "a@x")).await?;
    if calls.contains(&Call::InsertOverDangling) {
        people.insert(&dangling()).await?;
        table.delete(DANGLING).await?;
    }
    Ok(people)
}

/// Runs the calls beside each other.
///
/// Some order of the writes explains their results and the stored entities. Each index row has its entity, and each
/// entity its index rows.
async fn beside(place: Place, calls: &[Call]) {
    let people = start(&place.behind(), calls).await.unwrap();
    let before = stored(&people).await;
    let run = Run {
        calls,
        place: &place,
        before: &before,
    };
    let tasks = calls.iter().zip(TASKS).map(|(call, name)| {
        let live = async move |service: TableServiceClient| run.call(*call, &service).await;
        place.task(name, live)
    });
    let outcomes = join_all(tasks).await;
    place.settle().await;

    let after = stored(&people).await;
    let has_holes = calls.iter().any(|call| call.leaves_holes());
    if !has_holes {
        let writes: Vec<Option<Write>> = calls.iter().map(|call| call.as_write(&before)).collect();
        let touched = calls.iter().any(|call| call.touches());
        check_order(&writes, &outcomes, [&before, &after], touched, place.is_faultless);
    }
    // Opened again: another handle may have built an index.
    let people = Indexed::open(&table(&place.behind())).await.unwrap();
    let mut found = people.verify().await.unwrap();
    let is_built = calls
        .iter()
        .zip(&outcomes)
        .any(|call| matches!(call, (Call::Build | Call::BuildCovering, Outcome::Done)));
    if is_built {
        // One that is ready is not built again.
        build(&people, Person::BY_MAIL).await.unwrap();
        build(&people, Person::BY_NAME).await.unwrap();
        build(&people, Person::BY_TEAM).await.unwrap();
        found = people.verify().await.unwrap();
        let by_name = people.by(Person::BY_NAME, ("t",)).unwrap().all().await.unwrap();
        assert_eq!(by_name.len(), after.len(), "{by_name:?}");
    } else if has_holes || run.builds() {
        people.repair(&found).await.unwrap();
        found = people.verify().await.unwrap();
    }
    let faults = index_rows::faults(&place.behind(), TABLE, &INDEXES).await;
    assert_eq!(
        faults.is_empty(),
        found.faults.is_empty(),
        "{faults:?}, by `verify`: {:?}",
        found.faults
    );
    let has_left_over = calls.contains(&Call::InsertOverDangling);
    assert!(
        faults.is_empty() || has_left_over && !place.is_faultless,
        "{faults:?} after {calls:?}: {outcomes:?}"
    );
    let mails: Vec<_> = after.values().filter_map(|person| person.mail.as_ref()).collect();
    let distinct = mails.iter().enumerate().all(|(at, mail)| !mails[..at].contains(mail));
    assert!(distinct || has_holes, "two entities have one mail address: {mails:?}");
}

/// Checks that some order of the writes explains their results and the stored entities.
fn check_order(
    writes: &[Option<Write>],
    outcomes: &[Outcome],
    [before, after]: [&BTreeMap<Id, Versioned<Person>>; 2],
    touched: bool,
    is_calm: bool,
) {
    let of = |state: &BTreeMap<Id, Versioned<Person>>| -> State {
        state.iter().map(|(id, person)| (*id, person.entity.clone())).collect()
    };
    let calls = || {
        writes
            .iter()
            .zip(outcomes)
            .filter_map(|(write, outcome)| Some((write.as_ref()?, outcome)))
    };
    let mut left: Vec<_> = calls()
        .map(|(write, outcome)| match (write, outcome) {
            // It was touched since, and no more.
            (Write::Replace(_), Outcome::Rejected(_)) if touched => (write, &Outcome::Failed),
            _ => (write, outcome),
        })
        .collect();
    if !is_calm {
        // A process that crashes writes again, and so does a client whose row another has deleted since.
        left.extend(calls().map(|(write, _)| (write, &Outcome::InDoubt)));
    }
    assert!(
        explains(of(before), &BTreeSet::new(), &left, &of(after)),
        "no order explains {writes:#?}: {outcomes:?}\n{after:#?}"
    );
}

macro_rules! cases {
    ($($name:literal $(, slow_with = $faults:literal / $with_crash:literal)?: $($call:expr),+;)*) => {
        /// The calls beside each other, also if one crashes. `slow_with` has a number for each.
        pub(super) const ALL: &[Case] = &[$(
            case!($name, |place| beside(place, &[$($call),+]))$(.slow_with($faults))?,
            case!($name, |place| beside(place, &[$($call),+]))
                .with_crash(concat!($name, ", one crashes"))
                .slow_with(slow_with!(1$(, $with_crash)?)),
        )*];
    };
}

use Call::{
    Build, BuildCovering, Delete, Insert, InsertOverDangling, InsertUnindexed, Modify, ModifyAbsent, Note, Query,
    QueryKeys, Repair, Replace, Upsert, Verify,
};

cases![
    "`Indexed`: two inserts of one entity": Insert(2, "c@x"), Insert(2, "d@x");
    "`Indexed`: two inserts of one unique value": Insert(2, "c@x"), Upsert("c@x");
    "`Indexed`: `modify` by two": Modify("b@x"), Modify("c@x");
    "`Indexed`: `modify`, and an insert of the freed value": Modify("b@x"), Insert(2, "a@x");
    "`Indexed`: `modify` and `delete`": Modify("b@x"), Delete;
    "`Indexed`: `insert_or_replace` and `delete`": Upsert("b@x"), Delete;
    "`Indexed`: `insert_or_replace` and `modify`": Upsert("b@x"), Modify("c@x");
    "`Indexed`: `replace` and `modify`": Replace("b@x"), Modify("c@x");
    "`Indexed`: `modify` of covered properties by two": Note, Modify("c@x");
    "`Indexed`: `modify` of an absent entity, and its insert": ModifyAbsent, Insert(3, "c@x");
    "`Indexed`: `delete` by two": Delete, Delete;
    "`Indexed`: a query, and `modify`": Query, Modify("b@x");
    "`Indexed`: a query that reads by key, and `delete`": QueryKeys, Delete;
    "`Indexed`: `verify` and `modify`": Verify, Modify("b@x");
    "`Indexed`: `build` and `modify`", slow_with = 1 / 0: Build, Modify("b@x");
    "`Indexed`: `build` of a covering index, and `modify`", slow_with = 1 / 0: BuildCovering, Modify("b@x");
    "`Indexed`: `build` and `delete`", slow_with = 1 / 0: Build, Delete;
    "`Indexed`: `repair` and `modify`", slow_with = 1 / 1: Repair, Modify("b@x");
    "`Indexed`: `repair`, and a writer that does not know the indexes", slow_with = 1 / 1: Repair, InsertUnindexed;
    "`Indexed`: `repair`, and an insert over a dangling row", slow_with = 1 / 1: Repair, InsertOverDangling;
];
