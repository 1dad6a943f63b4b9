//! Retry policies decide which failed attempts are retried, and when.
//!
//! The policies of most programs are at the root: [`ExponentialRetry`](crate::ExponentialRetry) (the default),
//! [`LinearRetry`](crate::LinearRetry), [`NoRetry`](crate::NoRetry). This module has their decorators, and the parts
//! for a policy of your own.
//!
//! | type | use |
//! |---|---|
//! | [`LimitAttempts`], [`LimitElapsed`] | bound any policy by number or by time |
//! | [`WithBudget`], [`RetryBudget`] | a share of retries for the whole client, against retry storms |
//! | [`FailedAttempt`], [`Decision`] | the input and the output of a policy of your own |
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
//! What is safe to repeat: [the guide to retries](crate::guide::retries).

pub use crate::pipeline::retry::budget::RetryBudget;
pub use crate::pipeline::retry::decorator::{LimitAttempts, LimitElapsed, WithBudget};
pub use crate::pipeline::retry::{Decision, FailedAttempt};
