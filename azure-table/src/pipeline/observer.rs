//! The events that observers of a client receive while its calls run.
//!
//! Defines [`Observer`] and [`Event`]. From the same events, `observer/meter.rs` counts costs, `observer/metrics.rs`
//! fills instruments, and `observer/trace.rs` records spans. `observer/history.rs` and `observer/context.rs` record
//! attempts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::ErrorKind;
use azure_table_wire::error::diagnostics::Attempt;
use azure_table_wire::value::location::Location;

pub(crate) mod context;
pub(crate) mod history;
pub(crate) mod meter;
#[cfg(feature = "opentelemetry-033")]
pub(crate) mod metrics;
pub(crate) mod trace;

/// Receives the events of a client's calls.
///
/// Observers run in the tasks of the calls, so return quickly, and never block or panic.
/// [`settings`](crate::TableServiceClient::settings) shows the observer's `Debug`, which must not show secrets.
///
/// ```
/// use azure_table::{Emulator, TableServiceClient};
/// use azure_table::telemetry::{Event, Observer};
///
/// /// Prints slow attempts.
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
/// let service = TableServiceClient::from_transport(Emulator::new()).observer(Slow);
/// ```
#[doc(alias("SendingRequest", "ResponseReceived"))]
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// Called for each event.
    fn on_event(&self, event: &Event<'_>);

    /// Returns `true` if the observer reads [`Attempt::header`].
    ///
    /// `false` by default: the client then keeps no headers, which saves an allocation per attempt.
    ///
    /// ```
    /// use azure_table::telemetry::{Event, Observer};
    ///
    /// /// Prints the version of the service that answered.
    /// #[derive(Debug)]
    /// struct Versions;
    ///
    /// impl Observer for Versions {
    ///     fn on_event(&self, event: &Event<'_>) {
    ///         if let Event::Received(attempt) = event {
    ///             println!("{:?}", attempt.header("x-ms-version"));
    ///         }
    ///     }
    ///
    ///     fn reads_headers(&self) -> bool {
    ///         true
    ///     }
    /// }
    /// ```
    fn reads_headers(&self) -> bool {
        false
    }
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

    /// Returns `true` if an observer reads the headers of responses.
    pub(crate) fn read_headers(&self) -> bool {
        self.0.iter().any(|observer| observer.reads_headers())
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

/// An event of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An attempt starts.
    Sending(Sending<'a>),
    /// An attempt ended, with or without a response.
    Received(&'a Attempt),
    /// An attempt failed, and the client retries after a wait.
    Retrying {
        /// The operation.
        operation: &'a str,
        /// Its name in telemetry: see [`Completed::telemetry_name`].
        telemetry_name: &'a str,
        /// The number of the failed attempt; 1 is the first.
        attempt: u32,
        /// The wait before the next attempt.
        wait: Duration,
    },
    /// The client read back a write whose response was lost.
    ReadBack {
        /// The writing operation.
        operation: &'a str,
        /// `true` if the write was applied, `false` if no attempt was or will be applied, or `None` if the stored rows
        /// do not decide.
        applied: Option<bool>,
    },
    /// The client corrected its clock.
    ///
    /// This machine's clock differs too much from the service's. From now on, the client signs requests with the
    /// service's time.
    ClockCorrected {
        /// The correction that is added to this machine's time, in seconds.
        seconds: i64,
    },
    /// A call ended.
    Completed(Completed<'a>),
    /// The client decoded the entities of a response.
    Read {
        /// The operation: `get` or `query`.
        operation: &'a str,
        /// The table.
        table: &'a str,
        /// The number of entities.
        entities: usize,
    },
}

/// An attempt that starts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sending<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The table, if the operation addresses one.
    pub table: Option<&'a str>,
    /// The number of the attempt, starting at 1.
    pub attempt: u32,
    /// The location that the attempt is sent to.
    pub location: Location,
    /// The client's id of the call.
    pub client_request_id: &'a str,
    /// The size of the request body in bytes.
    pub bytes: usize,
}

/// A completed call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completed<'a> {
    /// The operation.
    pub operation: &'a str,
    /// Its name in `db.operation.name` of spans and metrics.
    ///
    /// The name of the operation, except for a batch: `BATCH insert` if all of its operations are inserts, otherwise
    /// `BATCH`. On Cosmos DB every batch is `execute_batch`, the name that OpenTelemetry has registered.
    pub telemetry_name: &'a str,
    /// The table, if the operation addresses one.
    pub table: Option<&'a str>,
    /// The account, if it is known.
    pub account: Option<&'a str>,
    /// The service behind the endpoint.
    pub profile: Profile,
    /// The number of entities that the call writes.
    pub writes: usize,
    /// The duration of the call, including all attempts and waits.
    pub elapsed: Duration,
    /// The number of attempts.
    pub attempts: u32,
    /// `true` if a response was lost, and the client read the rows back and found that the write was applied.
    pub is_read_back: bool,
    /// The HTTP status of the last response; for a failed batch, of the operation that failed. `None` if the write was
    /// read back.
    pub status: Option<u16>,
    /// The service's error code, if it rejected the request.
    pub code: Option<&'a str>,
    /// The kind of the error, or `None` if the call did not fail.
    ///
    /// Also `None` if the rejection is a valid result, such as the 404 of a `get` that finds nothing.
    pub error: Option<ErrorKind>,
    /// The kind of the last failure, even of a write in doubt. Telemetry names it in `error.type`.
    pub last_failure: Option<ErrorKind>,
    /// The cost of all attempts in request units of Cosmos DB.
    pub request_charge: Option<f64>,
}
