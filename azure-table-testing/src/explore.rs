//! The search through the orders of concurrent requests.
//!
//! Requests wait at the gate (`gate.rs`) until all tasks are blocked. Then the search chooses one of them, or the crash
//! of a process (`life.rs`).
//! `footprint.rs` determines the rows that a request reads and writes, `event.rs` describes a chosen request.
//! `races.rs` decides which two events commute, and finds the races of a run. `tree.rs` walks the tree of choices with
//! the help of these races. `schedule.rs` is the text of a run's choices, `switches.rs` shortens a failed one, and
//! `story.rs` prints it. `search.rs` combines them, and `exploration.rs`, beside this folder, is the result.
//!
//! The setters that a test calls, and the clients of a run, are in `explore.rs`: the test kit never knows the
//! client.

pub mod dated_rows;
pub mod event;
pub mod footprint;
pub mod gate;
pub mod life;
pub mod races;
pub mod schedule;
pub mod search;
pub mod story;
pub mod switches;
pub mod tree;
