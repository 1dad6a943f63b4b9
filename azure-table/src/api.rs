//! The public modules.
//!
//! Owns the pages of those whose types live in several layers: each names its types, and says when to use which. The
//! modules `filter` and `emulator` are layers of their own, the names of a typical program stand at the root
//! (`lib.rs`). A name has one path.

pub mod auth;
pub mod batch;
pub mod bulk;
pub mod entity;
pub mod key;
pub mod operation;
pub mod query;
pub mod retry;
pub mod service;
pub mod telemetry;
pub mod transport;
