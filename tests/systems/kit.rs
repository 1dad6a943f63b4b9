//! A claim of a system, and the five ways to check it.

use std::sync::Mutex;
use std::time::Duration;

use azure_table::testing::{Exploration, explore};
#[cfg(feature = "suite")]
use azure_table::{DynamicEntity, TableServiceClient};
#[cfg(feature = "suite")]
use azure_table_tests::Backend;
use azure_table_tests::promises::{Place, Promise, Traffic, adverse_seeds, on_adverse_services, under_every_fault};
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
    /// The function, whose name is in the guide.
    pub(crate) test: &'static str,
    /// Runs the callers, and checks their results and the stored rows.
    hold: fn(Place) -> LocalBoxFuture<'static, ()>,
    /// The callers that have requests in flight at the same time.
    pub(crate) callers: usize,
    /// The most requests of a schedule without a lost one.
    pub(crate) requests: usize,
    /// The number of schedules without a lost request or response, and with one, such as `2 / 15`. `+` is a bound.
    pub(crate) schedules: &'static str,
    /// The runs after which an exploration stops; `None` if it ends by itself.
    bound: Option<u64>,
    /// The clock jumps by this time once in a run, at any point.
    advance: Option<Duration>,
    /// The callers share only the service, so orders that differ in requests that commute are run once. `false` if they
    /// share memory, such as a history with the times of their calls.
    is_isolated: bool,
    /// It also holds with faults of all kinds.
    pub(crate) is_faulted: bool,
}

impl Claim {
    /// A claim of two callers.
    pub(crate) const fn new(
        name: &'static str,
        test: &'static str,
        hold: fn(Place) -> LocalBoxFuture<'static, ()>,
    ) -> Self {
        Self {
            name,
            test,
            hold,
            callers: 2,
            requests: 0,
            schedules: "",
            bound: None,
            advance: None,
            is_isolated: true,
            is_faulted: true,
        }
    }

    pub(crate) const fn callers(mut self, callers: usize) -> Self {
        self.callers = callers;
        self
    }

    /// Sets the most requests of a schedule, and the number of schedules.
    pub(crate) const fn explored(mut self, requests: usize, schedules: &'static str) -> Self {
        (self.requests, self.schedules) = (requests, schedules);
        self
    }

    pub(crate) const fn bound(mut self, runs: u64) -> Self {
        self.bound = Some(runs);
        self
    }

    pub(crate) const fn advance(mut self, time: Duration) -> Self {
        self.advance = Some(time);
        self
    }

    /// Its callers share memory.
    pub(crate) const fn shares_memory(mut self) -> Self {
        self.is_isolated = false;
        self
    }

    /// It does not hold with faults other than a lost request or response, or meets none.
    pub(crate) const fn without_faults(mut self) -> Self {
        self.is_faulted = false;
        self
    }

    #[cfg(feature = "suite")]
    async fn hold_on(self, service: TableServiceClient) {
        let place = Place::on_service(service);
        let table = place.table_behind::<DynamicEntity>();
        table.create_table().await.unwrap();
        (self.hold)(place).await;
        table.delete_table().await.unwrap();
    }

    /// Explores the claim with up to this many lost requests per run. Returns the traffic of the busiest schedule too.
    fn explore(self, lost: usize) -> (Exploration, Traffic) {
        let busiest = Mutex::new(Traffic::default());
        let body = async |simulation| {
            let mut place = Place::explored(simulation);
            place.is_faultless = lost == 0;
            let meter = place.meter();
            (self.hold)(place).await;
            let mut busiest = busiest.lock().unwrap();
            *busiest = busiest.max(meter.traffic());
        };
        let mut exploration = explore(body)
            .faults(lost)
            .max_schedules(self.bound.unwrap_or(SCHEDULES))
            .max_time(TIME);
        if self.is_isolated {
            exploration = exploration.isolated();
        }
        if let Some(time) = self.advance {
            exploration = exploration.advance(time);
        }
        let found = exploration.run();
        (found, busiest.into_inner().unwrap())
    }
}

/// Returns the number with commas.
pub(crate) fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1_000), number % 1_000),
    }
}

/// Checks each claim once, without faults.
pub(crate) fn on_the_emulator(claims: &[Claim]) {
    for claim in claims {
        println!("{}", claim.name);
        run(true, async { (claim.hold)(Place::on_emulator()).await });
    }
}

/// Checks each claim with every fault of `Faults`: once, always, at random.
pub(crate) fn under_faults(claims: &[Claim]) {
    let seeds = std::env::var("AZURE_TABLE_FAULT_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let promises = faulted(claims);
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

fn faulted(claims: &[Claim]) -> Vec<Promise> {
    let claims = claims.iter().filter(|claim| claim.is_faulted);
    let promises = claims.map(|claim| Promise {
        name: claim.name,
        hold: claim.hold,
    });
    promises.collect()
}

/// Checks each claim on services that do their worst.
pub(crate) fn on_services_at_their_worst(claims: &[Claim]) {
    let runs = on_adverse_services(faulted(claims).iter(), adverse_seeds());
    assert!(runs.broken.is_empty(), "{runs:#?}");
}

/// Checks each claim in every order of its requests, without and with lost ones, and its numbers.
pub(crate) fn in_every_order(claims: &[Claim]) {
    let mut differing = Vec::new();
    for claim in claims {
        let mut schedules: Vec<String> = Vec::new();
        let mut traffic = Traffic::default();
        for lost in 0..claim.schedules.split(" / ").count() {
            let is_complete = !schedules.iter().any(|schedules| schedules.ends_with('+'));
            assert!(
                is_complete,
                "{}: the bound is reached before a request is lost",
                claim.name
            );
            let (found, busiest) = claim.explore(lost);
            if let Some(failure) = found.failure() {
                panic!("{}\n{failure}", claim.name);
            }
            assert!(
                claim.bound.is_some() || found.is_proof(),
                "{}: {found}; state its `bound`",
                claim.name
            );
            println!("{}, {lost} lost: {found}", claim.name);
            let bound = found.stop_reason().map_or("", |_| "+");
            schedules.push(format!("{}{bound}", thousands(found.schedules())));
            if lost == 0 {
                traffic = busiest;
            }
        }
        let found = (traffic.callers.max(1), traffic.requests, schedules.join(" / "));
        if found != (claim.callers, claim.requests, claim.schedules.to_owned()) {
            differing.push(format!("{}: {found:?}", claim.name));
        }
    }
    assert!(
        differing.is_empty(),
        "other callers, requests and schedules: {differing:#?}"
    );
}

/// Checks each claim once on Azurite.
#[cfg(feature = "suite")]
pub(crate) fn on_azurite(claims: &[Claim]) {
    let backend = Backend::azurite();
    for claim in claims {
        println!("{}", claim.name);
        run(false, claim.hold_on(backend.service().clone()));
    }
}

/// Runs a claim. On an emulator, tokio's clock is paused: waiting for the end of a lease takes no time.
fn run(is_paused: bool, claim: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(is_paused)
        .build()
        .unwrap();
    runtime.block_on(claim);
}

/// A claim that a function checks.
macro_rules! claim {
    ($name:literal, $test:path) => {
        crate::kit::Claim::new($name, stringify!($test), |place| Box::pin($test(place)))
    };
}
pub(crate) use claim;

/// Defines the five tests of a list of claims.
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
        fn on_services_at_their_worst() {
            crate::kit::on_services_at_their_worst(&$claims);
        }

        #[test]
        fn in_every_order() {
            crate::kit::in_every_order(&$claims);
        }

        #[cfg(feature = "suite")]
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
