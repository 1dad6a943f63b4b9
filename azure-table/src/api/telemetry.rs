//! Observers, diagnostics, cost and metrics.
//!
//! With the feature `tracing`, every call and every attempt is a span, without further code. These are events:
//!
//! | event | level |
//! |---|---|
//! | the end of a call, including a regular 404 or 409, such as from a `get` that finds no entity | `DEBUG` |
//! | the end of a call that failed | `WARN` |
//! | a retry | `WARN` |
//!
//! Their target is `azure_table`. By default, `tracing_subscriber::fmt()` prints `INFO` and above, which includes the
//! failures and the retries. This also prints the other calls:
//!
//! ```text
//! tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).init();
//! ```
//!
//! A line of `tracing_subscriber::fmt()` repeats the fields of the spans around it. For a short line for each request,
//! with the feature or without, add the policy [`HttpLog`](crate::policy::HttpLog) to the client:
//!
//! ```
//! use azure_table::policy::HttpLog;
//! use azure_table::{CallOptions, Emulator, TableServiceClient};
//! let log = CallOptions::new().policy(HttpLog::new(|line| eprintln!("{line}")));
//! let service = TableServiceClient::from_transport(Emulator::new()).with(&log);
//! ```
//!
//! Spans and events carry the operation, the table, the status, the service's code and the ids of the request, under
//! OpenTelemetry's names. They never contain a key, a filter, a value, or the text of an error.
//!
//! This module is for programs that want the numbers themselves.
//!
//! | type | use |
//! |---|---|
//! | [`Observer`], [`Event`], [`Sending`], [`Completed`] | receive each attempt as it starts and ends |
//! | [`Diagnostics`], [`Attempt`], [`Location`] | the attempts of one call, which its error has too |
//! | [`OperationContext`] | the diagnostics of a successful call, a correlation id of your own |
//! | [`CostMeter`], [`Cost`] | an estimate of billed transactions and bytes |
//! | [`EffectiveSettings`] | the settings of a client after all defaults |
//! | `OtelMetrics` | OpenTelemetry metrics (feature `opentelemetry-033`) |
//!
//! # Examples
//!
//! ```
//! use azure_table::telemetry::CostMeter;
//! use azure_table::{Emulator, TableServiceClient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let meter = CostMeter::new();
//! let service = TableServiceClient::from_transport(Emulator::new()).observer(meter.clone());
//! service.dynamic_table("Blogs")?.create_table().await?;
//! println!("{:?}", meter.total());
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use azure_table_wire::error::diagnostics::{Attempt, Diagnostics};
#[doc(inline)]
pub use azure_table_wire::value::location::Location;

pub use crate::client::effective_settings::EffectiveSettings;
pub use crate::pipeline::observer::context::OperationContext;
pub use crate::pipeline::observer::meter::{Cost, CostMeter};
#[cfg(feature = "opentelemetry-033")]
pub use crate::pipeline::observer::metrics::OtelMetrics;
pub use crate::pipeline::observer::{Completed, Event, Observer, Sending};
