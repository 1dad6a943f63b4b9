//! The public modules.
//!
//! Owns the pages of the modules whose types live in several layers: each names its types, and when to use them. The
//! module `emulator` is a layer itself, and `lib.rs` exports the names of a typical program. Each name has one path.

pub mod auth;
pub mod batch;
pub mod bulk;
pub mod entity;
pub mod filter;
pub mod key;
pub mod operation;
pub mod query;
pub mod retry;
pub mod service;
pub mod telemetry;
pub mod transport;
