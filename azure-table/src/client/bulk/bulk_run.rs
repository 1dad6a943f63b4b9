//! The writes of a bulk or a writer: operations in their order, and the report of their outcomes.

use std::task::{Context, Poll, ready};

use crate::client::bulk::bulk_report::{AppliedOperation, BulkOutcome, BulkReport, Leftover, LeftoverReason};
use crate::client::bulk::engine::{Engine, Settled};
use crate::client::bulk::outcomes::Outcome;
use crate::model::error::Error;
use crate::protocol::operation::TableOperation;

pub(crate) struct BulkRun {
    pub(crate) engine: Engine,
    pub(crate) report: BulkReport,
    pushed: u64,
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

    /// Returns the number of operations that were pushed.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Returns the next outcome, or `None` once every operation has one and the input is closed.
    pub(crate) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        let settled = self.engine.poll_outcome(cx);
        self.report.throttled = self.engine.throttled();
        Poll::Ready(ready!(settled).map(|settled| self.outcome(settled)))
    }

    /// Counts an outcome.
    fn outcome(&mut self, settled: Settled) -> BulkOutcome {
        let Settled {
            index,
            operation,
            outcome,
        } = settled;
        self.report.count(index, &outcome);
        let why = match outcome {
            Outcome::Applied(etag) => return BulkOutcome::Applied(AppliedOperation { index, operation, etag }),
            Outcome::Gone => {
                let etag = None;
                return BulkOutcome::Applied(AppliedOperation { index, operation, etag });
            }
            Outcome::Rejected(error) => LeftoverReason::Rejected(error),
            Outcome::InDoubt(error) => LeftoverReason::InDoubt(error),
            Outcome::NotTried => LeftoverReason::NotTried,
        };
        BulkOutcome::Leftover(Leftover {
            index,
            operation: operation.if_encoded(),
            why,
        })
    }

    /// Returns the report, and the error that ended the whole bulk. Records the remaining outcomes.
    pub(crate) fn into_report(mut self) -> (BulkReport, Option<Error>) {
        while let Some(settled) = self.engine.take_ready() {
            if let BulkOutcome::Leftover(leftover) = self.outcome(settled) {
                self.report.keep(leftover);
            }
        }
        self.report.sort_leftovers();
        (self.report, self.engine.stopped())
    }
}
