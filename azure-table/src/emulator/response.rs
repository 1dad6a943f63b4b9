//! Responses: outcomes as HTTP, and who is told of them.
//!
//! Owns nothing itself: headers are `response/answer.rs`, the JSON of entities `response/payload.rs`, errors `response/error.rs`.

pub(crate) mod answer;
pub(crate) mod error;
pub(crate) mod observer;
pub(crate) mod payload;
