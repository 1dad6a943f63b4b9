//! Observers, diagnostics, cost and metrics.
//!
//! With the feature `tracing`, every call and every attempt gets a span. You write no code for it. These are events:
//!
//! | event | level |
//! |---|---|
//! | a call ends, even with an expected 404 or 409, such as a `get` that finds no entity | `DEBUG` |
//! | a call fails | `WARN` |
//! | an attempt is retried | `WARN` |
//!
//! Their target is `azure_table`. By default, `tracing_subscriber::fmt()` prints `INFO` and above, so you see failures
//! and retries. To see all other calls too:
//!
//! ```text
//! tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).init();
//! ```
//!
//! Each line of `tracing_subscriber::fmt()` repeats the fields of all enclosing spans. For one short line per request,
//! add the policy [`HttpLog`](crate::policy::HttpLog) to the client. It does not need the feature:
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
//! Use this module if you want the numbers themselves.
//!
//! | type | use |
//! |---|---|
//! | [`Observer`], [`Event`], [`Sending`], [`Completed`] | receive each attempt as it starts and ends |
//! | [`Diagnostics`], [`Attempt`], [`Location`] | the attempts of one call, which you can also get from its error |
//! | [`OperationContext`] | the diagnostics of a successful call, and your own correlation id |
//! | [`CostMeter`], [`Cost`] | an estimate of billed transactions and bytes |
//! | [`EffectiveSettings`] | the settings of a client, defaults included |
//! | `OtelMetrics` | OpenTelemetry metrics (feature `opentelemetry-033`) |
//!
//! azure_core_opentelemetry 1.1.0-beta.1 has spans only, and depends on opentelemetry 0.32. In a program with both, add
//! opentelemetry 0.33 and its SDK for `OtelMetrics::new`: a meter provider of 0.32 does not fit, and a global one of
//! 0.32 is not seen. Our spans come from `tracing`, so they join those of azure_core through `tracing-opentelemetry`.
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
