//! Operations on one partition, with an outcome for each.
//!
//! Owns the division into batches and the search for the operation that makes a batch fail. A batch is applied
//! completely or not at all, so the failed operation is removed and the others are sent again. Owns the outcomes so far
//! too, which an owner reads when it cancels. Knows nothing of the source of the operations.
//!
//! The row at the reported index is removed, and the others are sent again: all of them after the first two failures,
//! then half as many after each failed batch, and twice as many after each applied one. So a batch whose rows all fail
//! costs five times its bytes, and one with a single failing row one more batch. If there is no index, the batch is
//! halved. A failure that concerns no row ends the whole bulk. So does a 404 without a code, which may come from
//! something in front of the service. A batch in doubt is reported row by row, except deletes that were repeated and
//! found nothing.
//!
//! Source: REST "Performing entity group transactions".

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use crate::client::bulk::pace::{Pace, is_throttled};
use crate::client::ops::execute::ExecuteOperation;
use crate::client::ops::submit_batch::SubmitBatch;
use crate::client::total_timeout::TotalTimeout;
use crate::model::error::{Error, ErrorKind, Result};
use crate::model::etag::ETag;
use crate::model::name::TableName;
use crate::model::operation_kind::OperationKind;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::pipeline::transport::BoxFuture;
use crate::protocol::batch::{BatchRule, ChangeSet, MAX_BATCH_OPERATIONS};
use crate::protocol::operation::TableOperation;
use crate::protocol::row_hash::RowHash;
use crate::protocol::table_result::TableResult;

/// The outcome of one operation.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Applied, with the new ETag of the entity, or `None` after a delete.
    Applied(Option<ETag>),
    /// A delete found no row after an earlier response was lost: either attempt may have deleted it.
    Gone,
    /// The operation was not applied. Several operations of one batch share an error.
    Rejected(Arc<Error>),
    /// The operation may have been applied.
    InDoubt(Arc<Error>),
    /// The operation was not applied: an error that concerns all operations came before its turn, or with it.
    NotTried,
}

impl Outcome {
    fn failed(error: Arc<Error>) -> Self {
        match error.may_have_applied() {
            true => Self::InDoubt(error),
            false => Self::Rejected(error),
        }
    }

    /// Returns the error, if it counts as a failure.
    pub(crate) fn failure(&self) -> Option<&Error> {
        match self {
            Self::Rejected(error) | Self::InDoubt(error) => Some(error),
            Self::Applied(_) | Self::Gone | Self::NotTried => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied(_) => f.write_str("applied"),
            Self::Gone => f.write_str("gone"),
            Self::Rejected(error) => error.fmt(f),
            Self::InDoubt(error) => write!(f, "in doubt: {error}"),
            Self::NotTried => f.write_str("not tried"),
        }
    }
}

/// The outcomes so far, shared by a write and an owner that may cancel it. Clones share them.
#[derive(Clone, Debug)]
struct SharedOutcomes(Arc<Mutex<Outcomes>>);

#[derive(Debug)]
struct Outcomes {
    /// In the order of the operations.
    outcomes: Vec<Outcome>,
    /// The operations that were sent and have no response.
    in_flight: Vec<usize>,
}

impl SharedOutcomes {
    fn new(operations: usize) -> Self {
        Self(Arc::new(Mutex::new(Outcomes {
            outcomes: (0..operations).map(|_| Outcome::NotTried).collect(),
            in_flight: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Outcomes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self, operations: &[usize]) {
        operations.clone_into(&mut self.lock().in_flight);
    }

    fn answered(&self) {
        self.lock().in_flight.clear();
    }

    fn set_failed(&self, operations: &[usize], error: &Arc<Error>) {
        let outcomes = &mut self.lock().outcomes;
        for index in operations {
            outcomes[*index] = Outcome::failed(Arc::clone(error));
        }
    }

    /// Returns the outcomes of a write that was cancelled. `error` is that of operations without a response.
    fn cancel(&self, error: &Arc<Error>) -> Vec<Outcome> {
        let in_flight = std::mem::take(&mut self.lock().in_flight);
        self.set_failed(&in_flight, error);
        std::mem::take(&mut self.lock().outcomes)
    }
}

/// The outcomes of all operations of a write.
#[derive(Debug)]
pub(crate) struct Written {
    /// In the order of the operations.
    pub(crate) outcomes: Vec<Outcome>,
    /// The error that concerns no single row: further writes would fail with it too.
    pub(crate) stopped: Option<Arc<Error>>,
}

/// Operations on distinct rows of one partition, any number of them.
pub(crate) struct PartitionWrite {
    pipeline: Arc<Pipeline>,
    table: TableName,
    /// The options of its calls, the client's included.
    options: CallOptions,
    /// The time limit, shared with other writes.
    total: TotalTimeout,
    /// Shared with the owner, who takes them back.
    operations: Arc<Vec<TableOperation>>,
    outcomes: SharedOutcomes,
    /// The operations to send, each list in one batch if it fits. The last list is next.
    waiting: Vec<Vec<usize>>,
    /// The maximum number of operations in the next batch.
    most_operations: usize,
    /// The longest body of a batch, if shorter than the service's limit.
    most_bytes: Option<usize>,
    /// Sends the other operations of a batch again, without the one that failed.
    takes_out: bool,
    /// Deletes that were sent and whose response was lost.
    lost: Vec<usize>,
    /// The sending rate. If absent, a throttled batch ends the write.
    pace: Option<Pace>,
}

impl PartitionWrite {
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        table: &TableName,
        options: &CallOptions,
        operations: Vec<TableOperation>,
    ) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            table: table.clone(),
            options: options.clone(),
            total: TotalTimeout::default(),
            outcomes: SharedOutcomes::new(operations.len()),
            waiting: vec![(0..operations.len()).collect()],
            // The first two failures leave room for all others.
            most_operations: 4 * operations.len(),
            operations: Arc::new(operations),
            most_bytes: None,
            takes_out: true,
            lost: Vec::new(),
            pace: None,
        }
    }

    /// Sends throttled batches again, at this pace, if there is one.
    pub(crate) fn at(mut self, pace: Option<Pace>) -> Self {
        self.pace = pace;
        self
    }

    /// Limits the total time.
    pub(crate) fn within(mut self, total: TotalTimeout) -> Self {
        self.total = total;
        self
    }

    /// Limits the bodies, and sets whether failed operations are removed from their batch.
    pub(crate) fn with(mut self, most_bytes: Option<usize>, takes_out: bool) -> Self {
        self.most_bytes = most_bytes;
        self.takes_out = takes_out;
        self
    }

    /// Sends the operations, one batch after the other, until each has an outcome or an error stops all of them.
    async fn run(mut self) -> Written {
        let mut stopped = None;
        while let Some(next) = self.waiting.pop() {
            let (sent, change_set) = self.compose(next);
            let result = match self.send(&sent, change_set).await {
                // Nothing was applied: the batch is sent again at the pace.
                None => {
                    self.waiting.push(sent);
                    continue;
                }
                Some(result) => result,
            };
            match result {
                Ok(results) => {
                    self.most_operations = self.most_operations.saturating_mul(2);
                    let outcomes = &mut self.outcomes.lock().outcomes;
                    for (index, result) in sent.into_iter().zip(results) {
                        outcomes[index] = Outcome::Applied(result.into_etag());
                    }
                }
                Err(error) => {
                    stopped = self.failed(sent, error);
                    if stopped.is_some() {
                        break;
                    }
                }
            }
        }
        Written {
            outcomes: std::mem::take(&mut self.outcomes.lock().outcomes),
            stopped,
        }
    }

    /// Returns as many of these operations as fit into one batch. The others wait.
    fn compose(&mut self, mut indices: Vec<usize>) -> (Vec<usize>, ChangeSet) {
        let mut change_set = ChangeSet::new(&self.pipeline.endpoint, self.table.as_str())
            .at_most(self.most_bytes)
            .of_distinct_rows();
        // A single operation is sent without a batch.
        if let [index] = indices[..] {
            return (vec![index], change_set);
        }
        let mut end = indices.len().min(self.most_operations).min(MAX_BATCH_OPERATIONS);
        let mut sent = Vec::with_capacity(end);
        let bodies = indices[..end].iter().map(|index| self.operations[*index].body().len());
        change_set.reserve(end, bodies.sum());
        for (place, index) in indices[..end].iter().copied().enumerate() {
            match change_set.put(&self.operations[index]) {
                Ok(()) => sent.push(index),
                Err(broken) if matches!(broken.rule, BatchRule::Valid | BatchRule::OnePartition) => {
                    let error = broken.error.at_batch_index(None);
                    self.outcomes.set_failed(&[index], &Arc::new(error));
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
        let rest = indices.split_off(end);
        if !rest.is_empty() {
            self.waiting.push(rest);
        }
        (sent, change_set)
    }

    /// Sends a batch at the pace, and returns `None` if it was throttled.
    ///
    /// A single operation is sent without a batch, which not all credentials and services accept.
    async fn send(&self, sent: &[usize], change_set: ChangeSet) -> Option<Result<Vec<TableResult>>> {
        let partition_key = self.operations.iter().find_map(TableOperation::keys);
        let partition_key = partition_key.map_or("", |(key, _)| key);
        let turn = match &self.pace {
            Some(pace) => Some((pace, pace.turn(partition_key, sent.len()).await)),
            None => None,
        };
        self.outcomes.sent(sent);
        let result = match sent {
            [] => Ok(Vec::new()),
            [index] => self
                .send_alone(&self.operations[*index])
                .await
                .map(|result| vec![result]),
            _ => {
                let commit = SubmitBatch::new(&self.pipeline, change_set);
                commit.of_options(self.call_options()).await
            }
        };
        self.outcomes.answered();
        if let Some((pace, sent_at)) = turn {
            match &result {
                Err(e) if is_throttled(e) => {
                    if pace.refused(partition_key, sent_at, e) {
                        return None;
                    }
                }
                _ => pace.taken(partition_key, sent.len()),
            }
        }
        Some(result)
    }

    /// Sends one operation without a batch. If its URL is too long it is sent in a batch, where the keys fit into the
    /// body.
    async fn send_alone(&self, operation: &TableOperation) -> Result<TableResult> {
        let execute = || {
            let execute = ExecuteOperation::new(&self.pipeline, &self.table, operation.copy());
            execute.of_options(self.call_options())
        };
        match execute().await {
            // Without a code the request did not reach the service. Nor did an earlier attempt, or it would be in
            // doubt.
            Err(e) if matches!(e.status(), Some(400 | 414 | 431)) && e.code().is_none() && !e.may_have_applied() => {
                execute().via_batch().await
            }
            result => result,
        }
    }

    fn call_options(&self) -> CallOptions {
        let mut options = self.options.clone();
        self.total.bound(&mut options);
        options
    }

    /// Sets the outcomes of operations that were sent together and failed.
    ///
    /// Returns the error if it concerns other operations as well.
    fn failed(&mut self, mut sent: Vec<usize>, error: Error) -> Option<Arc<Error>> {
        // The index in the batch means nothing to a caller who did not build the batch.
        let batch_index = error.batch_index();
        let error = error.at_batch_index(None);
        let concerns_row = concerns_row(&error);
        let is_delete = |index: &usize| self.operations[*index].kind() == OperationKind::Delete;
        // A repeated delete that finds no row has succeeded. The others are sent again, and their responses show the
        // state of their rows.
        let may_repeat = !error.may_have_applied() || (concerns_row && sent.iter().all(is_delete));
        if may_repeat && !concerns_row {
            return Some(Arc::new(error));
        }
        if !may_repeat || !self.takes_out {
            let error = Arc::new(error);
            self.outcomes.set_failed(&sent, &error);
            return (!concerns_row).then_some(error);
        }
        if error.may_have_applied() && sent.len() > 1 {
            // One by one: all of them may be gone, and each would make a batch fail. They are in doubt if the write
            // ends before that.
            self.outcomes.set_failed(&sent, &Arc::new(error));
            self.waiting.extend(sent.iter().map(|index| vec![*index]));
            self.lost.extend(sent);
            return None;
        }
        let at_fault = match (&sent[..], batch_index) {
            ([_], _) => Some(0),
            (_, index) => index.filter(|index| *index < sent.len()),
        };
        match at_fault {
            Some(at) => {
                self.most_operations = (self.most_operations / 2).max(1);
                let index = sent.remove(at);
                let is_gone = error.kind() == ErrorKind::NotFound && is_delete(&index);
                let is_lost = error.may_have_applied() || self.lost.contains(&index);
                let error = if is_gone { error.maybe_applied(false) } else { error };
                self.outcomes.lock().outcomes[index] = match is_gone && is_lost {
                    true => Outcome::Gone,
                    false => Outcome::failed(Arc::new(error)),
                };
            }
            // The service names no index: the failed operation is in one of the halves.
            None => {
                let half = sent.split_off(sent.len() / 2);
                self.waiting.push(half);
            }
        }
        if !sent.is_empty() {
            self.waiting.push(sent);
        }
        None
    }
}

/// Operations of one partition that were sent together.
pub(crate) struct Batch {
    /// The numbers and the rows of the operations.
    places: Vec<(u64, RowHash)>,
    operations: Arc<Vec<TableOperation>>,
}

impl Batch {
    pub(crate) fn partition_key(&self) -> &str {
        let keys = self.operations.first().and_then(TableOperation::keys);
        keys.map_or("", |(partition_key, _)| partition_key)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = RowHash> {
        self.places.iter().map(|(_, row)| *row)
    }

    /// Returns the number of bytes of its operations.
    pub(crate) fn bytes(&self) -> usize {
        self.operations.iter().map(TableOperation::bytes).sum()
    }

    /// Returns each operation with its number.
    pub(crate) fn operations(self) -> impl Iterator<Item = (u64, TableOperation)> {
        // The write that shared them has ended.
        let operations = Arc::try_unwrap(self.operations);
        let operations = operations.unwrap_or_else(|shared| shared.iter().map(TableOperation::copy).collect());
        self.places.into_iter().map(|(index, _)| index).zip(operations)
    }
}

/// A batch in flight. Returns the batch with the outcomes of its operations.
pub(crate) struct RunningBatch {
    /// `None` once the batch has ended.
    batch: Option<Batch>,
    outcomes: SharedOutcomes,
    write: BoxFuture<'static, Written>,
}

impl RunningBatch {
    pub(crate) fn new(places: Vec<(u64, RowHash)>, write: PartitionWrite) -> Self {
        Self {
            batch: Some(Batch {
                places,
                operations: Arc::clone(&write.operations),
            }),
            outcomes: write.outcomes.clone(),
            write: Box::pin(write.run()),
        }
    }

    /// Returns its operations and their outcomes so far. `error` is that of operations without a response.
    pub(crate) fn cancel(self, error: &Arc<Error>) -> Option<(Batch, Written)> {
        drop(self.write);
        let outcomes = self.outcomes.cancel(error);
        let stopped = None;
        Some((self.batch?, Written { outcomes, stopped }))
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.places.len())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.batch.as_ref().map_or(0, Batch::bytes)
    }
}

impl Future for RunningBatch {
    type Output = (Batch, Written);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let written = ready!(self.write.as_mut().poll(cx));
        match self.batch.take() {
            Some(batch) => {
                // Drops the write, which shares the operations.
                self.write = Box::pin(std::future::pending());
                Poll::Ready((batch, written))
            }
            None => Poll::Pending,
        }
    }
}

/// Returns `true` if an error is about a row of a batch, so that other rows may be written.
///
/// Any other error would recur with the next request.
fn concerns_row(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists | ErrorKind::Rejected => true,
        // Without a code the response is from something in between, such as a proxy or a wrong address.
        ErrorKind::NotFound | ErrorKind::Conflict => error.code().is_some_and(|code| !code.starts_with("Table")),
        _ => false,
    }
}
