//! What is told of all calls of a client while they go on.
//!
//! Owns [`Observer`] and [`Event`]. A meter of costs is `meter.rs`, spans are `trace.rs`; both are made of the same
//! events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::diagnostics::Attempt;
use crate::model::error::ErrorKind;
use crate::model::location::Location;
use crate::protocol::profile::Profile;

/// Hears what the calls of a client do. Called in the calls' own tasks: it should be quick, never wait and never panic.
/// Its `Debug` is shown by [`settings`](crate::TableServiceClient::settings): it must not show secrets.
///
/// ```
/// use azure_table::{Emulator, TableServiceClient};
/// use azure_table::telemetry::{Event, Observer};
///
/// /// Says which attempts were slow.
/// #[derive(Debug)]
/// struct Slow;
///
/// impl Observer for Slow {
///     fn on_event(&self, event: &Event<'_>) {
///         if let Event::Received(attempt) = event {
///             if attempt.elapsed().as_secs() >= 3 {
///                 eprintln!("{attempt}");
///             }
///         }
///     }
/// }
///
/// let service = TableServiceClient::on(Emulator::new()).observer(Slow);
/// ```
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// Something happened.
    fn on_event(&self, event: &Event<'_>);
}

/// The observers of a client.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: impl Observer) {
        self.0.push(Arc::new(observer));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notifies each observer, in the order in which they were added.
    pub(crate) fn notify(&self, event: &Event<'_>) {
        for observer in &self.0 {
            observer.on_event(event);
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Something that happened in a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An attempt begins.
    Sending(Sending<'a>),
    /// An attempt ended, with an answer or without.
    Received(&'a Attempt),
    /// An attempt failed, and the client retries after a wait.
    Retrying {
        /// The operation.
        operation: &'a str,
        /// The number of the failed attempt; 1 is the first.
        attempt: u32,
        /// The wait before the next attempt.
        wait: Duration,
    },
    /// A read found out whether a write was applied whose answer was lost.
    ReadBack {
        /// The operation that writes.
        operation: &'a str,
        /// `None` if the stored rows do not say.
        applied: Option<bool>,
    },
    /// The clock of this machine differs from the service's by more than requests may be old: they are signed with the
    /// service's time from now on.
    ClockCorrected {
        /// What is added to this machine's time, in seconds.
        seconds: i64,
    },
    /// A call ended.
    Completed(Completed<'a>),
    /// The entities of an answer were read.
    Read {
        /// The operation: `get` or `query`.
        operation: &'a str,
        /// The table.
        table: &'a str,
        /// How many.
        entities: usize,
    },
}

/// An attempt that begins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sending<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The table, if the operation is about one.
    pub table: Option<&'a str>,
    /// 1 is the first.
    pub attempt: u32,
    /// Where it goes.
    pub location: Location,
    /// The client's id of the call.
    pub client_request_id: &'a str,
    /// The bytes of its body.
    pub bytes: usize,
}

/// A call that ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completed<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The table, if the operation is about one.
    pub table: Option<&'a str>,
    /// The account, if it is known.
    pub account: Option<&'a str>,
    /// Which service.
    pub profile: Profile,
    /// How many entities it writes.
    pub writes: usize,
    /// With all attempts and waits.
    pub elapsed: Duration,
    /// How many attempts.
    pub attempts: u32,
    /// The status of the last answer; of a failed batch that of the operation that failed.
    pub status: Option<u16>,
    /// The service's code, of a refusal.
    pub code: Option<&'a str>,
    /// Why it failed; `None` if it did not, or if the refusal is an answer in itself, as of a `get` that finds nothing.
    pub error: Option<ErrorKind>,
    /// What all attempts cost, in request units of Cosmos DB.
    pub request_charge: Option<f64>,
}
