//! The promises of the patterns, in every order and with every fault.
//!
//! Contains the explorations of `Fence`, `Sequence` and `Leases`, and the shared code.

/// The value of `Case::slow_with`: the default, or the number that a list of cases gives.
macro_rules! slow_with {
    ($default:expr) => {
        $default
    };
    ($default:expr, $faults:literal) => {
        Some($faults)
    };
}

mod changes;
mod expiry;
mod index_calls;
mod index_queries;
pub mod indexes;
mod log;
mod queue;
mod snapshot;
mod unique;

use std::cell::Cell;
use std::time::Duration;

use azure_table::testing::explore;
use azure_table::{DynamicEntity, Guid, TableClient, TableEntity, TableOperation};
use azure_table_patterns::{Fence, Leases, Sequence};
use futures::future::{join, join3};

use super::crashes::{self, RowId};
use super::{Case, Tally};
use crate::promises::{Place, Promise, at, count};

/// Returns the cases of every pattern.
pub fn all() -> impl Iterator<Item = &'static Case> {
    let first = ALL.iter().chain(&unique::ALL);
    let second = first.chain(&log::ALL).chain(&queue::ALL);
    let third = second.chain(&expiry::ALL).chain(&snapshot::ALL);
    let fourth = third.chain(indexes::ALL).chain(indexes::deployment::ALL);
    let fifth = fourth.chain(&index_calls::ALL).chain(&index_queries::ALL);
    fifth.chain(&changes::ALL)
}

/// Returns the promises of every pattern.
pub fn promises() -> impl Iterator<Item = &'static Promise> {
    let first = PROMISES.iter().chain(&unique::PROMISES);
    first
        .chain(&log::PROMISES)
        .chain(&queue::PROMISES)
        .chain(&expiry::PROMISES)
        .chain(&snapshot::PROMISES)
        .chain(&changes::PROMISES)
        .chain(indexes::PROMISES)
}

const ALL: [Case; 7] = [
    Case {
        name: "`Fence`: two transactions",
        slow_with: Some(1),
        explore: |faults| explore(at(fence)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Fence`: two transactions with a new header",
        slow_with: None,
        explore: |faults| explore(at(fence_of_new_header)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Sequence`: two tasks take two numbers each",
        slow_with: Some(1),
        explore: |faults| explore(at(sequence)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Leases`: two tasks acquire a free one",
        slow_with: None,
        explore: |faults| explore(at(lease)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Leases`: one is requested, and released for that holder",
        slow_with: Some(1),
        explore: |faults| explore(at(lease_on_request)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Leases`: the clock jumps over the end",
        slow_with: Some(1),
        explore: |faults| {
            let past = TIME + TIME / 2;
            explore(at(lease_with_work))
                .advance(past)
                .faults(faults)
                .max_time(MAX_TIME)
                .run()
        },
    },
    Case {
        name: "`Leases`: the holder renews while the other tries",
        slow_with: Some(1),
        explore: |faults| {
            let third = TIME / 3;
            let renewing = explore(at(lease_with_work)).advance(third).advance(TIME);
            let renewing = renewing.max_schedules(200_000).max_time(MAX_TIME);
            renewing.faults(faults).run()
        },
    },
];

const PROMISES: [Promise; 6] = [
    Promise {
        name: "`Fence`: two transactions",
        hold: |place| Box::pin(fence(place)),
    },
    Promise {
        name: "`Fence`: two transactions with a new header",
        hold: |place| Box::pin(fence_of_new_header(place)),
    },
    Promise {
        name: "`Sequence`: two tasks take two numbers each",
        hold: |place| Box::pin(sequence(place)),
    },
    Promise {
        name: "`Leases`: two tasks acquire a free one",
        hold: |place| Box::pin(lease(place)),
    },
    Promise {
        name: "`Leases`: one is requested, and released for that holder",
        hold: |place| Box::pin(lease_on_request(place)),
    },
    Promise {
        name: "`Leases`: two holders work",
        hold: |place| Box::pin(lease_with_work(place)),
    },
];

const TABLE: &str = "Rows";
const TIME: Duration = Duration::from_secs(30);
/// The time for the explorations that cannot be pruned.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Creates the table, and returns a client of it for each task.
fn clients<E>(place: &Place) -> [TableClient<E>; 2] {
    place.clients(TABLE)
}

/// Returns the stored rows that match, read without the gate.
async fn stored<E: TableEntity + azure_table::ReadEntity>(place: &Place, filter: &str) -> Vec<E> {
    crashes::stored(&place.behind(), TABLE, filter).await
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

/// Opens the fences with a header that the first of them inserts.
async fn fence(place: Place) {
    transactions(place, async |table, new| Fence::open(&table, &new).await).await;
}

/// The first transaction inserts the header.
async fn fence_of_new_header(place: Place) {
    transactions(place, async |table, new| Ok(Fence::with_new_header(&table, new))).await;
}

async fn transactions(
    place: Place,
    open: impl AsyncFn(TableClient<Header>, Header) -> azure_table::Result<Fence<Header>>,
) {
    let add = async |(table, name): (TableClient<Header>, &str)| {
        let new = Header {
            group: "g".into(),
            rows: 0,
            write: None,
        };
        let mut fence = open(table, new).await?;
        let row = DynamicEntity::new("g", name);
        fence
            .transact(|header| {
                header.rows += 1;
                Ok(vec![TableOperation::insert(&row)])
            })
            .await
    };
    let [a, b] = clients(&place);
    let (a, b) = join(add((a, "a")), add((b, "b"))).await;
    let rows: Vec<RowId> = stored(&place, "RowKey ge 'a'").await;
    let header: Vec<Header> = stored(&place, "RowKey eq '$header'").await;
    let counted = header.first().map_or(0, |header| header.rows);
    assert_eq!(
        counted,
        rows.len() as i64,
        "the header counts other rows than there are"
    );
    Tally::of([a, b]).check(counted);
}

async fn sequence(place: Place) {
    let take = async |table: TableClient<DynamicEntity>| {
        let mut sequence = Sequence::new(&table, "s", "n").block(1);
        let mut taken = Vec::new();
        for _ in 0..2 {
            let next = sequence.next().await;
            count([&next]);
            taken.extend(next);
        }
        assert!(taken.is_sorted(), "{taken:?}");
        taken
    };
    let [a, b] = clients(&place);
    let (a, b) = join(take(a), take(b)).await;
    let twice: Vec<&i64> = a.iter().filter(|number| b.contains(number)).collect();
    assert!(twice.is_empty(), "given twice: {twice:?} of {a:?} and {b:?}");
}

/// Leaves a released lease, created without the gate.
async fn free_lease(place: &Place) {
    let table = place.behind().dynamic_table(TABLE).unwrap();
    let lease = Leases::new(&table, TIME).acquire("p", "lease", "earlier").await;
    lease.unwrap().unwrap().release().await.unwrap();
}

/// No token occurs twice.
async fn lease(place: Place) {
    let acquire = async |(table, name): (TableClient<DynamicEntity>, &str)| {
        let leases = Leases::new(&table, TIME);
        let lease = leases.acquire("p", "lease", name).await.ok()??;
        let token = lease.token();
        count([&lease.release().await]);
        Some(token)
    };
    let [a, b] = clients(&place);
    free_lease(&place).await;
    let (a, b) = join(acquire((a, "a")), acquire((b, "b"))).await;
    assert!(a.is_none() || a != b, "both had the token {a:?}");
}

/// A released lease is free for the holder that requested it, and for no other.
async fn lease_on_request(place: Place) {
    let leases = |table: &TableClient<DynamicEntity>| Leases::new(table, TIME);
    let [a, b] = clients(&place);
    let c = place.client("c").dynamic_table(TABLE).unwrap();
    let behind = leases(&place.behind().dynamic_table(TABLE).unwrap());
    behind.create("p", "lease").await.unwrap();
    let Ok(Some(mut held)) = leases(&a).acquire("p", "lease", "a").await else {
        return;
    };
    let hand_over = async {
        let is_own = held.renew().await;
        assert!(!matches!(is_own, Ok(false)), "a request took the lease from its holder");
        count([&held.release().await]);
    };
    let request = async {
        let entries = leases(&b).list("p").await.ok()?;
        let is_requested = leases(&b).request(&entries[0], "b").await.ok()?;
        is_requested.then(|| entries[0].token())
    };
    let take = async {
        if let Ok(entries) = leases(&c).list("p").await {
            let _ = leases(&c).acquire_entry(&entries[0], "c").await;
        }
    };
    let ((), requested, ()) = join3(hand_over, request, take).await;
    let stored = &behind.list("p").await.unwrap()[0];
    if let Some(token) = requested {
        assert_eq!(
            stored.token(),
            token,
            "another holder has the requested lease: {stored:?}"
        );
        assert_eq!(stored.next_holder(), Some("b"), "the request was lost: {stored:?}");
    }
}

/// Holders that share memory to notice each other, and work for a while.
async fn lease_with_work(place: Place) {
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
        if lease.run(work).await.is_some() {
            count([&lease.release().await]);
        }
    };
    let [a, b] = clients(&place);
    free_lease(&place).await;
    join(hold((a, "a")), hold((b, "b"))).await;
    assert!(most.get() <= 1, "{} work at once", most.get());
}

/// Another worker, until it is dropped.
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
