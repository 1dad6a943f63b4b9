//! Writes all rows that a query selects in one entity group transaction.
//!
//! It reads all pages, plans each row as the writes without `atomic` do, and submits one batch. It reads at most 101
//! rows: one more than a transaction allows shows that they do not fit.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::{Error, Result};
use futures_core::Stream as _;

use crate::client::batching::source::query_write::{AtomicRun, QueryWrite, State};
use crate::client::batching::source::row_plan::{Plan, PlanRows, SelectedRow as _};
use crate::client::ops::call::Call;
use crate::client::ops::start::already_completed;
use crate::client::ops::submission::Submission;
use crate::client::query::selection::Walk;
use crate::client::query::table_query::TableQuery;
use crate::entity::table_entity::TableEntity;
use crate::write::batch::{ChangeSet, MAX_BATCH_OPERATIONS};
use crate::write::table_result::TableResult;

/// The call that sends the transaction.
pub(crate) type Submit = Call<Vec<TableResult>>;

/// A write over a query as one entity group transaction: the service writes all selected rows, or none.
///
/// Created by [`UpdateWhere::atomic`](crate::bulk::UpdateWhere::atomic) and the methods of the same name. Returns the
/// number of rows written. All rows must have one PartitionKey and fit into a [`TableBatch`](crate::TableBatch): at
/// most 100 rows and 4 MiB (2 MB on Cosmos DB).
///
/// Each row is written under the ETag that was read. A row that another client inserts after the page was read goes
/// unnoticed.
#[must_use = "nothing is sent until it is awaited"]
pub struct Atomic<W> {
    pub(crate) write: W,
}

impl<W: fmt::Debug> fmt::Debug for Atomic<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Atomic").field(&self.write).finish()
    }
}

impl<E: TableEntity, W: PlanRows<E>> QueryWrite<'_, E, W, W::Row> {
    pub(crate) fn poll_atomic(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, W::Error>> {
        let started = match mem::replace(&mut self.state, State::Done) {
            State::Idle(query) => self.begin_atomic(*query),
            State::Atomic(run) => Ok(run),
            State::Running(_) | State::Done => Err(already_completed()),
        };
        let mut run = match started {
            Ok(run) => run,
            Err(e) => return Poll::Ready(Err(self.named(e).into())),
        };
        let written = self.step_atomic(&mut run, cx);
        if written.is_pending() {
            self.state = State::Atomic(run);
        }
        written
    }

    fn step_atomic(&mut self, run: &mut AtomicRun<W::Row>, cx: &mut Context<'_>) -> Poll<Result<usize, W::Error>> {
        loop {
            match run {
                AtomicRun::Reading { walk, rows } => match ready!(Pin::new(&mut walk.pages).poll_next(cx)) {
                    Some(Ok(page)) => rows.extend(page.into_items()),
                    Some(Err(e)) => return Poll::Ready(Err(e.into())),
                    None => {
                        let rows = mem::take(rows);
                        match self.transaction(walk, rows)? {
                            Some((submit, rows)) => {
                                let total = walk.total;
                                let submit = Box::new(submit);
                                *run = AtomicRun::Writing { submit, rows, total };
                            }
                            None => return Poll::Ready(Ok(0)),
                        }
                    }
                },
                AtomicRun::Writing { submit, rows, total } => {
                    let submitted = ready!(Pin::new(submit).poll(cx)).map_err(|e| total.name(e));
                    return Poll::Ready(submitted.map(|_| *rows).map_err(W::Error::from));
                }
            }
        }
    }

    fn begin_atomic(&self, query: TableQuery<E, ()>) -> Result<AtomicRun<W::Row>> {
        self.writes.check()?;
        if let Some(setter) = self.not_atomic.first() {
            return Err(Error::invalid_input(format!(
                "`{setter}` before `atomic`: a transaction is one batch of all rows, to which it does not apply; remove it"
            )));
        }
        let query = query.limit_at_most(MAX_BATCH_OPERATIONS + 1);
        let walk = query.walk(&self.table, self.shape(), None, &self.options, self.settings.total)?;
        let (walk, rows) = (Box::new(walk), Vec::new());
        Ok(AtomicRun::Reading { walk, rows })
    }

    /// Returns the transaction and the number of its rows, or `None` if no row is written.
    fn transaction(&mut self, walk: &Walk<W::Row>, rows: Vec<W::Row>) -> Result<Option<(Submit, usize)>, W::Error> {
        if rows.len() > MAX_BATCH_OPERATIONS {
            let why = format!(
                "the query selects at least {} rows, the limit of a transaction is {MAX_BATCH_OPERATIONS}: select fewer \
                 rows, or write without `atomic`",
                rows.len()
            );
            return Err(self.named(Error::invalid_input(why)).into());
        }
        let mut change_set = ChangeSet::new(&self.table.pipeline().endpoint, self.table.name().as_str());
        for row in rows {
            let key = row.key().clone();
            let rejected = |e: Error| e.at_entity(key.partition_key(), key.row_key());
            match self.writes.plan(row)? {
                Plan::Write(operation) | Plan::WriteBeside(operation) => {
                    let added = change_set.add(operation).map_err(|e| rejected(e.into()));
                    added.map_err(|e| self.named(e))?;
                }
                Plan::Keep => {}
                Plan::Bad(bad) => match &walk.on_bad_row {
                    Some(seen) => seen(&bad),
                    None => return Err(self.named(bad.into_error()).into()),
                },
                Plan::Reject(e) => return Err(self.named(rejected(e)).into()),
            }
        }
        let rows = change_set.len();
        if rows == 0 {
            return Ok(None);
        }
        let mut options = walk.options.clone();
        walk.total.check().map_err(|e| self.named(e))?;
        walk.total.bound(&mut options);
        let submit = Submission::new(self.table.pipeline(), self.table.name(), change_set);
        Ok(Some((submit.call.with_own_options(options), rows)))
    }
}

/// Implements `atomic` for a write over a query.
macro_rules! atomic {
    ($name:ident <$life:lifetime> [$($parameter:ident),+], $error:ty, where $($bounds:tt)+) => {
        impl<$life, $($parameter),+> $name<$life, $($parameter),+> {
            /// Writes all rows in one entity group transaction: all of them, or none.
            ///
            /// Returns the number of rows written instead of a report.
            ///
            /// Requests: 1 per page, 1 batch. Lost response: [reconciled](crate::guide::operations).
            ///
            /// # Errors
            /// Nothing was written, unless the kind is `InDoubt`.
            /// - `InvalidInput`: the query selects more than 100 rows, or the rows to write have two PartitionKeys or more
            ///   than 4 MiB (2 MB on Cosmos DB).
            /// - `InvalidInput`: a setting is set that applies to many batches only: `concurrency`,
            ///   `partition_concurrency`, `max_failures`, `max_rate`, `on_progress` or `resume_from`.
            /// - `ConditionNotMet`, `NotFound`: a row was changed or deleted since it was read.
            /// - The error of a page, or of a row that cannot be written.
            /// - The errors of [`TableBatch::submit`](crate::TableBatch::submit).
            ///
            /// Source: REST "Performing entity group transactions".
            pub fn atomic(self) -> Atomic<Self> {
                Atomic { write: self }
            }
        }

        impl<$($parameter),+> ::std::future::Future for Atomic<$name<'_, $($parameter),+>>
        where
            $($bounds)+
        {
            type Output = azure_table_wire::error::Result<usize, $error>;

            fn poll(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<Self::Output> {
                self.get_mut().write.rows.poll_atomic(cx)
            }
        }
    };
}
pub(crate) use atomic;
