//! The items that the code of `#[azure_table::test]` uses.
//!
//! They are the runtime of a test, its emulator behind the transports, and the traits of a test's arguments:
//! [`TestArgument`] and [`ExploreArgument`].
//!
//! The attribute determines each argument by its type through a trait, so that aliases work and the compiler reports an
//! unsupported type with our message. Each test has one stack of spy, faults and emulator. The runtime is built here,
//! so a test crate does not need tokio. A table has the name of its argument, because a type may have several tables.

use std::future::Future;
use std::pin::Pin;

use azure_table_emulator::Emulator;
use azure_table_testing::{Faults, Spy};
use tokio::runtime::Builder;

use crate::client::service::TableServiceClient;
use crate::client::table_handle::TableClient;
use crate::explore::Simulation;

/// The options of the attribute and of the arguments.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Tokio's clock stops while any task can run.
    pub start_paused: bool,
    /// The service is Cosmos DB.
    pub cosmos: bool,
    /// An argument is a [`Spy`], which records the requests.
    pub spies: bool,
}

/// The service of one test. A request passes the spy, if any, then the faults, then the emulator.
#[derive(Debug)]
pub struct Place {
    emulator: Emulator,
    faults: Faults,
    spy: Option<Spy>,
    service: TableServiceClient,
}

impl Place {
    fn new(options: Options) -> Self {
        let emulator = if options.cosmos {
            Emulator::cosmos()
        } else {
            Emulator::new()
        };
        let faults = Faults::new(emulator.clone());
        let spy = options.spies.then(|| Spy::new(faults.clone()));
        let service = match &spy {
            Some(spy) => TableServiceClient::from_transport(spy.clone()),
            None => TableServiceClient::from_transport(faults.clone()),
        };
        Self {
            emulator,
            faults,
            spy,
            service,
        }
    }
}

/// Runs a test to completion, on its own runtime.
///
/// # Panics
/// The runtime cannot be created.
#[expect(clippy::panic, reason = "a test says what failed by panicking")]
pub fn run<T>(options: Options, test: impl AsyncFnOnce(Place) -> T) -> T {
    let mut outcome = None;
    let place = Place::new(options);
    block_on(options, Box::pin(async { outcome = Some(test(place).await) }));
    match outcome {
        Some(outcome) => outcome,
        None => panic!("the runtime of the test ended before it"),
    }
}

/// Runs a test to completion. Not generic, so that the runtime's code is compiled once.
#[expect(clippy::panic, reason = "a test says what failed by panicking")]
fn block_on(options: Options, test: Pin<Box<dyn Future<Output = ()> + '_>>) {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(options.start_paused);
    match builder.build() {
        Ok(runtime) => runtime.block_on(test),
        Err(e) => panic!("the runtime of the test cannot be created: {e}"),
    }
}

/// An argument of a test.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument of a test",
    label = "not an argument of `#[azure_table::test]`",
    note = "a test takes any number of these arguments, by value: TableServiceClient, TableClient<E>, Emulator, Faults, Spy"
)]
pub trait TestArgument: Sized {
    /// `true` for the [`Spy`].
    const SPIES: bool = false;

    /// Creates the argument. A table gets this name.
    fn create(place: &Place, table: &str) -> impl Future<Output = Self>;
}

impl TestArgument for TableServiceClient {
    async fn create(place: &Place, _: &str) -> Self {
        place.service.clone()
    }
}

impl TestArgument for Emulator {
    async fn create(place: &Place, _: &str) -> Self {
        place.emulator.clone()
    }
}

impl TestArgument for Faults {
    async fn create(place: &Place, _: &str) -> Self {
        place.faults.clone()
    }
}

impl TestArgument for Spy {
    const SPIES: bool = true;

    async fn create(place: &Place, _: &str) -> Self {
        // The options guarantee a spy.
        place.spy.clone().unwrap_or_else(|| Spy::new(place.faults.clone()))
    }
}

impl<E> TestArgument for TableClient<E> {
    #[expect(clippy::panic, reason = "a test says what failed by panicking")]
    async fn create(place: &Place, table: &str) -> Self {
        // Bypasses faults and spy: creating the table is not part of the test.
        let made = match TableServiceClient::from_transport(place.emulator.clone()).dynamic_table(table) {
            Ok(table) => table.create_table().await,
            Err(e) => Err(e),
        };
        match made.and_then(|()| place.service.table(table)) {
            Ok(table) => table,
            Err(e) => panic!("the table of the test cannot be created: {e}"),
        }
    }
}

/// An argument of `#[azure_table::test(explore)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument of an exploration",
    label = "not an argument of `#[azure_table::test(explore)]`",
    note = "an exploration takes any number of these arguments, by value: Simulation, TableServiceClient, TableClient<E>, Emulator"
)]
pub trait ExploreArgument: Sized {
    /// Returns the argument. A table gets this name.
    fn create(simulation: &Simulation, table: &str) -> Self;
}

impl ExploreArgument for Simulation {
    fn create(simulation: &Simulation, _: &str) -> Self {
        simulation.clone()
    }
}

impl ExploreArgument for TableServiceClient {
    fn create(simulation: &Simulation, _: &str) -> Self {
        simulation.service()
    }
}

impl ExploreArgument for Emulator {
    fn create(simulation: &Simulation, _: &str) -> Self {
        simulation.emulator().clone()
    }
}

impl<E> ExploreArgument for TableClient<E> {
    fn create(simulation: &Simulation, table: &str) -> Self {
        simulation.table(table)
    }
}
