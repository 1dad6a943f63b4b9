//! The promises of the patterns, in every order and with every fault.
//!
//! Owns those of `Fence`, `Sequence`, `Unique` and `Leases`, and what all of them share.

mod expiry;
mod log;
mod queue;

use std::cell::Cell;
use std::time::Duration;

use azure_table::patterns::{Fence, Leases, Sequence, Unique};
use azure_table::testing::{World, explore};
use azure_table::{DynamicEntity, Guid, TableClient, TableEntity, TableOperation, TableServiceClient};
use futures::future::{join, join_all};

use super::{Case, Tally};

/// Returns the cases of every pattern.
pub fn all() -> impl Iterator<Item = &'static Case> {
    ALL.iter().chain(&log::ALL).chain(&queue::ALL).chain(&expiry::ALL)
}

const ALL: [Case; 7] = [
    Case {
        name: "`Fence`: two transactions",
        explore: |faults| explore(fence).isolated().faults(faults).run(),
    },
    Case {
        name: "`Sequence`: two tasks take two numbers each",
        explore: |faults| explore(sequence).isolated().faults(faults).run(),
    },
    Case {
        name: "`Unique`: two inserts of one value",
        explore: |faults| explore(unique_insert).isolated().faults(faults).run(),
    },
    Case {
        name: "`Unique`: a value is freed and taken",
        explore: |faults| explore(unique_replace).isolated().faults(faults).run(),
    },
    Case {
        name: "`Leases`: two tasks acquire a free one",
        explore: |faults| explore(lease).isolated().faults(faults).run(),
    },
    Case {
        name: "`Leases`: the clock jumps over the end",
        explore: |faults| {
            let past = TIME + TIME / 2;
            explore(lease_with_work)
                .advance(past)
                .faults(faults)
                .max_time(MOST)
                .run()
        },
    },
    Case {
        name: "`Leases`: the holder renews while the other tries",
        explore: |faults| {
            let third = TIME / 3;
            let renewing = explore(lease_with_work).advance(third).advance(TIME);
            renewing.faults(faults).max_time(MOST).run()
        },
    },
];

const TABLE: &str = "Rows";
const TIME: Duration = Duration::from_secs(30);
/// The time for the explorations that cannot be pruned.
const MOST: Duration = Duration::from_secs(60);

/// Creates the table, and returns a client of it for each task.
fn clients<E>(world: &World) -> [TableClient<E>; 2] {
    let _ = world.table::<DynamicEntity>(TABLE);
    ["a", "b"].map(|name| world.client(name).table(TABLE).unwrap())
}

/// Returns the rows that are stored and match, read beside the gate.
async fn stored<E: TableEntity + azure_table::ReadEntity>(world: &World, filter: &str) -> Vec<E> {
    let table = TableServiceClient::on(world.emulator().clone())
        .table::<E>(TABLE)
        .unwrap();
    let mut query = table.query().allow_table_scan();
    if !filter.is_empty() {
        query = query.filter(azure_table::Filter::raw(filter.to_owned()));
    }
    query.all().await.unwrap()
}

#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "$header")]
struct Header {
    #[table(partition_key)]
    group: String,
    rows: i64,
    #[table(write_id)]
    write: Option<Guid>,
}

async fn fence(world: World) {
    let add = async |(table, name): (TableClient<Header>, &str)| {
        let new = Header {
            group: "g".into(),
            rows: 0,
            write: None,
        };
        let mut fence = Fence::open(&table, &new).await?;
        let row = DynamicEntity::new("g", name);
        fence
            .transact(|header| {
                header.rows += 1;
                Ok(vec![TableOperation::insert(&row)])
            })
            .await
    };
    let [a, b] = clients(&world);
    let (a, b) = join(add((a, "a")), add((b, "b"))).await;
    let rows: Vec<DynamicEntity> = stored(&world, "RowKey ge 'a'").await;
    let header: Vec<Header> = stored(&world, "RowKey eq '$header'").await;
    let counted = header.first().map_or(0, |header| header.rows);
    assert_eq!(
        counted,
        rows.len() as i64,
        "the header counts other rows than there are"
    );
    Tally::of([a, b]).check(counted);
}

async fn sequence(world: World) {
    let take = async |table: TableClient<DynamicEntity>| {
        let mut sequence = Sequence::new(&table, "s", "n").block(1);
        let mut taken = Vec::new();
        for _ in 0..2 {
            taken.extend(sequence.next().await);
        }
        assert!(taken.is_sorted(), "{taken:?}");
        taken
    };
    let [a, b] = clients(&world);
    let (a, b) = join(take(a), take(b)).await;
    let twice: Vec<&i64> = a.iter().filter(|number| b.contains(number)).collect();
    assert!(twice.is_empty(), "given twice: {twice:?} of {a:?} and {b:?}");
}

#[derive(TableEntity, Clone, Debug)]
struct User {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    mail: String,
    #[table(write_id)]
    write: Option<Guid>,
}

fn user(id: &str, mail: &str) -> User {
    User {
        group: "g".into(),
        id: id.into(),
        mail: mail.into(),
        write: None,
    }
}

/// Checks that each mail has one user, and is found by it.
async fn check_mails(world: &World, values: &Unique<User>) {
    let users: Vec<User> = stored(world, "RowKey lt '~'").await;
    for user in &users {
        let with_mail = users.iter().filter(|other| other.mail == user.mail);
        assert_eq!(with_mail.count(), 1, "{users:?} have one mail");
        assert_eq!(values.find("g", &user.mail).await.unwrap().as_ref(), Some(&user.id));
    }
    let rows: Vec<DynamicEntity> = stored(world, "RowKey ge '~'").await;
    assert_eq!(rows.len(), users.len(), "a value belongs to nobody");
}

/// Returns the values as seen beside the gate.
fn mails_behind(world: &World) -> Unique<User> {
    let table = TableServiceClient::on(world.emulator().clone()).table(TABLE).unwrap();
    Unique::new(&table, "~")
}

async fn unique_insert(world: World) {
    let clients = clients::<User>(&world);
    let add = clients
        .iter()
        .zip(["1", "2"])
        .map(|(table, id)| async move { Unique::new(table, "~").insert(&user(id, "m"), "m").await });
    let added = join_all(add).await;
    check_mails(&world, &mails_behind(&world)).await;
    let first = added.iter().filter(|result| matches!(result, Ok(true))).count();
    assert!(first <= 1, "both have the value");
    assert!(first == 1 || added.iter().any(Result::is_err), "nobody has the value");
}

async fn unique_replace(world: World) {
    let [a, b] = clients::<User>(&world);
    let behind = mails_behind(&world);
    assert!(behind.insert(&user("1", "old"), "old").await.unwrap());
    let change = async {
        let mut first = a.get(("g", "1")).versioned().await?.unwrap();
        first.mail = "new".into();
        Unique::new(&a, "~").replace(&first, "old", "new").await
    };
    let take = async { Unique::new(&b, "~").insert(&user("2", "old"), "old").await };
    let (_, _) = join(change, take).await;
    check_mails(&world, &behind).await;
}

/// Leaves a lease that was released, beside the gate.
async fn free_lease(world: &World) {
    let table = TableServiceClient::on(world.emulator().clone())
        .dynamic_table(TABLE)
        .unwrap();
    let lease = Leases::new(&table, TIME).acquire("p", "lease", "earlier").await;
    lease.unwrap().unwrap().release().await.unwrap();
}

/// No token comes twice.
async fn lease(world: World) {
    let acquire = async |(table, name): (TableClient<DynamicEntity>, &str)| {
        let leases = Leases::new(&table, TIME);
        let lease = leases.acquire("p", "lease", name).await.ok()??;
        assert!(lease.is_valid());
        let token = lease.token();
        let _ = lease.release().await;
        Some(token)
    };
    let [a, b] = clients(&world);
    free_lease(&world).await;
    let (a, b) = join(acquire((a, "a")), acquire((b, "b"))).await;
    assert!(a.is_none() || a != b, "both had the token {a:?}");
}

/// Holders that notice each other in memory, and work for a while.
async fn lease_with_work(world: World) {
    let (working, most) = (Cell::new(0), Cell::new(0));
    let hold = async |(table, name): (TableClient<DynamicEntity>, &str)| {
        let leases = Leases::new(&table, TIME);
        let Ok(Some(mut lease)) = leases.acquire("p", "lease", name).await else {
            return;
        };
        let work = async {
            let _working = Working::begin(&working);
            most.set(most.get().max(working.get()));
            let _ = table.exists(("p", "work")).await;
        };
        if let Ok(Some(())) = lease.run(work).await {
            let _ = lease.release().await;
        }
    };
    let [a, b] = clients(&world);
    free_lease(&world).await;
    join(hold((a, "a")), hold((b, "b"))).await;
    assert!(most.get() <= 1, "{} work at once", most.get());
}

/// One more that works, until it is dropped.
struct Working<'a>(&'a Cell<u32>);

impl<'a> Working<'a> {
    fn begin(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
