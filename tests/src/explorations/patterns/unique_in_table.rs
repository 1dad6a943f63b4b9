//! Values that are unique in a table.

use azure_table::ErrorKind;
use azure_table::emulator::SeedEntities as _;
use azure_table_patterns::UniqueInTable;
use tokio::time::sleep;

use super::unique::{check_winner, user};
use super::*;

pub(super) const ALL: [Case; 9] = [
    case!("`UniqueInTable`: two inserts of one value", insert::<false>)
        .slow_with(1)
        .and_crashes(),
    // Past the reservation, within the timeout of an attempt.
    case!(
        "`UniqueInTable`: two inserts, and the clock jumps over the reservation",
        insert::<false>
    )
    .advance(&[PAST])
    .slow_with(1)
    .only_orders()
    .and_crashes(),
    case!(
        "`UniqueInTable`: two inserts of one value in one partition",
        insert_beside
    )
    .slow_with(1),
    case!(
        "`UniqueInTable`: two inserts of a value whose writer crashed",
        insert_after_crash
    )
    .slow_with(1),
    case!(
        "`UniqueInTable`: ... whose writer crashed in the partition of one of them",
        insert_after_crash_beside
    )
    .slow_with(1),
    case!(
        "`UniqueInTable`: a writer dies for ever, and another wants its value",
        insert::<true>
    )
    .only_crashes(2),
    case!("`UniqueInTable`: a value is freed and taken", replace)
        .slow_with(1)
        .and_crashes(),
    case!(
        "`UniqueInTable`: a value is deleted, and taken in its partition and in another",
        delete
    )
    .slow_with(1),
    case!("`UniqueInTable`: an entity is deleted, and its value taken", free).only_crashes(2),
];

/// The claims of values have their own table.
const CLAIMS: &str = "Claims";

/// Creates the table of claims, and returns the values without the gate.
fn start(place: &Place) -> UniqueInTable<User> {
    place.clients::<DynamicEntity>(CLAIMS);
    mails(&place.behind())
}

fn mails(service: &TableServiceClient) -> UniqueInTable<User> {
    let claims = service.dynamic_table(CLAIMS).unwrap();
    UniqueInTable::new(&table(service), &claims, "~").reservation_time(TIME)
}

/// Checks that each mail has one user, that a lookup finds it, and that a repair leaves no leftovers. Returns the
/// users.
async fn check(place: &Place) -> Vec<User> {
    let users: Vec<User> = stored(place, "RowKey lt '~'").await;
    let values = mails(&place.behind());
    for is_repaired in [false, true] {
        if is_repaired {
            // Longer than a reservation by any clock of the service.
            place.emulator().clock().advance(TIME * 3);
            values.repair().await.unwrap();
        }
        for user in &users {
            let with_mail = users.iter().filter(|other| other.mail == user.mail);
            assert_eq!(with_mail.count(), 1, "{users:?} have one mail");
            let owner = values.find(&user.mail).await.unwrap();
            let owner = owner.as_ref().map(|key| (key.partition_key(), key.row_key()));
            assert_eq!(owner, Some((user.group.as_str(), user.id.as_str())), "{}", user.mail);
        }
    }
    let rows: Vec<RowId> = stored(place, "RowKey ge '~'").await;
    let claims: Vec<RowId> = stored_in(place, CLAIMS, "").await;
    let count = users.len();
    assert_eq!((rows.len(), claims.len()), (count, count), "{rows:?}, {claims:?}");
    users
}

/// Inserts a user. Returns `false` if another one has the value. A process waits until one of them has it.
async fn add(place: &Place, service: &TableServiceClient, user: &User) -> Result<bool> {
    if !place.has_crashes() {
        return mails(service).insert(user, &user.mail).await;
    }
    for _ in 0..ATTEMPTS {
        if let Some(owner) = mails(service).find(&user.mail).await? {
            return Ok(owner.row_key() == user.id);
        }
        match mails(service).insert(user, &user.mail).await {
            Ok(true) => return Ok(true),
            // A write of an earlier life has arrived: the next lookup finds it.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            // Reserved for a process that will confirm it, or died.
            Ok(false) => sleep(TIME).await,
        }
    }
    panic!("the value of {user:?} stays reserved");
}

/// One of two tasks has the value. With `DIES`, the first one does not begin again after a crash.
async fn insert<const DIES: bool>(place: Place) {
    start(&place);
    let lives = Cell::new(0);
    let first = async |service: TableServiceClient| {
        if lives.replace(lives.get() + 1) > 0 && DIES {
            return Ok(false);
        }
        add(&place, &service, &user("one", "1", "m")).await
    };
    let second = async |service: TableServiceClient| add(&place, &service, &user("two", "2", "m")).await;
    let (a, b) = both(&place, first, second).await;
    let users = check(&place).await;
    done(&place, [&a, &b]);
    assert!(!matches!((a, b), (Ok(true), Ok(true))), "both have the value");
    assert!(users.len() == 1 || !place.has_crashes(), "{users:?}");
}

async fn insert_beside(place: Place) {
    start(&place);
    insert_two(&place, "one").await;
}

async fn insert_after_crash(place: Place) {
    insert_after_crash_in("zero", place).await;
}

async fn insert_after_crash_beside(place: Place) {
    insert_after_crash_in("one", place).await;
}

/// A value that a crashed writer reserved and claimed in `partition`, and that two others want.
async fn insert_after_crash_in(partition: &str, place: Place) {
    start(&place);
    let mut row = DynamicEntity::new(partition, "~m");
    row.insert("Owner", "0");
    row.insert("Confirmed", false);
    place.emulator().seed(TABLE, [row]).unwrap();
    let mut claim = DynamicEntity::new("m", "rows;~");
    claim.insert("Partition", partition);
    place.emulator().seed(CLAIMS, [claim]).unwrap();
    sleep(TIME * 2).await;
    insert_two(&place, "two").await;
}

/// Inserts a user of the partition `one`, and one of another.
async fn insert_two(place: &Place, other: &str) {
    let (a, b) = both(
        place,
        async |service| mails(&service).insert(&user("one", "1", "m"), "m").await,
        async |service| mails(&service).insert(&user(other, "2", "m"), "m").await,
    )
    .await;
    check(place).await;
    check_winner(place, &[a, b]);
}

async fn replace(place: Place) {
    assert!(start(&place).insert(&user("one", "1", "old"), "old").await.unwrap());
    let change = async |service: TableServiceClient| {
        for _ in 0..ATTEMPTS {
            let mut user = table::<User>(&service).get(("one", "1")).versioned().await?.unwrap();
            if user.mail == "new" {
                return Ok(true);
            }
            user.mail = "new".into();
            match mails(&service).replace(&user, "old", "new").await {
                Ok(false) if place.has_crashes() => sleep(TIME).await,
                Err(e) if place.has_crashes() && is_change(e.kind()) => {}
                replaced => return replaced,
            }
        }
        panic!("the value cannot be changed");
    };
    let take = async |service: TableServiceClient| mails(&service).insert(&user("two", "2", "old"), "old").await;
    let (changed, taken) = both(&place, change, take).await;
    done(&place, [&changed]);
    let users = check(&place).await;
    if place.has_crashes() {
        let is_expected = !taken.as_ref().is_err_and(|e| e.kind() != ErrorKind::AlreadyExists);
        assert!(is_expected, "{taken:?}");
        assert_eq!(users[0].mail, "new");
    }
}

async fn delete(place: Place) {
    assert!(start(&place).insert(&user("one", "1", "m"), "m").await.unwrap());
    let swap = async |service: TableServiceClient| {
        let one = table::<User>(&service).get(("one", "1")).versioned().await?.unwrap();
        mails(&service).delete(&one, "m").await?;
        mails(&service).insert(&user("one", "2", "m"), "m").await
    };
    let take = async |service: TableServiceClient| mails(&service).insert(&user("two", "3", "m"), "m").await;
    let (swapped, _) = both(&place, swap, take).await;
    count([&swapped]);
    check(&place).await;
}

/// The second process has the value, or finds it taken. Then nobody has it in the end, and it is free.
async fn free(place: Place) -> Result<()> {
    assert!(start(&place).insert(&user("one", "1", "m"), "m").await?);
    let delete = async |service: TableServiceClient| -> Result<()> {
        while let Some(one) = table::<User>(&service).get(("one", "1")).versioned().await? {
            unless_changed(mails(&service).delete(&one, "m").await)?;
        }
        Ok(())
    };
    let two = user("two", "2", "m");
    let take = async |service: TableServiceClient| add(&place, &service, &two).await;
    let ((), taken) = try_both(&place, delete, take).await?;
    // A value that nobody has leaves no row and no claim.
    let users = check(&place).await;
    assert!(
        users.len() == usize::from(taken) && users.iter().all(|user| user.id == "2"),
        "{users:?}"
    );
    assert!(add(&place, &place.behind(), &two).await?, "the value stays taken");
    assert_eq!(check(&place).await.len(), 1);
    Ok(())
}
