//! The promises of unique values: of a declared index within a partition, and across.

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::explore;
use azure_table::{DynamicEntity, Guid, TableEntity};
use azure_table_patterns::{Indexed, UniqueInTable};
use futures::future::{join, join_all};

use super::{Case, MAX_TIME, Place, Promise, RowId, TABLE, TIME, at, clients, count, stored};

pub(super) const ALL: [Case; 9] = [
    Case {
        name: "`Indexed`: two entities of one value",
        slow_with: None,
        explore: |faults| explore(at(insert)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Indexed`: a value is freed and taken",
        slow_with: None,
        explore: |faults| explore(at(replace)).isolated().faults(faults).run(),
    },
    Case {
        name: "`UniqueInTable`: two inserts of one value",
        slow_with: Some(1),
        explore: |faults| explore(at(insert_across)).isolated().faults(faults).run(),
    },
    Case {
        name: "`UniqueInTable`: two inserts, and the clock jumps",
        slow_with: Some(1),
        explore: |faults| {
            // Past the reservation, within the timeout of an attempt.
            let jumping = explore(at(insert_across)).isolated().advance(TIME + TIME / 2);
            jumping.faults(faults).max_time(MAX_TIME).run()
        },
    },
    Case {
        name: "`UniqueInTable`: two inserts of one value in one partition",
        slow_with: Some(1),
        explore: |faults| explore(at(insert_beside)).isolated().faults(faults).run(),
    },
    Case {
        name: "`UniqueInTable`: two inserts of a value whose writer crashed",
        slow_with: Some(1),
        explore: |faults| {
            let crashed = explore(at(insert_after_crash)).isolated().faults(faults);
            crashed.max_schedules(100_000).max_time(MAX_TIME).run()
        },
    },
    Case {
        name: "`UniqueInTable`: ... whose writer crashed in the partition of one of them",
        slow_with: Some(1),
        explore: |faults| {
            let crashed = explore(at(insert_after_crash_beside)).isolated().faults(faults);
            crashed.max_schedules(100_000).max_time(MAX_TIME).run()
        },
    },
    Case {
        name: "`UniqueInTable`: a value is freed and taken",
        slow_with: Some(1),
        explore: |faults| explore(at(replace_across)).isolated().faults(faults).run(),
    },
    Case {
        name: "`UniqueInTable`: a value is deleted, and taken in its partition and in another",
        slow_with: Some(1),
        explore: |faults| {
            explore(at(delete_across))
                .isolated()
                .faults(faults)
                .max_time(MAX_TIME)
                .run()
        },
    },
];

pub(super) const PROMISES: [Promise; 8] = [
    Promise {
        name: "`Indexed`: two entities of one value",
        hold: |place| Box::pin(insert(place)),
    },
    Promise {
        name: "`Indexed`: a value is freed and taken",
        hold: |place| Box::pin(replace(place)),
    },
    Promise {
        name: "`UniqueInTable`: two inserts of one value",
        hold: |place| Box::pin(insert_across(place)),
    },
    Promise {
        name: "`UniqueInTable`: two inserts of one value in one partition",
        hold: |place| Box::pin(insert_beside(place)),
    },
    Promise {
        name: "`UniqueInTable`: two inserts of a value whose writer crashed",
        hold: |place| Box::pin(insert_after_crash(place)),
    },
    Promise {
        name: "`UniqueInTable`: ... whose writer crashed in the partition of one of them",
        hold: |place| Box::pin(insert_after_crash_beside(place)),
    },
    Promise {
        name: "`UniqueInTable`: a value is freed and taken",
        hold: |place| Box::pin(replace_across(place)),
    },
    Promise {
        name: "`UniqueInTable`: a value is deleted and taken",
        hold: |place| Box::pin(delete_across(place)),
    },
];

#[derive(TableEntity, Clone, Debug)]
#[table(index(by_mail = (mail), unique))]
struct User {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    mail: String,
    #[table(write_id)]
    write: Option<Guid>,
}

fn user_in(group: &str, id: &str, mail: &str) -> User {
    User {
        group: group.into(),
        id: id.into(),
        mail: mail.into(),
        write: None,
    }
}

fn user(id: &str, mail: &str) -> User {
    user_in("g", id, mail)
}

/// Returns the entities with a built index, read and written without the gate.
async fn indexed_behind(place: &Place) -> Indexed<User> {
    let users = Indexed::open(&place.behind().table(TABLE).unwrap()).await.unwrap();
    users.build(User::BY_MAIL).await.unwrap().ensure_none_taken().unwrap();
    users
}

/// Checks that each mail has one user, and that a lookup finds it.
async fn check_mails(users: &Indexed<User>) {
    let all = users.query().allow_table_scan().all().await.unwrap();
    for user in &all {
        let with_mail = all.iter().filter(|other| other.mail == user.mail);
        assert_eq!(with_mail.count(), 1, "{all:?} have one mail");
        let of_mail = users.by(User::BY_MAIL, ("g", &*user.mail)).unwrap();
        assert_eq!(
            of_mail.first().await.unwrap().map(|found| found.id).as_ref(),
            Some(&user.id)
        );
    }
    users.verify().await.unwrap().ensure_none().unwrap();
}

/// Returns `false` if another entity has the value.
fn unless_taken(inserted: azure_table::Result<azure_table::ETag>) -> azure_table::Result<bool> {
    match inserted {
        Ok(_) => Ok(true),
        Err(e) if Indexed::<User>::taken(&e).is_some() => Ok(false),
        Err(e) => Err(e),
    }
}

async fn insert(place: Place) {
    let (clients, behind) = (clients::<User>(&place), indexed_behind(&place).await);
    let add = clients.iter().zip(["1", "2"]).map(|(table, id)| async move {
        let users = Indexed::open(table).await?;
        unless_taken(users.insert(&user(id, "m")).await)
    });
    let added = join_all(add).await;
    check_mails(&behind).await;
    check_winner(&added);
}

/// Checks that one insert wrote, unless one failed.
fn check_winner(added: &[azure_table::Result<bool>]) {
    count(added);
    let first = added.iter().filter(|result| matches!(result, Ok(true))).count();
    assert!(first <= 1, "both have the value");
    assert!(first == 1 || added.iter().any(Result::is_err), "nobody has the value");
}

async fn replace(place: Place) {
    let ([a, b], behind) = (clients::<User>(&place), indexed_behind(&place).await);
    behind.insert(&user("1", "old")).await.unwrap();
    let change = async {
        let users = Indexed::open(&a).await?;
        users.modify(("g", "1"), |user| user.mail = "new".into()).await
    };
    let take = async { Indexed::open(&b).await?.insert(&user("2", "old")).await };
    let (changed, _) = join(change, take).await;
    count([&changed]);
    check_mails(&behind).await;
}

/// The claims of values have their own table.
const CLAIMS: &str = "Claims";

/// Returns the values for each of two tasks, and without the gate.
fn across(place: &Place) -> ([UniqueInTable<User>; 2], UniqueInTable<User>) {
    let users = clients::<User>(place);
    let claims = place.clients::<DynamicEntity>(CLAIMS);
    let [a, b] = [0, 1].map(|task| UniqueInTable::new(&users[task], &claims[task], "~").reservation_time(TIME));
    let service = place.behind();
    let (users, claims) = (service.table(TABLE).unwrap(), service.dynamic_table(CLAIMS).unwrap());
    ([a, b], UniqueInTable::new(&users, &claims, "~").reservation_time(TIME))
}

/// Checks that each mail has one user, that a lookup finds it, and that a repair leaves no leftovers.
async fn check_across(place: &Place, values: &UniqueInTable<User>) {
    let users: Vec<User> = stored(place, "RowKey lt '~'").await;
    let check = async || {
        for user in &users {
            let with_mail = users.iter().filter(|other| other.mail == user.mail);
            assert_eq!(with_mail.count(), 1, "{users:?} have one mail");
            let owner = values.find(&user.mail).await.unwrap();
            let owner = owner.as_ref().map(|key| (key.partition_key(), key.row_key()));
            assert_eq!(owner, Some((user.group.as_str(), user.id.as_str())), "{}", user.mail);
        }
    };
    check().await;
    // Longer than a reservation by any clock of the service.
    place.emulator().clock().advance(TIME * 3);
    values.repair().await.unwrap();
    check().await;
    let rows: Vec<RowId> = stored(place, "RowKey ge '~'").await;
    let claims = place.behind().table::<RowId>(CLAIMS).unwrap();
    let claims = claims.query().allow_table_scan().all().await.unwrap();
    assert_eq!(
        (rows.len(), claims.len()),
        (users.len(), users.len()),
        "{rows:?}, {claims:?}"
    );
}

async fn insert_across(place: Place) {
    let ([a, b], behind) = across(&place);
    let (one, two) = (user_in("one", "1", "m"), user_in("two", "2", "m"));
    let (a, b) = join(a.insert(&one, "m"), b.insert(&two, "m")).await;
    check_across(&place, &behind).await;
    count([&a, &b]);
    assert!(!matches!((a, b), (Ok(true), Ok(true))), "both have the value");
}

async fn insert_beside(place: Place) {
    let ([a, b], behind) = across(&place);
    let (one, two) = (user_in("one", "1", "m"), user_in("one", "2", "m"));
    let (a, b) = join(a.insert(&one, "m"), b.insert(&two, "m")).await;
    check_across(&place, &behind).await;
    check_winner(&[a, b]);
}

async fn insert_after_crash(place: Place) {
    insert_after_crash_in("zero", place).await;
}

async fn insert_after_crash_beside(place: Place) {
    insert_after_crash_in("one", place).await;
}

/// A value that a crashed writer reserved and claimed in `partition`, and that two others want.
async fn insert_after_crash_in(partition: &str, place: Place) {
    let ([a, b], behind) = across(&place);
    let mut row = DynamicEntity::new(partition, "~m");
    row.insert("Owner", "0");
    row.insert("Confirmed", false);
    place.emulator().seed(TABLE, [row]).unwrap();
    let mut claim = DynamicEntity::new("m", "rows;~");
    claim.insert("Partition", partition);
    place.emulator().seed(CLAIMS, [claim]).unwrap();
    tokio::time::sleep(TIME * 2).await;
    let (one, two) = (user_in("one", "1", "m"), user_in("two", "2", "m"));
    let (a, b) = join(a.insert(&one, "m"), b.insert(&two, "m")).await;
    check_across(&place, &behind).await;
    check_winner(&[a, b]);
}

async fn replace_across(place: Place) {
    let ([a, b], behind) = across(&place);
    let (one, two) = (user_in("one", "1", "old"), user_in("two", "2", "old"));
    assert!(behind.insert(&one, "old").await.unwrap());
    let [users, _] = clients::<User>(&place);
    let change = async {
        let mut one = users.get(("one", "1")).versioned().await?.unwrap();
        one.mail = "new".into();
        a.replace(&one, "old", "new").await
    };
    let (changed, _) = join(change, b.insert(&two, "old")).await;
    count([&changed]);
    check_across(&place, &behind).await;
}

async fn delete_across(place: Place) {
    let ([a, b], behind) = across(&place);
    let (one, again, two) = (
        user_in("one", "1", "m"),
        user_in("one", "2", "m"),
        user_in("two", "3", "m"),
    );
    assert!(behind.insert(&one, "m").await.unwrap());
    let [users, _] = clients::<User>(&place);
    let swap = async {
        let one = users.get(("one", "1")).versioned().await?.unwrap();
        a.delete(&one, "m").await?;
        a.insert(&again, "m").await
    };
    let (swapped, _) = join(swap, b.insert(&two, "m")).await;
    count([&swapped]);
    check_across(&place, &behind).await;
}
