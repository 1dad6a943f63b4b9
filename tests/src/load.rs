//! The emulator's service model under load: callers, results, and bars.
//!
//! Shared by `tests/it/load`, which runs minutes, and by the example `simulation`, which runs longer and draws bulks.
//! All of it runs on a paused clock of one thread, with the same result each time.

pub mod bulk_run;
pub mod check;
pub mod closed_loop;

pub use bulk_run::{BulkRun, ManyWrites};
pub use check::{Check, Unit};
pub use closed_loop::{ClosedLoop, table};
