//! Writers of values that are unique in a table, which crash.

use std::cell::Cell;

use azure_table::testing::{Simulation, explore};
use azure_table::{DynamicEntity, ErrorKind, Result, TableServiceClient};
use azure_table_patterns::UniqueInTable;
use futures::future::try_join;
use tokio::time::sleep;

use super::unique::{User, user};
use super::{ATTEMPTS, CrashCase, PAST, RowId, TABLE, TIME, behind, is_change, settle, stored, table};

pub(super) const ALL: [CrashCase; 5] = [
    CrashCase {
        name: "`UniqueInTable`: two processes insert one value",
        processes: 2,
        explore: |bounds| bounds.of(explore(insert::<false>)).isolated().run(),
    },
    CrashCase {
        name: "`UniqueInTable`: two processes insert one value, the clock jumps over the reservation",
        processes: 2,
        explore: |bounds| bounds.of(explore(insert::<false>)).isolated().advance(PAST).run(),
    },
    CrashCase {
        name: "`UniqueInTable`: a writer dies for ever, and another wants its value",
        processes: 2,
        explore: |bounds| bounds.of(explore(insert::<true>)).isolated().run(),
    },
    CrashCase {
        name: "`UniqueInTable`: a value is freed, and taken",
        processes: 2,
        explore: |bounds| bounds.of(explore(replace)).isolated().run(),
    },
    CrashCase {
        name: "`UniqueInTable`: a user is deleted, and its value taken",
        processes: 2,
        explore: |bounds| bounds.of(explore(delete)).isolated().run(),
    },
];

/// The claims of values have their own table.
const CLAIMS: &str = "Claims";

fn mails(service: &TableServiceClient) -> UniqueInTable<User> {
    let claims = service.table::<DynamicEntity>(CLAIMS).unwrap();
    UniqueInTable::new(&table(service), &claims, "~").reservation_time(TIME)
}

/// Checks that each mail has one user, that a lookup finds it, and that a repair leaves no leftovers. Returns the
/// users.
async fn check(simulation: &Simulation, behind: &TableServiceClient) -> Result<Vec<User>> {
    let users: Vec<User> = stored(behind, TABLE, "RowKey lt '~'").await;
    let values = mails(behind);
    for is_repaired in [false, true] {
        if is_repaired {
            simulation.emulator().clock().advance(TIME * 3);
            values.repair().await?;
        }
        for user in &users {
            let with_mail = users.iter().filter(|other| other.mail == user.mail);
            assert_eq!(with_mail.count(), 1, "{users:?} have one mail");
            let owner = values.find(&user.mail).await?;
            let owner = owner.as_ref().map(|key| (key.partition_key(), key.row_key()));
            assert_eq!(owner, Some((user.group.as_str(), user.id.as_str())), "{}", user.mail);
        }
    }
    let rows: Vec<RowId> = stored(behind, TABLE, "RowKey ge '~'").await;
    let claims: Vec<RowId> = stored(behind, CLAIMS, "").await;
    let count = users.len();
    assert_eq!((rows.len(), claims.len()), (count, count), "{rows:?}, {claims:?}");
    Ok(users)
}

/// Inserts a user until it or another one has the value.
async fn insert_user(service: &TableServiceClient, user: &User) -> Result<()> {
    for _ in 0..ATTEMPTS {
        if mails(service).find(&user.mail).await?.is_some() {
            return Ok(());
        }
        match mails(service).insert(user, &user.mail).await {
            Ok(true) => return Ok(()),
            // A write of an earlier life has arrived: the next lookup finds it.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            // Reserved for a process that will confirm it, or died.
            Ok(false) => sleep(TIME).await,
        }
    }
    panic!("the value of {user:?} stays reserved");
}

/// One of two processes has the value. With `DIES`, the first one does not begin again.
async fn insert<const DIES: bool>(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE, CLAIMS]);
    let lives = Cell::new(0);
    let first = async |service: TableServiceClient| -> Result<()> {
        if lives.replace(lives.get() + 1) > 0 && DIES {
            return Ok(());
        }
        insert_user(&service, &user("one", "1", "m")).await
    };
    let second = async |service: TableServiceClient| insert_user(&service, &user("two", "2", "m")).await;
    try_join(simulation.process("a", first), simulation.process("b", second)).await?;
    settle(&simulation, &[TABLE, CLAIMS]).await?;
    assert_eq!(check(&simulation, &behind).await?.len(), 1);
    Ok(())
}

async fn replace(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE, CLAIMS]);
    mails(&behind).insert(&user("one", "1", "old"), "old").await?;
    let change = async |service: TableServiceClient| -> Result<()> {
        for _ in 0..ATTEMPTS {
            let mut user = table::<User>(&service).get(("one", "1")).versioned().await?.unwrap();
            if user.mail == "new" {
                return Ok(());
            }
            user.mail = "new".into();
            match mails(&service).replace(&user, "old", "new").await {
                Ok(true) => return Ok(()),
                Ok(false) => sleep(TIME).await,
                Err(e) if is_change(e.kind()) => {}
                Err(e) => return Err(e),
            }
        }
        panic!("the value cannot be changed");
    };
    let take = async |service: TableServiceClient| -> Result<()> {
        match mails(&service).insert(&user("two", "2", "old"), "old").await {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
            _ => Ok(()),
        }
    };
    try_join(simulation.process("a", change), simulation.process("b", take)).await?;
    settle(&simulation, &[TABLE, CLAIMS]).await?;
    let users = check(&simulation, &behind).await?;
    assert_eq!(users[0].mail, "new");
    Ok(())
}

async fn delete(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE, CLAIMS]);
    mails(&behind).insert(&user("one", "1", "m"), "m").await?;
    let delete = async |service: TableServiceClient| -> Result<()> {
        while let Some(user) = table::<User>(&service).get(("one", "1")).versioned().await? {
            match mails(&service).delete(&user, "m").await {
                Err(e) if !is_change(e.kind()) => return Err(e),
                _ => {}
            }
        }
        Ok(())
    };
    let take = async |service: TableServiceClient| insert_user(&service, &user("two", "2", "m")).await;
    try_join(simulation.process("a", delete), simulation.process("b", take)).await?;
    settle(&simulation, &[TABLE, CLAIMS]).await?;
    // The second process either found the value taken, or has it now.
    let users = check(&simulation, &behind).await?;
    assert!(users.iter().all(|user| user.id == "2"), "{users:?}");
    insert_user(&behind, &user("two", "2", "m")).await?;
    Ok(())
}
