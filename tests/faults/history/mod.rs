//! Sixteen concurrent clients on a few rows, with faults: a table could have had the history that they observe.
//!
//! The clients read, increment under ETags, insert, delete, modify and commit batches, and count without ids in other
//! rows. Half of them read from a secondary that lags, on which no write may rely.
//!
//! Rows are deleted only after the call that inserted them has ended, by a reported version. So whatever the client
//! retries in such a history is applied once. A row is never deleted while its insert is in flight. If the response of
//! that insert were lost, nothing stored would show it, and it would be applied again (the guide `retries`).
//!
//! A seed determines a history step by step: one thread, a paused clock. `AZURE_TABLE_HISTORY_SEEDS` is the number of
//! histories.

mod check;
mod client;
mod tally;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::Transport;
use azure_table::{CallOptions, Emulator, LocationMode, TableClient, TableServiceClient};
use azure_table_patterns::Grouped;

use self::check::{ROWS, State, check};
use self::client::{Client, FIRST_SLOT, Notes};
use super::matrix::model::{Cell, PARTITION};
use azure_table_tests::promises::on_paused_clock;
use azure_table_tests::scenario::blind_resend;

/// The number of histories besides the regressions.
const SEEDS: u64 = 1;
/// Seeds of histories that were once wrong. In these, a row was deleted after a `modify`, while its insert was in
/// flight.
const REGRESSIONS: [u64; 3] = [95, 146, 219];

const CLIENTS: usize = 16;
/// Nothing happens between rounds, and the service's clock advances, so that old and new rows differ in age.
const ROUNDS: usize = 3;
/// The lag of the secondary: one round.
const LAG: Duration = Duration::from_secs(4);

fn add_rules(faults: &Faults) {
    let millis = Duration::from_millis;
    let rare = [
        Fault::NoConnection,
        Fault::LoseRequest,
        Fault::LoseResponse,
        Fault::CutResponse { at: 10 },
        Fault::HangRequest,
        Fault::HangResponse,
        ResponseTemplate::server_busy(Duration::from_secs(1)).into(),
        ResponseTemplate::internal_error().into(),
        Fault::RespondAfterApplying(ResponseTemplate::internal_error()),
        Fault::FailBatchPart(ResponseTemplate::too_many_requests()),
    ];
    for fault in rare {
        faults.add(FaultRule::new(fault).probability(0.03));
    }
    for delay in [20, 150, 900] {
        faults.add(FaultRule::new(Fault::DelayRequest(millis(delay))).probability(0.1));
        faults.add(FaultRule::new(Fault::DelayResponse(millis(delay))).probability(0.1));
    }
}

/// Runs the history of a seed and checks it. Two groups of clients share a handle each.
fn history<T: Transport>(seed: u64, over: fn(Faults) -> T, is_grouped: bool) -> Findings {
    on_paused_clock(seed, async {
        let clock = EmulatorClock::system();
        let emulator = Emulator::new().shared_clock(clock.clone()).secondary_lag(LAG);
        let truth = TableServiceClient::from_transport(emulator.clone());
        let rows = truth.table::<Cell>("Things").unwrap();
        let faults = Faults::with_seed(emulator, seed);
        add_rules(&faults);
        let notes = Arc::new(Mutex::new(Notes::default()));
        let service = truth.transport(over(faults)).timeout(Duration::from_secs(30));
        let table = service.table("Things").unwrap();
        let tables = [LocationMode::PrimaryOnly, LocationMode::SecondaryThenPrimary]
            .map(|mode| table.with(&CallOptions::new().location_mode(mode)));
        let groups = tables.each_ref().map(|table| {
            is_grouped.then(|| {
                let (group, driver) = Grouped::new(table);
                tokio::spawn(driver);
                group
            })
        });
        let client = |table: &TableClient<Cell>, group: Option<&Grouped>| Client {
            table: table.clone(),
            group: group.cloned(),
            notes: Arc::clone(&notes),
        };
        rows.create_table().await.unwrap();
        for row in 0..FIRST_SLOT {
            client(&rows, None).insert(row).await;
        }
        // Counters are never deleted.
        notes.lock().unwrap().inserted.clear();
        tally::begin(&rows).await;
        for round in 0..ROUNDS {
            clock.advance(Duration::from_secs(35));
            let clients = (0..CLIENTS).map(|number| client(&tables[number % 2], groups[number % 2].as_ref()));
            let clients: Vec<_> = clients.map(|client| tokio::spawn(client.work(round))).collect();
            for client in clients {
                client.await.unwrap();
            }
        }
        let last = rows.query().partition(PARTITION).versioned().all().await.unwrap();
        let notes = std::mem::take(&mut *notes.lock().unwrap());
        let mut state: State = [None; ROWS];
        let mut wrong = notes.tally.check(&rows).await;
        for row in &last {
            let index: usize = row.entity.row.parse().unwrap();
            let id = u32::try_from(row.entity.b.unwrap()).unwrap();
            state[index] = Some(id);
            if notes.etags.get(&(index, id)).is_some_and(|etag| *etag != row.etag) {
                wrong.push(format!("write {id} was applied twice"));
            }
            if let Some((acknowledged, unknown)) = notes.counted.get(index)
                && !(*acknowledged..=acknowledged + unknown).contains(&row.entity.a)
            {
                wrong.push(format!("{} of {acknowledged} to {unknown} more", row.entity.a));
            }
        }
        let twice = notes.twice.iter();
        wrong.extend(twice.map(|id| format!("write {id} was seen with two ETags")));
        let calls = notes.calls.len();
        wrong.extend(check(notes.calls, state).err());
        let unknown = notes.counted.iter().map(|(_, unknown)| *unknown).sum();
        Findings { wrong, calls, unknown }
    })
}

/// The report of one history.
struct Findings {
    wrong: Vec<String>,
    calls: usize,
    unknown: i64,
}

/// Checks the histories of `SEEDS` seeds, or of the number that the environment sets.
fn check_histories(of: &str, is_grouped: bool) {
    let seeds = std::env::var("AZURE_TABLE_HISTORY_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let started = std::time::Instant::now();
    let (mut calls, mut unknown, mut failed) = (0, 0, Vec::new());
    for seed in REGRESSIONS.into_iter().chain(0..seeds) {
        let findings = history(seed, |faults| faults, is_grouped);
        (calls, unknown) = (calls + findings.calls, unknown + findings.unknown);
        if !findings.wrong.is_empty() {
            azure_table_tests::report::print(&format!("seed {seed}: {:#?}", findings.wrong));
            failed.push(seed);
        }
    }
    azure_table_tests::report::print(&format!(
        "{of}: {} histories, {calls} calls, {unknown} increments in doubt, {} wrong, {:.1} s",
        seeds as usize + REGRESSIONS.len(),
        failed.len(),
        started.elapsed().as_secs_f64()
    ));
    assert!(failed.is_empty(), "seeds {failed:?}");
}

#[test]
fn history_of_sixteen_clients_is_linearizable_under_faults() {
    check_histories("plain", false);
}

#[test]
fn history_of_two_groups_is_linearizable_under_faults() {
    check_histories("grouped writes", true);
}

/// The check can fail: it does with a retry that sends every failed write again.
#[test]
fn history_check_finds_a_blind_retry() {
    let is_wrong = |seed: &u64| !history(*seed, blind_resend, false).wrong.is_empty();
    let wrong = (0..10).filter(is_wrong).count();
    assert!(wrong > 5, "{wrong} of 10");
}
