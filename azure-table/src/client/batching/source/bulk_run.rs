//! The writes of a bulk or a writer: operations in their order, and the report of their outcomes.

use std::task::{Context, Poll, ready};

use azure_table_wire::error::Error;

use crate::client::batching::engine::Engine;
use crate::client::batching::engine::running_batch::Settled;
use crate::client::batching::outcome::bulk_report::{AppliedOperation, BulkOutcome, BulkReport};
use crate::client::batching::outcome::leftover::Leftover;
use crate::client::batching::outcome::outcomes::WriteOutcome;
use crate::entity::table_entity::TableEntity;
use crate::key::key_texts::KeyTexts;
use crate::write::operation::TableOperation;

pub(crate) struct BulkRun {
    pub(crate) engine: Engine,
    pub(crate) report: BulkReport,
    /// The number of operations that were pushed.
    pub(crate) pushed: u64,
}

impl BulkRun {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            report: BulkReport::default(),
            pushed: 0,
        }
    }

    pub(crate) fn push(&mut self, operation: TableOperation) {
        self.engine.push(self.pushed, operation);
        self.pushed += 1;
    }

    /// Pushes the insert of an entity.
    pub(crate) fn insert<E: TableEntity + ?Sized>(&mut self, entity: &E) {
        self.engine.insert(self.pushed, entity);
        self.pushed += 1;
    }

    /// Returns the next outcome, or `None` once every operation has one and the input is closed.
    pub(crate) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        Poll::Ready(ready!(self.poll_settled(cx)).map(outcome))
    }

    /// Records the known outcomes in the report. Returns `None` once every operation has one and the input is closed.
    pub(crate) fn poll_recorded(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let Some(first) = ready!(self.poll_settled(cx)) else {
            return Poll::Ready(None);
        };
        self.record(first);
        while let Some(settled) = self.engine.next_ready() {
            self.report.count(settled.index, &settled.outcome);
            self.record(settled);
        }
        Poll::Ready(Some(()))
    }

    /// Counts the next outcome.
    fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Option<Settled>> {
        let settled = self.engine.poll_outcome(cx);
        self.report.set_throttled(self.engine.throttled());
        settled.map(|settled| settled.inspect(|settled| self.report.count(settled.index, &settled.outcome)))
    }

    /// Keeps a leftover. An operation that was applied is only counted.
    fn record(&mut self, settled: Settled) {
        if let WriteOutcome::Left(_) = settled.outcome
            && let BulkOutcome::Leftover(leftover) = outcome(settled)
        {
            self.report.keep(leftover);
        }
    }

    /// Returns the report, and the error that ended the whole bulk. Records the remaining outcomes.
    pub(crate) fn into_report(mut self) -> (BulkReport, Option<Error>) {
        while let Some(settled) = self.engine.take_ready() {
            self.report.count(settled.index, &settled.outcome);
            self.record(settled);
        }
        self.report.sort_leftovers();
        (self.report, self.engine.stopped())
    }
}

fn outcome(settled: Settled) -> BulkOutcome {
    let Settled {
        index,
        operation: mut what,
        outcome,
    } = settled;
    let applied = |operation: &TableOperation, etag| {
        let (partition_key, row_key) = operation.keys().unwrap_or_default();
        BulkOutcome::Applied(AppliedOperation {
            index,
            kind: operation.kind(),
            keys: KeyTexts::new(partition_key, row_key),
            etag,
        })
    };
    let why = match outcome {
        WriteOutcome::Applied(etag) => return applied(&what, etag),
        WriteOutcome::Gone => return applied(&what, None),
        WriteOutcome::Left(why) => why,
    };
    what.detach();
    BulkOutcome::Leftover(Leftover { index, what, why })
}
