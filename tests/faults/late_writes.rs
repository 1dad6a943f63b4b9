//! Writes whose connection breaks, and which the service applies later, while it rejects other attempts and another
//! client changes the rows: no call says "not applied" about a write that is stored, and none has two effects.
//!
//! A tenth of `AZURE_TABLE_ADVERSE_SEEDS`, at least four, is the number of seeds of each call and pattern.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use azure_table::bulk::{Interrupted, LeftoverReason, WriteReport};
use azure_table::emulator::EmulatorClock;
use azure_table::{BulkReport, DateTime, Deletion, Emulator, Error, Key, Result, TableClient, TableEntity, Versioned};
use azure_table_tests::entities::{Counter, Marked};
use azure_table_tests::explorations::{operations, patterns};
use azure_table_tests::promises::{Following, adverse_seeds, on_late_networks, on_paused_clock};
use azure_table_tests::scenario::late_network::LateNetwork;
use fastrand::Rng;
use futures::future::LocalBoxFuture;

use super::{faulty, once, table_of};

/// The rows of a call. Half of them exist before.
const ROWS: [&str; 4] = ["r0", "r1", "r2", "r3"];

trait Row: TableEntity + azure_table::ReadEntity + Clone + Send + Sync + 'static {
    fn of(name: &str, count: i64) -> Self;
    fn count(&mut self) -> &mut i64;
}

macro_rules! row {
    ($name:ident, $count:ident) => {
        impl Row for $name {
            fn of(name: &str, count: i64) -> Self {
                Self::new("p", name, count)
            }

            fn count(&mut self) -> &mut i64 {
                &mut self.$count
            }
        }
    };
}
row!(Counter, value);
row!(Marked, count);

/// The result of a call for one row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Claim {
    Applied,
    NotApplied,
    InDoubt,
    /// Applied, or another client did the same.
    Done,
}
use Claim::{Applied, Done, InDoubt, NotApplied};

type Claims = Vec<(&'static str, Claim)>;

fn claim<T>(row: &'static str, result: &Result<T>) -> Claims {
    all(&[row], result)
}

fn all<T>(rows: &[&'static str], result: &Result<T>) -> Claims {
    let claim = match result {
        Ok(_) => Applied,
        Err(e) => of_error(e),
    };
    rows.iter().map(|row| (*row, claim)).collect()
}

fn of_error(error: &Error) -> Claim {
    if error.may_have_applied() { InDoubt } else { NotApplied }
}

fn key<E: Row>(name: &str) -> Key<E> {
    Key::of(&E::of(name, 0)).unwrap()
}

/// The claims of a bulk about these rows: all that are not left over are done.
fn of_bulk(rows: &[&'static str], result: Result<BulkReport, Interrupted<BulkReport>>) -> Claims {
    let leftovers = match &result {
        Ok(report) => report.leftovers(),
        Err(interrupted) => interrupted.report().leftovers(),
    };
    let mut claims: BTreeMap<&str, Claim> = rows.iter().map(|row| (*row, Done)).collect();
    for left in leftovers {
        let claim = match left.reason() {
            LeftoverReason::InDoubt(_) => InDoubt,
            _ => NotApplied,
        };
        claims.insert(rows[left.index() as usize], claim);
    }
    claims.into_iter().collect()
}

/// The claims of a write by query. It counts the rows that it did not attempt, and does not name them.
fn of_rows<E: Row>(report: &WriteReport<E>) -> Claims {
    let mut claims = Claims::new();
    for left in report.leftovers() {
        let name = ROWS.into_iter().find(|name| left.key().row_key() == *name).unwrap();
        claims.push((name, of_error(left.error().unwrap())));
    }
    claims
}

/// A call on rows of which `r0` and `r1` exist.
type Call<E> = fn(TableClient<E>, Vec<Versioned<E>>) -> LocalBoxFuture<'static, Claims>;

/// The calls, and `true` for those that apply a write at most once whatever other clients do.
fn calls<E: Row>() -> [(&'static str, bool, Call<E>); 24] {
    calls! {
        "insert", false => |table, _stored| claim("r2", &table.insert(&E::of("r2", 7)).await);
        "insert of an existing row", false => |table, _stored| claim("r0", &table.insert(&E::of("r0", 7)).await);
        "insert_if_not_exists", false => |table, _stored| {
            match table.insert_if_not_exists(&E::of("r0", 7)).await {
                Ok(None) => vec![("r0", NotApplied)],
                result => claim("r0", &result),
            }
        };
        "insert_or_replace", false => |table, _stored| claim("r0", &table.insert_or_replace(&E::of("r0", 7)).await);
        "insert_or_merge", false => |table, _stored| claim("r0", &table.insert_or_merge(&E::of("r0", 7)).await);
        "replace", false => |table, _stored| claim("r0", &table.replace(&E::of("r0", 7)).unconditionally().await);
        "merge", false => |table, _stored| claim("r0", &table.merge(&E::of("r0", 7)).unconditionally().await);
        "replace under its ETag", true => |table, stored| claim("r0", &table.replace(&stored[0]).await);
        "merge under its ETag", true => |table, stored| claim("r0", &table.merge(&stored[0]).await);
        "save", true => |table, stored| {
            let mut row = stored.into_iter().next().unwrap();
            *row.count() += 1;
            claim("r0", &table.save(&mut row).await)
        };
        "modify", true => |table, _stored| {
            claim("r0", &table.modify(key("r0"), |row: &mut E| *row.count() += 1).await)
        };
        "delete", false => |table, _stored| claim("r0", &table.delete(key("r0")).await);
        "delete under its ETag", true => |table, stored| claim("r0", &table.delete(&stored[0]).await);
        "delete_if_exists", false => |table, _stored| {
            match table.delete_if_exists(key("r0")).await {
                Ok(Deletion::Deleted) => vec![("r0", Applied)],
                Ok(Deletion::WasMissing) => vec![("r0", NotApplied)],
                Ok(_) => vec![("r0", InDoubt)],
                Err(e) => vec![("r0", of_error(&e))],
            }
        };
        "batch", false => |table, _stored| {
            let mut batch = table.batch();
            batch.insert(&E::of("r2", 7)).unwrap().insert_or_replace(&E::of("r0", 7)).unwrap();
            all(&["r0", "r2"], &batch.submit().await)
        };
        "batch under an ETag", true => |table, stored| {
            let mut batch = table.batch();
            batch.replace(&stored[0]).unwrap().insert_or_replace(&E::of("r1", 7)).unwrap();
            all(&["r0", "r1"], &batch.submit().await)
        };
        "bulk of one upsert", false => |table, _stored| {
            of_bulk(&["r0"], table.bulk().insert_or_replace([E::of("r0", 7)]).await)
        };
        "bulk of upserts", false => |table, _stored| {
            let rows = [E::of("r0", 7), E::of("r2", 7)];
            of_bulk(&["r0", "r2"], table.bulk().insert_or_replace(rows).await)
        };
        "bulk of inserts", false => |table, _stored| {
            let rows = [E::of("r0", 7), E::of("r2", 7), E::of("r3", 7)];
            of_bulk(&["r0", "r2", "r3"], table.bulk().insert(rows).await)
        };
        "bulk of deletes", false => |table, _stored| {
            of_bulk(&["r0", "r1"], table.bulk().delete([key("r0"), key("r1")]).await)
        };
        "bulk under ETags", true => |table, stored| of_bulk(&["r0", "r1"], table.bulk().replace(stored).await);
        "update_where", true => |table, _stored| {
            let query = table.query();
            match table.update_where(query, |row: &mut E| *row.count() += 1).await {
                Ok(report) => of_rows(&report),
                Err(interrupted) => of_rows(interrupted.report()),
            }
        };
        "delete_where", true => |table, _stored| {
            match table.delete_where(table.query()).await {
                Ok(report) => of_rows(&report),
                Err(interrupted) => of_rows(interrupted.report()),
            }
        };
        "atomic", true => |table, _stored| {
            let query = table.query();
            let updated = table.update_where(query, |row: &mut E| *row.count() += 1).atomic().await;
            all(&["r0", "r1"], &updated)
        };
    }
}

/// Changes a row now and then, as another client does.
async fn interfere<E: Row>(table: TableClient<E>, mut random: Rng) {
    for _ in 0..random.usize(0..4) {
        tokio::time::sleep(Duration::from_millis(random.u64(0..40_000))).await;
        let row = *random.choice(&ROWS[..3]).unwrap();
        let _ = match random.u8(0..3) {
            0 => table.delete_if_exists(key::<E>(row)).await.map(drop),
            1 => table.insert_if_not_exists(&E::of(row, 1_000)).await.map(drop),
            _ => table.insert_or_replace(&E::of(row, 1_000)).await.map(drop),
        };
    }
}

async fn run<E: Row>(is_once: bool, call: Call<E>, seed: u64, doubts: &Cell<u64>) {
    let mut random = Rng::with_seed(seed);
    let clock = EmulatorClock::fixed(DateTime::now() - Duration::from_secs(*random.choice(&[0, 60, 1_200]).unwrap()));
    let emulator = Emulator::new().shared_clock(clock);
    let (_, _, old) = faulty::<E>(emulator.clone()).await;
    for row in &ROWS[..2] {
        old.insert(&E::of(row, 0)).await.unwrap();
    }
    let stored = old.query().versioned().all().await.unwrap();
    let following = Following::new(&emulator);
    let network = LateNetwork::new(following.clone(), seed);
    let table = table_of::<E>(network.clone());
    let table = match random.u8(0..4) {
        0 => table.with(&once()),
        _ => table,
    };
    let other = table_of::<E>(following);
    let is_disturbed = random.u8(0..3) == 0;
    let others = is_disturbed.then(|| tokio::spawn(interfere(other, random)));
    let claims = call(table, stored).await;
    table_of::<E>(network.settled()).query().all().await.unwrap();
    if let Some(others) = others {
        others.await.unwrap();
    }
    for (row, claim) in claims {
        let applied = network.applied(row);
        doubts.set(doubts.get() + u64::from(claim == InDoubt));
        match claim {
            Applied => assert!(applied > 0, "{row} was not written: {network:#?}"),
            NotApplied => assert_eq!(applied, 0, "{row} was written: {network:#?}"),
            InDoubt | Done => {}
        }
        let is_right = !is_once || applied <= 1;
        assert!(is_right, "{row} was written {applied} times: {network:#?}");
    }
}

/// They are slow: fewer than of the other adverse services.
fn seeds() -> Range<u64> {
    0..adverse_seeds().end.div_ceil(10).max(4)
}

fn check<E: Row>(kind: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, is_once, call) in calls::<E>() {
        let doubts = Cell::new(0);
        let mut failed = Vec::new();
        for seed in seeds() {
            let run = AssertUnwindSafe(|| on_paused_clock(seed, run::<E>(is_once, call, seed, &doubts)));
            if catch_unwind(run).is_err() {
                failed.push(seed);
            }
        }
        let (doubts, wrong) = (doubts.get(), failed.len());
        azure_table_tests::report::print(&format!("{kind} {name}: {doubts} in doubt, {wrong} wrong"));
        if !failed.is_empty() {
            broken.push(format!("{kind} {name}: seeds {failed:?}"));
        }
    }
    broken
}

#[test]
fn call_never_denies_a_write_that_arrives_late() {
    let broken = [check::<Counter>("plain"), check::<Marked>("with a write id")].concat();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn patterns_hold_if_writes_arrive_late() {
    // A write of a group without an ETag may arrive after the next one.
    let operations = operations::PROMISES.iter();
    let operations = operations.filter(|promise| !promise.name.contains("group"));
    let runs = on_late_networks(patterns::promises().chain(operations), seeds());
    assert!(runs.broken.is_empty(), "{runs:#?}");
}
