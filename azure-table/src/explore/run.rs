//! One run of an exploration's body.
//!
//! A run has its own runtime with a paused clock. Its panics are not printed: a failed run is reported once, at the
//! end.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::pin::pin;
use std::sync::{Arc, Mutex, Once};
use std::task::Poll;
use std::time::Duration;

use azure_table_emulator::Emulator;
use azure_table_emulator::EmulatorClock;
use azure_table_testing::explore::dated_rows::TimestampWatch;
use azure_table_testing::explore::gate::{Chooser, Gate};
use azure_table_testing::explore::search::{Finished, Runner};
use azure_table_wire::value::clock;
use azure_table_wire::value::datetime::DateTime;
use tokio::runtime::Builder;

use crate::explore::simulation::Simulation;

/// The delay of a timer that fires only if no other timer fires and no request waits.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The seed of jitter, ids and boundaries, equal in all runs. Each life of a process has the next one.
pub(super) const SEED: u64 = 17;

/// The output of an exploration's body: nothing, or a `Result` whose error fails the run.
pub trait RunOutput {
    /// Returns the error, if any.
    #[doc(hidden)]
    fn failure(self) -> Option<String>;
}

impl RunOutput for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Debug> RunOutput for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|e| format!("the body returned the error {e:?}"))
    }
}

/// The runs of a body.
pub(super) struct Runs<'a, B> {
    pub(super) body: &'a B,
    pub(super) is_cosmos: bool,
    /// The seed of an adverse service.
    pub(super) adverse: Option<u64>,
    /// The jumps of the clock, in order.
    pub(super) advances: &'a [Duration],
    /// The time of the service's clock at the start of each run.
    pub(super) started: DateTime,
}

impl<T: RunOutput, B: AsyncFn(Simulation) -> T> Runner for Runs<'_, B> {
    fn run(&mut self, chooser: Arc<Mutex<dyn Chooser>>, tells: bool) -> Finished {
        let gate = Gate::new(chooser, tells);
        let watch = TimestampWatch::default();
        let emulator = if self.is_cosmos {
            Emulator::cosmos()
        } else {
            Emulator::new()
        };
        let emulator = emulator
            .shared_clock(EmulatorClock::fixed(self.started))
            .accepting_old_requests()
            .responding_with(watch.clone());
        let run = || {
            let mut output = None;
            fastrand::seed(SEED);
            block_on(&gate, self.advances, async {
                let simulation = Simulation::new(emulator, self.adverse, gate.clone());
                output = Some((self.body)(simulation).await);
            });
            output
        };
        let outcome = quietly(run);
        let ran = gate.finish();
        let failure = match outcome {
            Err(message) => Some(message),
            Ok(Some(output)) => output.failure(),
            Ok(None) if ran.end.is_some() => None,
            Ok(None) => Some("no task can continue: no request is waiting, and no timer is left".to_owned()),
        };
        let dated = watch.take();
        Finished { ran, failure, dated }
    }
}

/// Runs `body` until it ends, the gate ends it, or all tasks are blocked.
#[expect(clippy::panic, reason = "a test says what failed by panicking")]
fn block_on(gate: &Gate, advances: &[Duration], body: impl Future<Output = ()>) {
    let at_rest = gate.clone();
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    builder.on_thread_park(move || at_rest.at_rest());
    let runtime = match builder.build() {
        Ok(runtime) => runtime,
        Err(e) => panic!("the runtime of the test cannot be created: {e}"),
    };
    runtime.block_on(async {
        let (mut body, mut never) = (pin!(body), pin!(tokio::time::sleep(NEVER)));
        let (mut advances, mut advance) = (advances.iter(), pin!(None));
        clock::without_pauses(poll_fn(|cx| {
            if gate.takes_clock() {
                advance.set(advances.next().map(|time| tokio::time::advance(*time)));
            }
            if advance
                .as_mut()
                .as_pin_mut()
                .is_some_and(|advance| advance.poll(cx).is_ready())
            {
                advance.set(None);
            }
            if gate.poll_end(cx).is_ready() || never.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            body.as_mut().poll(cx)
        }))
        .await;
    });
}

thread_local! {
    /// The text of the last panic of this thread, while a run keeps panics quiet.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `run` and returns the text of its panic without printing it: a failed run is reported once, at the end.
fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if IS_QUIET.get() {
                PANIC.set(Some(said(panic)))
            } else {
                others(panic)
            }
        }));
    });
    IS_QUIET.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    IS_QUIET.set(false);
    outcome.map_err(|_| PANIC.take().unwrap_or_else(|| "the body panicked".to_owned()))
}

/// Returns the message of a panic and its location.
fn said(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = message.unwrap_or("the body panicked");
    match panic.location() {
        Some(place) => format!("{message}\n(panicked at {}:{})", place.file(), place.line()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use azure_table_testing::explore::races::Dependence;
    use azure_table_testing::explore::tree::{Allowance, Tree};

    use super::*;

    #[test]
    fn run_frees_its_runtime() {
        let dependence = Dependence {
            is_isolated: true,
            dated: Arc::default(),
            cancelling: Arc::default(),
        };
        let allowance = Allowance {
            faults: 0,
            late: 0,
            crashes: 0,
            clock: 0,
        };
        let chooser = Arc::new(Mutex::new(Tree::new(dependence, allowance)));
        let mut runs = Runs {
            body: &async |simulation: Simulation| drop(simulation.service().list_tables().all().await),
            is_cosmos: false,
            adverse: None,
            advances: &[],
            started: DateTime::now(),
        };
        let held = Arc::downgrade(&chooser);
        assert_eq!(runs.run(chooser, false).ran.events.len(), 1);
        assert!(
            held.upgrade().is_none(),
            "the runtime still holds the gate and its chooser"
        );
    }
}
