//! Writes in batches: any number of operations, not atomic, with an outcome for each.
//!
//! | layer, highest first | owns |
//! |---|---|
//! | `source` | the builders and futures of bulks, writers, and writes by query |
//! | `engine` | waiting operations, and batches in flight |
//! | `partition` | the batches of one partition, and their rate |
//! | `outcome` | outcomes, reports, positions |

pub(crate) mod engine;
pub(crate) mod outcome;
pub(crate) mod partition;
pub(crate) mod source;
