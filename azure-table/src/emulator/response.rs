//! Responses: outcomes as HTTP, and what observers see of them.
//!
//! Headers are `response/answer.rs`, the JSON of entities `response/payload.rs`, errors `response/error.rs`.

pub(crate) mod answer;
mod error;
pub(crate) mod observer;
pub(crate) mod payload;
