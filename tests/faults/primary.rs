//! Reads that belong to a write go to the primary, whatever the client, the table or the call prefers.

use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::service::StoredAccessPolicy;
use azure_table::testing::{Exchange, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{Emulator, ErrorKind, LocationMode, TableClient, TableServiceClient};
use azure_table_tests::entities::Counter;

use super::faulty;

const MODES: [LocationMode; 3] = [
    LocationMode::SecondaryThenPrimary,
    LocationMode::SecondaryOnly,
    LocationMode::PrimaryThenSecondary,
];

fn counter(name: &str, value: i64) -> Counter {
    Counter::new("visits", name, value)
}

/// An account whose secondary lags by a minute and has the rows `a` and `b`, both with the value 1.
struct Account {
    clock: EmulatorClock,
    spy: Spy,
    faults: Faults,
    truth: TableClient<Counter>,
}

impl Account {
    async fn new() -> Self {
        let clock = EmulatorClock::system();
        let emulator = Emulator::new().shared_clock(clock.clone());
        let emulator = emulator.secondary_lag(Duration::from_secs(60));
        let (sound, _, truth) = faulty(emulator).await;
        for name in ["a", "b"] {
            truth.insert(&counter(name, 1)).await.unwrap();
        }
        clock.advance(Duration::from_secs(61));
        let spy = Spy::new(sound);
        let faults = Faults::new(spy.clone());
        Self {
            clock,
            spy,
            faults,
            truth,
        }
    }

    /// A client that prefers the secondary. If the mode begins at the primary, its first read there fails.
    fn counters(&self, mode: LocationMode) -> TableClient<Counter> {
        self.spy.clear();
        self.faults.clear();
        if mode == LocationMode::PrimaryThenSecondary {
            let failure = FaultRule::new(ResponseTemplate::internal_error());
            self.faults.add(failure.on_reads().first(1));
        }
        let service = TableServiceClient::from_transport(self.faults.clone());
        service.location_mode(mode).table("Table").unwrap()
    }

    /// Returns the current values of the primary.
    async fn values(&self) -> Vec<i64> {
        let rows = self.truth.query().all().await.unwrap();
        rows.into_iter().map(|row| row.value).collect()
    }

    async fn policies(&self) -> Vec<String> {
        let policies = self.truth.access_policies().await.unwrap();
        policies.into_iter().map(|policy| policy.id).collect()
    }

    /// Asserts that something was sent, and nothing to the secondary.
    fn requested_primary_alone(&self, what: &str) {
        let sent = self.spy.exchanges();
        assert!(!sent.is_empty(), "{what}");
        assert!(!sent.iter().any(Exchange::is_secondary), "{what}: {sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn revoked_policy_stays_revoked() {
    let policy = StoredAccessPolicy::new;
    for mode in MODES {
        let account = Account::new().await;
        for id in ["a", "b", "c"] {
            account.truth.add_access_policy(policy(id)).await.unwrap();
        }
        account.clock.advance(Duration::from_secs(61));
        account.truth.revoke_access_policy("a").await.unwrap();

        let counters = account.counters(mode);
        counters.revoke_access_policy("b").await.unwrap();
        account.requested_primary_alone("revoke");
        assert_eq!(account.policies().await, ["c"], "{mode:?}");
        counters.add_access_policy(policy("d")).await.unwrap();
        counters.replace_access_policy(policy("c")).await.unwrap();
        assert_eq!(account.policies().await, ["c", "d"], "{mode:?}");
        account.requested_primary_alone("add, replace");
    }
}

#[tokio::test(start_paused = true)]
async fn old_state_of_the_secondary_is_not_written_under_its_etag() {
    for mode in MODES {
        let account = Account::new().await;
        account.truth.insert_or_replace(&counter("a", 5)).await.unwrap();
        let counters = account.counters(mode);
        let mut read = counters.get(("visits", "a")).versioned().await.unwrap().unwrap();
        assert_eq!(read.value, 1, "{mode:?}");
        read.value += 1;
        let rejected = counters.replace(&read).await.unwrap_err();
        assert_eq!(rejected.kind(), ErrorKind::ConditionNotMet, "{mode:?}");
        // Without the ETag, the write undoes a newer one.
        counters.replace(&read.entity).unconditionally().await.unwrap();
        assert_eq!(account.values().await, [2, 1], "{mode:?}");
    }
}

/// A continuation of the secondary is not valid on the primary.
#[tokio::test(start_paused = true)]
async fn writes_over_a_query_reject_a_continuation_of_the_secondary() {
    let account = Account::new().await;
    let copy = account.counters(LocationMode::SecondaryOnly);
    let page = copy.query().page_size(1).pages().try_next().await.unwrap().unwrap();
    let table = &account.truth;
    let query = table.query().resume_from(page.continuation().clone());
    let errors = [
        table.delete_where(query.clone()).await.unwrap_err(),
        copy.delete_where(query.clone()).await.unwrap_err(),
        table.update_where(query, |row| row.value = 2).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.error().kind(), ErrorKind::InvalidInput, "{error}");
        let text = error.to_string();
        assert!(text.contains("the continuation is of the secondary"), "{text}");
    }
    assert_eq!(account.values().await, [1, 1]);

    // A continuation of the primary is valid for the write.
    let primary = account.counters(LocationMode::PrimaryOnly);
    let page = primary.query().page_size(1).pages().try_next().await.unwrap().unwrap();
    let query = primary.query().resume_from(page.continuation().clone());
    assert_eq!(primary.delete_where(query).await.unwrap().applied(), 1);
}
