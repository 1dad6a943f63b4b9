//! Operations on one partition, with an outcome for each.
//!
//! A write divides the operations into batches, and finds the operation that causes a batch to fail
//! (`failed_batch.rs`). A batch is applied completely or not at all, so the failed operation is removed and the others
//! are sent again. An owner that cancels the write can still read the outcomes so far.
//!
//! After each of the first two failures, one batch has all remaining operations. After that, each failed batch halves
//! the number of operations in the next one, and each applied batch doubles it. A batch whose rows all fail therefore
//! costs five times its bytes, and a single failing row costs one extra batch. If the service reports no index, the
//! batch is halved.
//!
//! A failure that is not about a row ends the whole bulk. A 404, 409 or 412 without a code does too, since it comes from
//! a proxy or another server. Each row of a batch in doubt is reported, except deletes that were repeated and found nothing.
//!
//! Source: REST "Performing entity group transactions".

use azure_table_wire::error::in_doubt_write::parts::LostAttempts;
use azure_table_wire::error::in_doubt_write::parts_of;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::value::clock::Instant;
use std::collections::HashMap;
use std::sync::Arc;

use crate::account::table_name::TableName;
use crate::client::batching::outcome::outcomes::SharedOutcomes;
use crate::client::batching::partition::failed_batch::{
    ErrorScope, FailedBatch, Recovery, RecoveryStep, recovery_step,
};
use crate::client::batching::partition::held_operations::HeldOperations;
use crate::client::batching::partition::sending_rate::{SendingRate, is_throttled};
use crate::client::ops::call::Call;
use crate::client::ops::submission::Submission;
use crate::client::poll::total_timeout::TotalTimeout;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::write::batch::{BatchRule, ChangeSet, MAX_BATCH_OPERATIONS};
use crate::write::table_result::TableResult;

/// Operations on distinct rows of one partition, any number of them.
pub(crate) struct PartitionWrite {
    pipeline: Arc<Pipeline>,
    table: TableName,
    /// The options of its calls, the client's included.
    options: CallOptions,
    /// The time limit, shared with other writes.
    pub(crate) total: TotalTimeout,
    operations: HeldOperations,
    partition_key: Arc<str>,
    outcomes: SharedOutcomes,
    /// The operations to send, each list in one batch if it fits. The last list is next.
    waiting: Vec<Vec<usize>>,
    /// The maximum number of operations in the next batch.
    max_operations: usize,
    /// The longest body of a batch, if shorter than the service's limit.
    pub(crate) max_bytes: Option<usize>,
    /// The handling of the other operations after one failed.
    pub(crate) recovery: Recovery,
    /// The attempts of operations in doubt that are sent again.
    in_doubt: HashMap<usize, LostAttempts>,
    /// The rate at which throttled batches are sent again. If absent, a throttled batch ends the write.
    pub(crate) rate: Option<SendingRate>,
}

impl PartitionWrite {
    /// Creates the write. Its calls have these `options`, and `outcomes` receives the outcome of each operation.
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        table: &TableName,
        partition_key: Arc<str>,
        options: CallOptions,
        operations: HeldOperations,
        outcomes: SharedOutcomes,
    ) -> Self {
        let count = operations.lock().len();
        Self {
            pipeline: Arc::clone(pipeline),
            table: table.clone(),
            options,
            total: TotalTimeout::default(),
            outcomes,
            waiting: vec![(0..count).collect()],
            // After the first two failures all other operations still fit.
            max_operations: 4 * count,
            operations,
            partition_key,
            max_bytes: None,
            recovery: Recovery::RemoveFailed,
            in_doubt: HashMap::new(),
            rate: None,
        }
    }

    /// Sends the operations in consecutive batches, until each has an outcome or an error stops them all.
    ///
    /// Returns that error: it is not about a single row, and further writes would fail with it too. `composed` is the
    /// batch that already contains all operations, if any.
    pub(crate) async fn run(mut self, mut composed: Option<Submission>) -> Option<Arc<Error>> {
        while let Some(next) = self.waiting.pop() {
            let sent_at = self.wait_for_rate(&next).await;
            let (sent, batch) = self.compose(next, composed.take());
            let result = match self.send(&sent, batch, sent_at).await {
                // The batch was throttled, and is sent again at the rate.
                None => {
                    self.operations.detach(&sent);
                    self.waiting.push(sent);
                    continue;
                }
                Some(result) => result,
            };
            match result {
                Ok(results) => {
                    self.max_operations = self.max_operations.saturating_mul(2);
                    let may_recur = results.first().is_some_and(|result| result.may_recur) && !self.has_etag(&sent);
                    self.outcomes.applied(&sent, results, may_recur);
                }
                Err(error) => {
                    self.operations.detach(&sent);
                    let stopped = self.failed(sent, error);
                    if stopped.is_some() {
                        return stopped;
                    }
                }
            }
        }
        None
    }

    /// Waits for the rate, if any, and returns the time.
    async fn wait_for_rate(&self, next: &[usize]) -> Option<Instant> {
        let entities = next.len().min(self.max_operations).min(MAX_BATCH_OPERATIONS);
        match &self.rate {
            Some(rate) => Some(rate.acquire(&self.partition_key, entities).await),
            None => None,
        }
    }

    /// Returns as many of these operations as fit into one batch. The others wait. A single operation has no batch.
    fn compose(&mut self, mut indices: Vec<usize>, composed: Option<Submission>) -> (Vec<usize>, Option<Submission>) {
        if let [index] = *indices {
            let checked = self.operations.lock()[index].check_for(self.pipeline.endpoint.profile());
            let Err(error) = checked else { return (indices, None) };
            let error = error.in_operation(self.operations.lock()[index].kind(), Some(self.table.as_str()));
            self.outcomes.failed(&indices, &Arc::new(error));
            return (Vec::new(), None);
        }
        if composed.iter().any(|it| it.batch.len() == indices.len()) {
            return (indices, composed);
        }
        let mut change_set = ChangeSet::new(&self.pipeline.endpoint, self.table.as_str())
            .at_most(self.max_bytes)
            .with_distinct_rows(0);
        let mut end = indices.len().min(self.max_operations).min(MAX_BATCH_OPERATIONS);
        let mut sent = Vec::with_capacity(end);
        let mut invalid = Vec::new();
        let operations = self.operations.lock();
        let bodies = indices[..end].iter().map(|index| operations[*index].body().len());
        change_set.reserve(end, bodies.sum());
        for (place, index) in indices[..end].iter().copied().enumerate() {
            match change_set.put(&operations[index]) {
                Ok(()) => sent.push(index),
                Err(broken) if matches!(broken.rule, BatchRule::Valid | BatchRule::OnePartition) => {
                    invalid.push((index, broken.error.at_batch_index(None)));
                }
                // An operation that fits into no batch may be sent alone.
                Err(_) if sent.is_empty() => {
                    sent.push(index);
                    end = place + 1;
                    break;
                }
                Err(_) => {
                    end = place;
                    break;
                }
            }
        }
        // Releases the lock before reporting.
        drop(operations);
        for (index, error) in invalid {
            self.outcomes.failed(&[index], &Arc::new(error));
        }
        let rest = indices.split_off(end);
        if !rest.is_empty() {
            self.waiting.push(rest);
        }
        let batch = Submission::new(&self.pipeline, &self.table, change_set);
        if sent.len() > 1 {
            self.operations.place_in(&batch.batch, &sent);
        }
        (sent, Some(batch))
    }

    /// Sends a batch that the rate allowed at this time, and returns `None` if it was throttled.
    ///
    /// A single operation is sent without a batch, which not all credentials and services accept.
    async fn send(
        &mut self,
        sent: &[usize],
        batch: Option<Submission>,
        sent_at: Option<Instant>,
    ) -> Option<Result<Vec<TableResult>>> {
        self.outcomes.sent(sent);
        let result = match (sent, batch) {
            ([], _) => Ok(Vec::new()),
            ([index], _) => self.send_alone(*index).await.map(|result| vec![result]),
            (_, None) => Err(Error::invalid_input("operations without a batch")),
            (_, Some(batch)) => batch.call.with_own_options(self.call_options_of(sent)).await,
        };
        self.outcomes.responded();
        if let (Some(rate), Some(sent_at)) = (&self.rate, sent_at) {
            match &result {
                Err(e) if is_throttled(e) => {
                    if rate.throttled(&self.partition_key, sent_at, e) {
                        return None;
                    }
                }
                // Without the service's response, nothing shows its limit.
                Err(e) if e.status().is_none_or(|status| status >= 500) => {}
                _ => rate.accepted(&self.partition_key, sent.len()),
            }
        }
        Some(result)
    }

    /// Sends one operation without a batch. If its URL is too long it is sent in a batch, where the keys fit into the
    /// body.
    async fn send_alone(&self, index: usize) -> Result<TableResult> {
        let operation = self.operations.lock()[index].copy();
        let execute = || {
            let execute = Call::<_>::write(&self.pipeline, &self.table, operation.copy(), Ok);
            execute.with_own_options(self.call_options_of(&[index]))
        };
        match execute().await {
            // An error without a code did not come from the service, so the request did not reach it. No earlier
            // attempt reached it either: a write in doubt has no status.
            Err(e) if matches!(e.status(), Some(400 | 414 | 431)) && e.code().is_none() => {
                execute().with(&CallOptions::new().via_batch()).await
            }
            result => result,
        }
    }

    /// Returns the options of a call that sends these operations.
    fn call_options_of(&self, sent: &[usize]) -> CallOptions {
        let mut options = self.options.clone();
        self.total.bound(&mut options);
        let earlier = sent.iter().filter_map(|index| self.in_doubt.get(index).copied());
        options.after(earlier.reduce(LostAttempts::and))
    }

    /// Reports operations in doubt that are sent again. They stay in doubt if the write ends before that.
    fn keep_in_doubt(&mut self, sent: &[usize], error: Arc<Error>) {
        let attempts = error.in_doubt_write().and_then(|write| parts_of(&write).here);
        self.in_doubt
            .extend(sent.iter().copied().zip(attempts.into_iter().cycle()));
        self.outcomes.failed(sent, &error);
    }

    /// Sets the outcomes of operations that were sent together and failed, or sends them again.
    ///
    /// Returns the error if it concerns other operations as well.
    fn failed(&mut self, mut sent: Vec<usize>, error: Error) -> Option<Arc<Error>> {
        // The index is meaningless to a caller who did not build the batch.
        let batch_index = error.batch_index();
        let error = error.at_batch_index(None);
        if !error.may_have_applied() {
            self.in_doubt.retain(|index, _| !sent.contains(index));
        }
        let failed = FailedBatch {
            operations: sent.len(),
            index: batch_index,
            scope: ErrorScope::of(&error),
            in_doubt: error.may_have_applied(),
            only_deletes: sent.iter().all(|index| self.is_delete(*index)),
        };
        let next = recovery_step(&failed, self.recovery);
        match next {
            RecoveryStep::Stop => return Some(Arc::new(error)),
            RecoveryStep::Fail | RecoveryStep::FailAndStop => {
                let error = Arc::new(error);
                self.outcomes.failed(&sent, &error);
                return (next == RecoveryStep::FailAndStop).then_some(error);
            }
            RecoveryStep::Remove(at) => {
                self.max_operations = (self.max_operations / 2).max(1);
                self.failed_alone(sent.remove(at), error);
                if !sent.is_empty() {
                    self.waiting.push(sent);
                }
            }
            RecoveryStep::SendAlone => {
                self.keep_in_doubt(&sent, Arc::new(error));
                self.waiting.extend(sent.iter().map(|index| vec![*index]));
            }
            RecoveryStep::Halve => {
                let half = sent.split_off(sent.len() / 2);
                self.waiting.extend([half, sent]);
            }
        }
        None
    }

    /// Sets the outcome of the operation that made its request fail.
    fn failed_alone(&self, index: usize, error: Error) {
        let is_gone = error.cause_kind() == ErrorKind::NotFound && self.is_delete(index);
        if is_gone && error.may_have_applied() {
            self.outcomes.gone(index);
        } else {
            self.outcomes.failed(&[index], &Arc::new(error));
        }
    }

    /// Returns `true` if a request with these operations is applied once at most, because the first changes an ETag.
    fn has_etag(&self, sent: &[usize]) -> bool {
        let operations = self.operations.lock();
        sent.iter()
            .any(|index| operations[*index].row().is_some_and(|row| row.if_match.is_some()))
    }

    fn is_delete(&self, index: usize) -> bool {
        self.operations.lock()[index].kind() == OperationKind::Delete
    }
}
