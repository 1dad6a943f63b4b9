//! The emulator's service model under load: who asks, what came of it, and what that is held to.
//!
//! Shared by `tests/load`, which looks at minutes, and by the example `simulation`, which looks at longer and draws. All of it runs on
//! a paused clock of one thread, where it comes out the same each time.

pub mod bulk_run;
pub mod check;
pub mod closed_loop;
pub mod study;

pub use bulk_run::{BulkRun, ManyWrites};
pub use check::{Check, Unit};
pub use closed_loop::{ClosedLoop, table};
