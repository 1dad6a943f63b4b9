//! Writers of values that are unique in a partition, which crash.

use azure_table::testing::{Simulation, explore};
use azure_table::{Guid, Result, TableEntity, TableServiceClient};
use azure_table_patterns::Indexed;
use futures::future::try_join;

use super::{CrashCase, TABLE, behind, settle, table, unless_changed};

pub(super) const ALL: [CrashCase; 2] = [
    CrashCase {
        name: "`Indexed`: two processes insert one value",
        processes: 2,
        explore: |bounds| bounds.of(explore(insert)).isolated().run(),
    },
    CrashCase {
        name: "`Indexed`: a value is freed, and taken",
        processes: 2,
        explore: |bounds| bounds.of(explore(replace)).isolated().run(),
    },
];

#[derive(TableEntity, Clone, Debug)]
#[table(index(by_mail = (mail), unique))]
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

/// Returns the entities with a built index, read and written without ordered requests.
async fn indexed_behind(simulation: &Simulation) -> Result<Indexed<User>> {
    let users = Indexed::open(&table(&behind(simulation, &[TABLE]))).await?;
    users.build(User::BY_MAIL).await?.ensure_none_taken()?;
    Ok(users)
}

/// Checks that each mail has one user, and that a lookup finds it. Returns the users.
async fn check(users: &Indexed<User>) -> Result<Vec<User>> {
    let all = users.query().allow_table_scan().all().await?;
    for user in &all {
        let with_mail = all.iter().filter(|other| other.mail == user.mail);
        assert_eq!(with_mail.count(), 1, "{all:?} have one mail");
        let found = users.by(User::BY_MAIL, ("g", &*user.mail))?.first().await?;
        assert_eq!(found.map(|found| found.id).as_ref(), Some(&user.id));
    }
    users.verify().await?.ensure_none()?;
    Ok(all)
}

async fn insert(simulation: Simulation) -> Result<()> {
    let behind = indexed_behind(&simulation).await?;
    let add = |id: &'static str| {
        async move |service: TableServiceClient| -> Result<()> {
            let users = Indexed::open(&table::<User>(&service)).await?;
            // `None`: an earlier life has inserted the user, or another user has the mail.
            unless_changed(users.insert(&user("g", id, "m")).await).map(drop)
        }
    };
    try_join(simulation.process("a", add("1")), simulation.process("b", add("2"))).await?;
    settle(&simulation, &[TABLE]).await?;
    assert_eq!(check(&behind).await?.len(), 1);
    Ok(())
}

async fn replace(simulation: Simulation) -> Result<()> {
    let behind = indexed_behind(&simulation).await?;
    behind.insert(&user("g", "1", "old")).await?;
    let change = async |service: TableServiceClient| -> Result<()> {
        let users = Indexed::open(&table::<User>(&service)).await?;
        users
            .modify(("g", "1"), |user| user.mail = "new".into())
            .await
            .map(drop)
    };
    let take = async |service: TableServiceClient| -> Result<()> {
        let users = Indexed::open(&table::<User>(&service)).await?;
        unless_changed(users.insert(&user("g", "2", "old")).await).map(drop)
    };
    try_join(simulation.process("a", change), simulation.process("b", take)).await?;
    settle(&simulation, &[TABLE]).await?;
    let users = check(&behind).await?;
    assert_eq!(users[0].mail, "new");
    Ok(())
}
