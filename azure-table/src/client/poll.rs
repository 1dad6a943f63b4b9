//! Building blocks for futures: turns, spawned tasks, and a total time limit.

pub(crate) mod task;
pub(crate) mod total_timeout;
pub(crate) mod turn;
