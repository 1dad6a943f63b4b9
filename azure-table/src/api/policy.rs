//! Code of the application around each request: headers, logs, counters, delays, rejections.
//!
//! | type | use |
//! |---|---|
//! | [`RequestPolicy`] | hooks before and after each request |
//! | [`PolicyRequest`], [`RequestEnd`], [`PolicyResult`] | what they see and return |
//! | [`HttpLog`] | a policy that writes a line for each request |
//! | `TraceContext` | a policy that sends the trace context of OpenTelemetry (feature `opentelemetry-033`) |
//!
//! To see events without changing requests, implement [`Observer`](crate::telemetry::Observer). To send requests in
//! another way, implement [`Transport`](crate::transport::Transport).
//!
//! # Examples
//!
//! ```
//! use azure_table::policy::HttpLog;
//! use azure_table::{CallOptions, Emulator, TableServiceClient};
//! let log = HttpLog::new(|line| eprintln!("{line}")).header("x-ms-request-id");
//! let service = TableServiceClient::from_transport(Emulator::new()).with(&CallOptions::new().policy(log));
//! ```

pub use crate::pipeline::options::policy::http_log::HttpLog;
#[cfg(feature = "opentelemetry-033")]
pub use crate::pipeline::options::policy::trace_context::TraceContext;
pub use crate::pipeline::options::policy::{PolicyRequest, PolicyResult, RequestEnd, RequestPolicy};
