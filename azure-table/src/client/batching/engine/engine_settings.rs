//! The settings of an engine, and their default values.

use std::time::Duration;

use azure_table_wire::error::operation_kind::OperationKind;

use crate::client::batching::partition::failed_batch::Recovery;
use crate::client::poll::total_timeout::TotalTimeout;
use crate::write::batch::MAX_BATCH_OPERATIONS;

/// The sizes, limits and rates of an engine.
#[derive(Clone, Debug)]
pub(crate) struct EngineSettings {
    /// The operation that errors name.
    pub(crate) operation: OperationKind,
    /// The plural noun for failed items, in the error of too many failures.
    pub(crate) unit: &'static str,
    pub(crate) batch_size: usize,
    pub(crate) batch_bytes: Option<usize>,
    pub(crate) concurrency: usize,
    pub(crate) partition_concurrency: usize,
    pub(crate) pending: usize,
    pub(crate) failures: u64,
    pub(crate) recovery: Recovery,
    /// Counts an absent row as gone, not as rejected: it existed when it was selected.
    pub(crate) expects_gone: bool,
    pub(crate) max_rate: Option<f64>,
    /// The time that an operation waits for others. If absent, batches that are not full are sent when the input is
    /// idle.
    pub(crate) linger: Option<Duration>,
    pub(crate) total: TotalTimeout,
}

impl EngineSettings {
    pub(crate) fn new(operation: OperationKind, unit: &'static str) -> Self {
        Self {
            operation,
            unit,
            batch_size: MAX_BATCH_OPERATIONS,
            batch_bytes: None,
            concurrency: CONCURRENCY,
            partition_concurrency: PARTITION_CONCURRENCY,
            pending: PENDING,
            failures: FAILURES,
            recovery: Recovery::RemoveFailed,
            expects_gone: false,
            max_rate: None,
            linger: None,
            total: TotalTimeout::default(),
        }
    }
}

/// The default number of batches in flight.
const CONCURRENCY: usize = 32;
/// The default per partition: enough for its target of 2,000 entities/s if a batch takes 200 ms.
const PARTITION_CONCURRENCY: usize = 4;
/// The default number of operations that wait for their batch.
const PENDING: usize = 20_000;
/// The default number of failures. Each failure is held in memory, and more of them point to a systematic problem.
const FAILURES: u64 = 1_000;
