//! The public modules.
//!
//! The page of each module lists its types and when to use them. `lib.rs` exports the names that a typical program
//! needs. Each name has exactly one path.

pub mod auth;
pub mod batch;
pub mod bulk;
#[cfg(feature = "emulator")]
pub mod emulator;
pub mod index;
pub mod operation;
pub mod policy;
pub mod query;
pub mod retry;
pub mod service;
pub mod telemetry;
#[cfg(feature = "test-util")]
pub mod testing;
pub mod transport;
