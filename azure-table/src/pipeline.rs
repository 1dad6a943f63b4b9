//! One call, attempt by attempt: authorize, send, classify, wait.
//!
//! Owns the loop (`run`), what it completes a request with (`prepare`), the seam to the network (`transport`) and its
//! default (`http`), the credentials (`auth`), the decision whether to try again (`retry`), what one call (`options`) and all
//! calls of a client (`settings`) may wish, and the story of a call (`context`). Does not know what a request means:
//! `protocol`.

mod attempt;
pub(crate) mod auth;
pub(crate) mod context;
pub(crate) mod deadline;
pub(crate) mod http;
pub(crate) mod location;
pub(crate) mod meter;
#[cfg(feature = "otel")]
pub(crate) mod metrics;
pub(crate) mod observer;
pub(crate) mod options;
pub(crate) mod prepare;
mod resolve;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod settings;
mod skew;
pub(crate) mod story;
mod told;
#[cfg(feature = "tracing")]
mod trace;
pub(crate) mod transport;
