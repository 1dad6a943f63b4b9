//! Operations on one partition, and an outcome for each.
//!
//! Owns the cutting into batches and the search for what makes one fail: a batch is applied whole or not at all, so whoever is
//! at fault is taken out and the others go again. Knows nothing of where the operations come from.
//! Source: REST "Performing entity group transactions".

use std::sync::Arc;

use crate::client::bulk::known::Known;
use crate::client::bulk::pace::{Pace, is_throttled};
use crate::client::ops::commit_batch::CommitBatch;
use crate::client::ops::execute::ExecuteOperation;
use crate::client::total_timeout::TotalTimeout;
use crate::model::error::{Error, ErrorKind, Result};
use crate::model::etag::ETag;
use crate::model::name::TableName;
use crate::pipeline::options::CallOptions;
use crate::pipeline::run::Pipeline;
use crate::protocol::batch::{BatchRule, ChangeSet, MAX_BATCH_OPERATIONS};
use crate::protocol::operation::{OperationKind, TableOperation};
use crate::protocol::table_result::TableResult;

/// What became of one operation.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// With the entity's new version.
    Applied(OperationKind, Option<ETag>),
    /// It was not applied; or nobody knows, where the error says so. Several of one batch share an error.
    Failed(Arc<Error>),
    /// A delete that found no row, after an answer was lost to one before: nobody knows who removed it.
    Gone(Arc<Error>),
    /// It was not applied: an error that concerns them all came before its turn, or with it.
    NotTried,
}

/// What became of all of them.
#[derive(Debug)]
pub(crate) struct Written {
    /// In the order of the operations.
    pub(crate) outcomes: Vec<Outcome>,
    /// What concerns no single row: further writes would meet it too.
    pub(crate) stopped: Option<Arc<Error>>,
}

/// The operations; shared with who wants them back.
pub(crate) type Operations = Arc<Vec<TableOperation>>;

/// Operations on one partition, any number of them.
pub(crate) struct PartitionWrite {
    pipeline: Arc<Pipeline>,
    table: TableName,
    /// Those of the client among them.
    options: CallOptions,
    /// The time that is left for it and others.
    total: TotalTimeout,
    operations: Operations,
    known: Known,
    /// What is still to be sent, each in one batch if it fits; the next one last.
    waiting: Vec<Vec<usize>>,
    /// The longest body of a batch, if shorter than what the service takes.
    most_bytes: Option<usize>,
    /// Whether those that go with one that fails are sent again without it.
    takes_out: bool,
    has_distinct_rows: bool,
    /// Deletes that were sent, and whose answer was lost.
    lost: Vec<usize>,
    /// How fast it may send; without it what is throttled ends it.
    pace: Option<Pace>,
}

impl PartitionWrite {
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        table: &TableName,
        options: &CallOptions,
        operations: Vec<TableOperation>,
    ) -> Self {
        let mut outcomes = Vec::with_capacity(operations.len());
        let mut sendable = Vec::with_capacity(operations.len());
        for (index, operation) in operations.iter().enumerate() {
            outcomes.push(match operation.check() {
                Ok(()) => {
                    sendable.push(index);
                    Outcome::NotTried
                }
                Err(e) => Outcome::Failed(Arc::new(e)),
            });
        }
        Self {
            pipeline: Arc::clone(pipeline),
            table: table.clone(),
            options: options.clone(),
            total: TotalTimeout::default(),
            operations: Arc::new(operations),
            known: Known::new(outcomes),
            waiting: vec![sendable],
            most_bytes: None,
            takes_out: true,
            has_distinct_rows: false,
            lost: Vec::new(),
            pace: None,
        }
    }

    /// At this pace: what is throttled is sent again.
    pub(crate) fn at(mut self, pace: &Pace) -> Self {
        self.pace = Some(pace.clone());
        self
    }

    /// In no more time than this.
    pub(crate) fn within(mut self, total: TotalTimeout) -> Self {
        self.total = total;
        self
    }

    /// With shorter bodies, and with or without the search for what makes a batch fail.
    pub(crate) fn with(mut self, most_bytes: Option<usize>, takes_out: bool) -> Self {
        self.most_bytes = most_bytes;
        self.takes_out = takes_out;
        self
    }

    /// Of rows that are known to be distinct.
    pub(crate) fn of_distinct_rows(mut self) -> Self {
        self.has_distinct_rows = true;
        self
    }

    /// What it writes.
    pub(crate) fn operations(&self) -> Operations {
        Arc::clone(&self.operations)
    }

    /// What is known of them, at any time.
    pub(crate) fn known(&self) -> Known {
        self.known.clone()
    }

    /// Sends them, one batch after the other, until each has an outcome or something stops them all.
    pub(crate) async fn run(mut self) -> Written {
        let mut stopped = None;
        while let Some(next) = self.waiting.pop() {
            let (sent, change_set) = self.compose(next);
            let result = match self.send(&sent, change_set).await {
                // Nothing was applied: once more, when it is time.
                None => {
                    self.waiting.push(sent);
                    continue;
                }
                Some(result) => result,
            };
            match result {
                Ok(results) => {
                    let outcomes = &mut self.known.facts().outcomes;
                    for (index, result) in sent.into_iter().zip(results) {
                        outcomes[index] = Outcome::Applied(result.kind(), result.into_etag());
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
            outcomes: std::mem::take(&mut self.known.facts().outcomes),
            stopped,
        }
    }

    /// As many of these as fit into one batch; the others wait.
    fn compose(&mut self, mut indices: Vec<usize>) -> (Vec<usize>, ChangeSet) {
        let mut change_set = ChangeSet::new(&self.pipeline.endpoint, self.table.as_str()).at_most(self.most_bytes);
        if self.has_distinct_rows {
            change_set = change_set.of_distinct_rows();
        }
        // One that goes alone is put into no batch.
        if let [index] = indices[..] {
            return (vec![index], change_set);
        }
        let mut sent = Vec::with_capacity(indices.len());
        let bodies = indices.iter().map(|index| self.operations[*index].body().len());
        change_set.reserve(indices.len().min(MAX_BATCH_OPERATIONS), bodies.sum());
        let mut end = indices.len();
        for (place, index) in indices.iter().copied().enumerate() {
            match change_set.put(&self.operations[index]) {
                Ok(()) => sent.push(index),
                Err(broken) if matches!(broken.rule, BatchRule::Valid | BatchRule::OnePartition) => {
                    let error = broken.error.at_batch_index(None);
                    self.known.facts().outcomes[index] = Outcome::Failed(Arc::new(error));
                }
                // What fits into no batch may go alone.
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

    /// Sends a batch, when it is time; `None` if there was too much. One operation alone needs no batch, which not all
    /// credentials and services take.
    async fn send(&self, sent: &[usize], change_set: ChangeSet) -> Option<Result<Vec<TableResult>>> {
        let partition_key = self.operations.iter().find_map(TableOperation::keys);
        let partition_key = partition_key.map_or("", |(key, _)| key);
        let turn = match &self.pace {
            Some(pace) => Some((pace, pace.turn(partition_key, sent.len()).await)),
            None => None,
        };
        self.known.sends(sent);
        let result = match sent {
            [] => Ok(Vec::new()),
            [index] => self
                .send_alone(&self.operations[*index])
                .await
                .map(|result| vec![result]),
            _ => {
                let commit = CommitBatch::new(&self.pipeline, change_set);
                commit.of_options(self.call_options()).await
            }
        };
        self.known.answered();
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

    /// One operation needs no batch, unless nobody takes its address: its keys fit into a body, as they would have beside others.
    async fn send_alone(&self, operation: &TableOperation) -> Result<TableResult> {
        let execute = || {
            let execute = ExecuteOperation::new(&self.pipeline, &self.table, operation.copy());
            execute.of_options(self.call_options())
        };
        match execute().await {
            // Without a code it did not come to the service; nor did an attempt before it, or it would be in doubt.
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

    /// What an error says of the operations that were sent together. Gives it back if it concerns others as well.
    fn failed(&mut self, mut sent: Vec<usize>, error: Error) -> Option<Arc<Error>> {
        // Its place in the batch says nothing to who did not make the batch.
        let batch_index = error.batch_index();
        let error = error.at_batch_index(None);
        let concerns_row = concerns_row(&error);
        let is_delete = |index: &usize| self.operations[*index].kind() == OperationKind::Delete;
        // A repeated delete that finds no row has what it wanted: the others are asked for again, and show what is there.
        let may_repeat = !error.may_have_applied() || (concerns_row && sent.iter().all(is_delete));
        if may_repeat && !concerns_row {
            return Some(Arc::new(error));
        }
        if !may_repeat || !self.takes_out {
            let error = Arc::new(error);
            let outcomes = &mut self.known.facts().outcomes;
            for index in sent {
                outcomes[index] = Outcome::Failed(Arc::clone(&error));
            }
            return (!concerns_row).then_some(error);
        }
        if error.may_have_applied() && sent.len() > 1 {
            // One by one: all of them may be gone, and each would make a batch fail. Until then they are in doubt, should all end here.
            let error = Arc::new(error);
            let outcomes = &mut self.known.facts().outcomes;
            for index in &sent {
                outcomes[*index] = Outcome::Failed(Arc::clone(&error));
            }
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
                let index = sent.remove(at);
                let is_gone = error.kind() == ErrorKind::NotFound && is_delete(&index);
                let is_lost = error.may_have_applied() || self.lost.contains(&index);
                let error = Arc::new(if is_gone { error.maybe_applied(false) } else { error });
                self.known.facts().outcomes[index] = match is_gone && is_lost {
                    true => Outcome::Gone(error),
                    false => Outcome::Failed(error),
                };
            }
            // Nobody says which: it is in one of the halves.
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

/// Whether an error is about a row of a batch, and others may well be written; else it would come again with the next request.
fn concerns_row(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists | ErrorKind::Rejected => true,
        // Without a code it is of something between: an address that is none, a proxy.
        ErrorKind::NotFound | ErrorKind::Conflict => error.code().is_some_and(|code| !code.starts_with("Table")),
        _ => false,
    }
}
