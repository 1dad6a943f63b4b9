//! The emulator's service model under load: callers, results, and bars.
//!
//! All of it runs on a paused clock of one thread, with the same result each time.

pub mod bulk_run;
pub mod check;
pub mod closed_loop;

pub use bulk_run::ManyWrites;
pub use check::Check;
pub use closed_loop::{ClosedLoop, table};
