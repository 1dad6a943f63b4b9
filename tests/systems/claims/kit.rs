//! A claim of a system, and the four ways to check it.

use std::time::Duration;

use azure_table::testing::{Exploration, explore};
use azure_table::{DynamicEntity, Emulator, TableServiceClient};
use azure_table_tests::Backend;
use azure_table_tests::promises::{Place, Promise, at, under_every_fault};
use futures::future::LocalBoxFuture;

/// The random runs of each claim and fault.
const SEEDS: u64 = 1;
/// The schedules of a claim that states no bound.
const SCHEDULES: u64 = 10_000;
/// The time of one exploration: only the number of schedules ends it, also on a slow machine.
const TIME: Duration = Duration::from_secs(3_600);

/// A sentence of a system's documents or tests, as a program.
///
/// The table of the place exists. Callers use [`Place::table`] with names such as `a` and `b`; checks use
/// [`Place::table_behind`].
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    /// The sentence, as in the guide.
    pub(crate) name: &'static str,
    /// Runs the callers, and checks their results and the stored rows.
    pub(crate) hold: fn(Place) -> LocalBoxFuture<'static, ()>,
    /// The number of callers.
    pub(crate) callers: usize,
    /// The requests or responses that an exploration loses in each run.
    pub(crate) lost: usize,
    /// The schedules after which an exploration stops; `None` if it ends by itself.
    pub(crate) bound: Option<u64>,
    /// The clock jumps by this time once in a run, at any point.
    pub(crate) advance: Option<Duration>,
    /// The callers share only the service, so orders that differ in requests that commute are run once. `false` if they
    /// share memory, such as a history with the times of their calls.
    pub(crate) is_isolated: bool,
    /// It also holds with faults of all kinds.
    pub(crate) is_faulted: bool,
}

impl Claim {
    /// A claim of two callers, of which one request or response is lost.
    pub(crate) const fn new(name: &'static str, hold: fn(Place) -> LocalBoxFuture<'static, ()>) -> Self {
        Self {
            name,
            hold,
            callers: 2,
            lost: 1,
            bound: None,
            advance: None,
            is_isolated: true,
            is_faulted: true,
        }
    }

    async fn hold_on(self, service: TableServiceClient) {
        let place = Place::on_service(service);
        let table = place.table_behind::<DynamicEntity>();
        table.create_table().await.unwrap();
        (self.hold)(place).await;
        table.delete_table().await.unwrap();
    }

    fn explore(self, lost: usize) -> Exploration {
        let mut exploration = explore(at(self.hold))
            .faults(lost)
            .max_schedules(self.bound.unwrap_or(SCHEDULES))
            .max_time(TIME);
        if self.is_isolated {
            exploration = exploration.isolated();
        }
        if let Some(time) = self.advance {
            exploration = exploration.advance(time);
        }
        exploration.run()
    }
}

/// Checks each claim once, without faults.
pub(crate) fn on_the_emulator(claims: &[Claim]) {
    for claim in claims {
        println!("{}", claim.name);
        run((claim.hold)(Place::on_emulator(&Emulator::new())));
    }
}

/// Checks each claim with every fault of `Faults`: once, always, at random.
pub(crate) fn under_faults(claims: &[Claim]) {
    let seeds = std::env::var("AZURE_TABLE_FAULT_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let promises: Vec<_> = claims
        .iter()
        .filter(|claim| claim.is_faulted)
        .map(|claim| Promise {
            name: claim.name,
            hold: claim.hold,
        })
        .collect();
    let result = under_every_fault(promises.iter(), seeds);
    println!(
        "{} runs, {} faults, {} broken",
        result.runs,
        result.hits,
        result.broken.len()
    );
    assert!(result.broken.is_empty(), "{:#?}", result.broken);
    // The transactions of 4 MiB of some claims are not repeated under every fault.
    assert!(
        promises.is_empty() || result.hits > result.runs / 2,
        "the faults were not met"
    );
}

/// Checks each claim in every order of its requests, without and with lost ones. Prints a table.
pub(crate) fn in_every_order(claims: &[Claim]) {
    println!("| claim | callers | lost | schedules | requests | |\n|---|--:|--:|--:|--:|---|");
    for claim in claims {
        for lost in 0..=claim.lost {
            let found = claim.explore(lost);
            if let Some(failure) = found.failure() {
                panic!("{}\n{failure}", claim.name);
            }
            let bound = found.stop_reason().map_or("all".to_owned(), |bound| bound.to_string());
            println!(
                "| {} | {} | {lost} | {} | {} | {bound} |",
                claim.name,
                claim.callers,
                found.schedules(),
                found.requests()
            );
            assert!(
                claim.bound.is_some() || found.is_proof(),
                "{}: {found}; state its `bound`",
                claim.name
            );
        }
    }
}

/// Checks each claim once on Azurite.
pub(crate) fn on_azurite(claims: &[Claim]) {
    let backend = Backend::azurite();
    for claim in claims {
        println!("{}", claim.name);
        run(claim.hold_on(backend.service().clone()));
    }
}

fn run(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future);
}

/// Defines the four tests of a list of claims.
macro_rules! check {
    ($claims:expr) => {
        #[test]
        fn on_the_emulator() {
            crate::kit::on_the_emulator(&$claims);
        }

        #[test]
        fn under_every_fault() {
            crate::kit::under_faults(&$claims);
        }

        #[test]
        fn in_every_order() {
            crate::kit::in_every_order(&$claims);
        }

        #[test]
        #[cfg_attr(
            not(azurite),
            ignore = "needs Azurite: start the tests with tests/external/azurite/run"
        )]
        fn conformance_on_azurite() {
            crate::kit::on_azurite(&$claims);
        }
    };
}
pub(crate) use check;
