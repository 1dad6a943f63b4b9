//! A changed index: it gets a new name, all writers are deployed with both, it is built and queried, and the old one is
//! removed.
//!
//! Old and new writers write beside each step. A deployment ends before the next step begins, so an old writer runs
//! beside new ones, and none of it beside `build`.

use azure_table::index::IndexedEntity;
use azure_table::{ErrorKind, Key};
use azure_table_patterns::Indexed;

use super::super::*;
use super::TASKS;
use crate::explorations::index_rows::{self, Declared, Field};

macro_rules! generations {
    ($($name:ident: $([$($index:tt)+])+;)*) => {$(
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table($(index($($index)+)),+)]
        struct $name {
            #[table(partition_key)]
            tenant: String,
            #[table(row_key)]
            id: u8,
            mail: String,
            team: String,
        }

        impl Generation for $name {
            fn of(id: u8, mail: &str) -> Self {
                let (tenant, mail, team) = ("t".to_owned(), mail.to_owned(), "team".to_owned());
                Self { tenant, id, mail, team }
            }

            fn set_mail(&mut self, mail: &str) {
                self.mail = mail.to_owned();
            }
        }
    )*};
}

/// A generation of the program.
trait Generation: IndexedEntity + ReadEntity {
    fn of(id: u8, mail: &str) -> Self;
    fn set_mail(&mut self, mail: &str);
}

// The first one, the one with both indexes while writers are deployed, and the one without the old index.
generations! {
    Old: [by_mail = (mail), unique];
    Both: [by_mail = (mail), unique] [by_mail_and_team = (mail, team), covers];
    New: [by_mail_and_team = (mail, team), covers];
}

/// A step beside a writer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Writers of the first generation beside those with both indexes.
    Deploy,
    /// The new index is built beside a writer with both.
    Build,
    /// Writers with both indexes beside those of the last generation.
    Undeploy,
    /// The old index is removed beside a writer of the last generation.
    Remove,
}

/// Changes the mail address of an entity, or inserts it.
async fn write<E: Generation>(service: &TableServiceClient, id: u8, mail: &str) -> Result<()> {
    let people = Indexed::open(&table::<E>(service)).await?;
    if id == 1 {
        return people
            .modify(Key::<E>::from_text("t", "001")?, |person: &mut E| person.set_mail(mail))
            .await
            .map(drop);
    }
    people.insert_or_replace(&E::of(id, mail)).await.map(drop)
}

async fn build(service: &TableServiceClient) -> Result<()> {
    let people = Indexed::open(&table::<Both>(service)).await?;
    people.build(Both::BY_MAIL_AND_TEAM).await.map(drop)
}

async fn remove(service: &TableServiceClient) -> Result<()> {
    let people = Indexed::open(&table::<New>(service)).await?;
    people.remove_index("by_mail").await.map(drop)
}

impl Step {
    /// Runs the step beside a writer.
    async fn run(self, place: &Place) {
        let step = async |service: TableServiceClient| match self {
            Self::Deploy => write::<Both>(&service, 1, "b@x").await,
            Self::Build => build(&service).await,
            Self::Undeploy => write::<New>(&service, 3, "c@x").await,
            Self::Remove => remove(&service).await,
        };
        let writer = async |service: TableServiceClient| match self {
            Self::Deploy => write::<Old>(&service, 1, "d@x").await,
            Self::Build => write::<Both>(&service, 1, "e@x").await,
            Self::Undeploy => write::<Both>(&service, 1, "f@x").await,
            Self::Remove => write::<New>(&service, 1, "g@x").await,
        };
        let (stepped, written) = join(place.task(TASKS[0], step), place.task(TASKS[1], writer)).await;
        // In tasks, too, a write may have lost its connection.
        place.arrive().await;
        for result in [stepped, written] {
            if let Err(e) = result {
                // The mark of a removal that crashed arrived late. The next call ends it.
                let is_late_mark = self == Self::Remove && e.kind() == ErrorKind::ConditionNotMet;
                let is_lost = e.may_have_applied() || e.kind() == ErrorKind::Connection;
                assert!(is_lost || is_late_mark, "{self:?}: {e}");
            }
        }
    }
}

const BY_MAIL: Declared = Declared::unique("by_mail", &[Field::Text("mail")]);
const BY_MAIL_AND_TEAM: Declared = Declared::covers("by_mail_and_team", &[Field::Text("mail"), Field::Text("team")]);

/// Runs the steps before `explored` in order, without a simulation, explores that one, and runs the rest.
async fn deploy(place: Place, explored: Step) -> Result<()> {
    let service = place.behind();
    let old = Indexed::open(&table::<Old>(&service)).await?;
    old.build(Old::BY_MAIL).await?.ensure_none_taken()?;
    for (id, mail) in [(1, "a@x"), (4, "z@x")] {
        old.insert(&Old::of(id, mail)).await?;
    }
    if explored == Step::Deploy {
        explored.run(&place).await;
        // While old writers run, the old index is exact, and the new one is not queried.
        check_found(&old, old.by(Old::BY_MAIL, ("t",))?.all().await?.len()).await?;
    }
    let both = Indexed::open(&table::<Both>(&service)).await?;
    assert!(both.by(Both::BY_MAIL_AND_TEAM, ("t",)).is_err(), "it is not built");
    if explored == Step::Build {
        explored.run(&place).await;
    }
    // After a step that failed, it is repeated.
    both.build(Both::BY_MAIL_AND_TEAM).await?.ensure_none_taken()?;
    check_found(&both, both.by(Both::BY_MAIL_AND_TEAM, ("t",))?.all().await?.len()).await?;
    check_found(&both, both.by(Both::BY_MAIL, ("t",))?.all().await?.len()).await?;
    index_rows::check(&service, TABLE, &[BY_MAIL, BY_MAIL_AND_TEAM], &both).await;
    if explored == Step::Undeploy {
        explored.run(&place).await;
    }
    let new = Indexed::open(&table::<New>(&service)).await?;
    check_found(&new, new.by(New::BY_MAIL_AND_TEAM, ("t",))?.all().await?.len()).await?;
    if explored == Step::Remove {
        explored.run(&place).await;
    }
    new.remove_index("by_mail").await?;
    index_rows::check(&service, TABLE, &[BY_MAIL_AND_TEAM], &new).await;
    check_found(&new, new.by(New::BY_MAIL_AND_TEAM, ("t",))?.all().await?.len()).await
}

/// Checks that a query by an index found all entities.
async fn check_found<E: Generation>(people: &Indexed<E>, found: usize) -> Result<()> {
    let of_tenant = Filter::raw("PartitionKey eq 't'".to_owned());
    let stored = people.query().filter(of_tenant).allow_table_scan().count().await?;
    assert_eq!(found, stored, "a query by an index has not all entities");
    Ok(())
}

macro_rules! cases {
    ($($name:literal $(, slow_with = $faults:literal / $with_crash:literal)?: $step:expr;)*) => {
        /// Each step beside a writer.
        pub(in super::super) const ALL: &[Case] = &[$(
            case!($name, |place| deploy(place, $step)).only_orders()$(.slow_with($faults))?,
            case!($name, |place| deploy(place, $step))
                .with_crash(concat!($name, ", one crashes"))
                .slow_with(slow_with!(1$(, $with_crash)?)),
        )*];
    };
}

cases![
    "`Indexed`: a changed index, old and new writers", slow_with = 1 / 0: Step::Deploy;
    "`Indexed`: a changed index, `build` and a writer", slow_with = 1 / 0: Step::Build;
    "`Indexed`: a changed index, writers with and without the old one", slow_with = 1 / 0: Step::Undeploy;
    "`Indexed`: a changed index, its removal and a writer", slow_with = 1 / 0: Step::Remove;
];
