//! Retry policies decide which failed attempts are retried, and when.
//!
//! Most programs need only the policies at the crate root: [`ExponentialRetry`](crate::ExponentialRetry) (the default),
//! [`LinearRetry`](crate::LinearRetry), [`NoRetry`](crate::NoRetry). This module has decorators for them, and the types
//! for writing your own policy.
//!
//! | type | use |
//! |---|---|
//! | [`LimitAttempts`], [`LimitElapsed`] | limit any policy by attempts or by elapsed time |
//! | [`WithBudget`], [`RetryBudget`] | a retry budget for the whole client, which prevents retry storms |
//! | [`FailedAttempt`], [`Decision`] | the input and output of your own policy |
//!
//! # Examples
//!
//! A policy that retries only throttled attempts:
//!
//! ```
//! use azure_table::retry::{Decision, FailedAttempt};
//! use azure_table::{Emulator, RetryPolicy, TableServiceClient};
//! use std::time::Duration;
//!
//! #[derive(Debug)]
//! struct OnThrottling;
//!
//! impl RetryPolicy for OnThrottling {
//!     fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
//!         if failed.status() == Some(503) && failed.attempt() < 5 {
//!             Decision::after(Duration::from_secs(1))
//!         } else {
//!             Decision::Stop
//!         }
//!     }
//! }
//!
//! let service = TableServiceClient::from_transport(Emulator::new()).retry(OnThrottling);
//! # let _ = service;
//! ```
//!
//! [The retries guide](crate::guide::retries) explains which writes are safe to repeat.

pub use crate::pipeline::retry::budget::RetryBudget;
pub use crate::pipeline::retry::decorator::{LimitAttempts, LimitElapsed, WithBudget};
pub use crate::pipeline::retry::{Decision, FailedAttempt};
