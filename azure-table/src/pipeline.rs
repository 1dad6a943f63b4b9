//! One call, attempt by attempt: authorize, send, classify, wait.
//!
//! Owns the loop (`run`), the seam to the network (`transport`) and its default (`http`), the credentials (`auth`) and
//! the decision whether to try again (`retry`). Does not know what a request means: `protocol`.

pub(crate) mod auth;
pub(crate) mod http;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod transport;
