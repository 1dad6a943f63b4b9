//! Parts of futures: the work of a turn, a spawned task, a time limit for the whole.

pub(crate) mod task;
pub(crate) mod total_timeout;
pub(crate) mod turn;
