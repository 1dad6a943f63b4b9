//! Queries: plans, ranges of keys, positions, and streams over several requests.

mod cursors;
mod fan_out;
mod found_ranges;
mod gather;
mod key_ranges;
mod plans;
mod positions;
mod run_time_names;
