//! What the code of `#[azure_table::test]` calls.
//!
//! Owns the runtime of a test, its emulator with what stands before it, and [`TestArgument`]: what a test can be given
//! of that.
//!
//! A test gets what it names: the attribute asks the type of each argument by a trait, so aliases work and a wrong one
//! is reported by the compiler in our words. Spy, faults and emulator of a test are one stack. The runtime is built
//! here, so a test crate needs no tokio. A table has the name of its argument, since a type may have several tables.

use std::future::Future;
use std::pin::Pin;

use tokio::runtime::Builder;

use crate::client::service::TableServiceClient;
use crate::client::table::TableClient;
use crate::emulator::in_process::Emulator;
use crate::testing::{Faults, Spy};

/// What the attribute and the arguments say.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Tokio's clock stands still until all wait.
    pub start_paused: bool,
    /// The service is Cosmos DB.
    pub cosmos: bool,
    /// An argument wants to see what is sent.
    pub spies: bool,
}

/// The service of one test. From the client: the spy, if there is one, the faults, the emulator.
#[derive(Debug)]
pub struct Place {
    emulator: Emulator,
    faults: Faults,
    spy: Option<Spy>,
    service: TableServiceClient,
}

impl Place {
    fn new(options: Options) -> Self {
        let emulator = match options.cosmos {
            true => Emulator::cosmos(),
            false => Emulator::new(),
        };
        let faults = Faults::new(emulator.clone());
        let spy = options.spies.then(|| Spy::new(faults.clone()));
        let service = match &spy {
            Some(spy) => TableServiceClient::on(spy.clone()),
            None => TableServiceClient::on(faults.clone()),
        };
        Self {
            emulator,
            faults,
            spy,
            service,
        }
    }
}

/// Runs a test to its end, on a runtime of its own.
///
/// # Panics
/// The runtime cannot be made.
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

/// Runs a test to its end. Compiled here and once, as it brings all of a runtime.
#[expect(clippy::panic, reason = "a test says what failed by panicking")]
fn block_on(options: Options, test: Pin<Box<dyn Future<Output = ()> + '_>>) {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(options.start_paused);
    match builder.build() {
        Ok(runtime) => runtime.block_on(test),
        Err(e) => panic!("the runtime of the test cannot be made: {e}"),
    }
}

/// What a test can be given.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not given to a test",
    label = "not an argument of `#[azure_table::test]`",
    note = "a test is given a TableServiceClient, a TableClient<E>, an Emulator, Faults or a Spy, by value, and as many of them as it wants"
)]
pub trait TestArgument: Sized {
    /// Whether it is the [`Spy`].
    const SPIES: bool = false;

    /// Makes it, a table with this name.
    fn given(place: &Place, table: &str) -> impl Future<Output = Self>;
}

impl TestArgument for TableServiceClient {
    async fn given(place: &Place, _: &str) -> Self {
        place.service.clone()
    }
}

impl TestArgument for Emulator {
    async fn given(place: &Place, _: &str) -> Self {
        place.emulator.clone()
    }
}

impl TestArgument for Faults {
    async fn given(place: &Place, _: &str) -> Self {
        place.faults.clone()
    }
}

impl TestArgument for Spy {
    const SPIES: bool = true;

    async fn given(place: &Place, _: &str) -> Self {
        // The options say that there is one.
        place.spy.clone().unwrap_or_else(|| Spy::new(place.faults.clone()))
    }
}

impl<E> TestArgument for TableClient<E> {
    #[expect(clippy::panic, reason = "a test says what failed by panicking")]
    async fn given(place: &Place, table: &str) -> Self {
        // Behind faults and spy: that there is a table is no part of the test.
        let made = match TableServiceClient::on(place.emulator.clone()).dynamic_table(table) {
            Ok(table) => table.create_table().await,
            Err(e) => Err(e),
        };
        match made.and_then(|()| place.service.table(table)) {
            Ok(table) => table,
            Err(e) => panic!("the table of the test cannot be made: {e}"),
        }
    }
}
