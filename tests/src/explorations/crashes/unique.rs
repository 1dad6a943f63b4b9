//! Writers of values that are unique in a partition, which crash.

use azure_table::testing::{Simulation, explore};
use azure_table::{Guid, Result, TableEntity, TableServiceClient};
use azure_table_patterns::Unique;
use futures::future::try_join;

use super::{CrashCase, RowId, TABLE, behind, settle, stored, table, unless_changed};

pub(super) const ALL: [CrashCase; 2] = [
    CrashCase {
        name: "`Unique`: two processes insert one value",
        processes: 2,
        explore: |bounds| bounds.of(explore(insert)).isolated().run(),
    },
    CrashCase {
        name: "`Unique`: a value is freed, and taken",
        processes: 2,
        explore: |bounds| bounds.of(explore(replace)).isolated().run(),
    },
];

#[derive(TableEntity, Clone, Debug)]
pub(super) struct User {
    #[table(partition_key)]
    pub(super) group: String,
    #[table(row_key)]
    pub(super) id: String,
    pub(super) mail: String,
    #[table(write_id)]
    write: Option<Guid>,
}

pub(super) fn user(group: &str, id: &str, mail: &str) -> User {
    User {
        group: group.into(),
        id: id.into(),
        mail: mail.into(),
        write: None,
    }
}

fn mails(service: &TableServiceClient) -> Unique<User> {
    Unique::new(&table(service), "~")
}

/// Checks that each mail has one user, and that a lookup finds it. Returns the users.
async fn check(behind: &TableServiceClient) -> Result<Vec<User>> {
    let users: Vec<User> = stored(behind, TABLE, "RowKey lt '~'").await;
    for user in &users {
        let with_mail = users.iter().filter(|other| other.mail == user.mail);
        assert_eq!(with_mail.count(), 1, "{users:?} have one mail");
        assert_eq!(mails(behind).find("g", &user.mail).await?.as_ref(), Some(&user.id));
    }
    let rows: Vec<RowId> = stored(behind, TABLE, "RowKey ge '~'").await;
    assert_eq!(rows.len(), users.len(), "a value belongs to nobody");
    Ok(users)
}

async fn insert(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let add = |id: &'static str| {
        async move |service: TableServiceClient| -> Result<()> {
            let inserted = mails(&service).insert(&user("g", id, "m"), "m").await;
            // `None`: an earlier life has inserted the user.
            unless_changed(inserted).map(drop)
        }
    };
    try_join(simulation.process("a", add("1")), simulation.process("b", add("2"))).await?;
    settle(&simulation, &[TABLE]).await?;
    assert_eq!(check(&behind).await?.len(), 1);
    Ok(())
}

async fn replace(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    mails(&behind).insert(&user("g", "1", "old"), "old").await?;
    let change = async |service: TableServiceClient| -> Result<()> {
        loop {
            let mut user = table::<User>(&service).get(("g", "1")).versioned().await?.unwrap();
            if user.mail == "new" {
                return Ok(());
            }
            user.mail = "new".into();
            let changed = mails(&service).replace(&user, "old", "new").await;
            assert_ne!(unless_changed(changed)?, Some(false), "nobody else has the value");
        }
    };
    let take = async |service: TableServiceClient| -> Result<()> {
        let inserted = mails(&service).insert(&user("g", "2", "old"), "old").await;
        unless_changed(inserted).map(drop)
    };
    try_join(simulation.process("a", change), simulation.process("b", take)).await?;
    settle(&simulation, &[TABLE]).await?;
    let users = check(&behind).await?;
    assert_eq!(users[0].mail, "new");
    Ok(())
}
