//! Queries: plans, ranges of keys, positions, and streams over several requests.

mod fan_out;
mod found_ranges;
mod gather;
mod key_ranges;
mod last_rows;
mod plans;
mod positions;
mod run_time_names;
