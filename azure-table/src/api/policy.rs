//! Hooks around each request, to add headers, log, count, delay or reject.
//!
//! | type | use |
//! |---|---|
//! | [`RequestPolicy`] | hooks before and after each request |
//! | [`PolicyRequest`], [`RequestEnd`], [`PolicyResult`] | the arguments of the hooks, and their return value |
//! | [`HttpLog`] | a policy that logs one line per request |
//! | `TraceContext` | a policy that propagates the OpenTelemetry trace context (feature `opentelemetry-033`) |
//!
//! To see events without changing requests, implement [`Observer`](crate::telemetry::Observer). To send requests your
//! own way, implement [`Transport`](crate::transport::Transport).
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
