//! Writes over the rows of a query, page by page.
//!
//! It reads a page, plans each row, and passes the operations to the engine (`engine.rs`). The next page is read
//! once all rows have their outcome. At most one page is held, and the position is exact to the row. The future is
//! polled by hand and not boxed, so that neither entity nor closure needs to be `'static` or `Send`.
//!
//! The position is the page and its finished keys, at most 1,000. No row is skipped, none is counted twice, and no
//! order of keys is assumed. Rows of an update that are in doubt or in flight count as finished. Rows of a delete, a
//! patch or an upgrade do not, since these writes can be repeated.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::mem;
use std::task::{Context, Poll, ready};
use std::vec;

use crate::client::batching::engine::Engine;
use crate::client::batching::engine::engine_settings::EngineSettings;
use crate::client::batching::engine::running_batch::Settled;
use crate::client::batching::outcome::interrupted::Interrupted;
use crate::client::batching::outcome::leftover::LeftoverReason;
use crate::client::batching::outcome::outcomes::WriteOutcome;
use crate::client::batching::outcome::write_position::WritePosition;
use crate::client::batching::outcome::write_report::WriteReport;
use crate::client::batching::source::row_plan::{Plan, PlanRows, SelectedRow as _};
use crate::client::ops::call::Call;
use crate::client::ops::start::already_completed;
use crate::client::poll::total_timeout::TotalTimeout;
use crate::client::query::page::Page;
use crate::client::query::selection::Walk;
use crate::client::query::table_query::TableQuery;
use crate::client::shape::Shape;
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::TableEntity;
use crate::key::entity_key::Key;
use crate::pipeline::options::CallOptions;
use crate::request::continuation::Continuation;
use crate::write::operation::TableOperation;
use crate::write::table_result::TableResult;

/// The default number of batches in flight.
///
/// Batches of one partition are sent in sequence. That alone reaches the partition's target of 2,000 entities a second.
///
/// Source: REST "Scalability and performance targets for Table storage".
const CONCURRENCY: usize = 4;

/// Writes over a query: idle, running or done.
pub(crate) struct QueryWrite<'h, E, W, Row> {
    pub(crate) table: TableClient<E>,
    pub(crate) writes: W,
    pub(crate) options: CallOptions,
    pub(crate) settings: EngineSettings,
    /// The `$select` of a query by names.
    pub(crate) select: Option<String>,
    pub(crate) position: Option<WritePosition>,
    pub(crate) callback: Option<Box<ProgressCallback<'h, E>>>,
    /// The setters that were called, and that a transaction ignores.
    pub(crate) not_atomic: BTreeSet<&'static str>,
    pub(crate) state: State<E, Row>,
}

/// The result of the writes.
type ReportResult<E, A> = Result<WriteReport<E>, Interrupted<WriteReport<E>, A>>;

type ProgressCallback<'h, E> = dyn FnMut(&WriteReport<E>) + Send + 'h;

pub(crate) enum State<E, Row> {
    Idle(Box<TableQuery<E, ()>>),
    Running(Box<Run<E, Row>>),
    Atomic(AtomicRun<Row>),
    Done,
}

/// The rows read so far, or the transaction that writes them.
pub(crate) enum AtomicRun<Row> {
    Reading {
        walk: Box<Walk<Row>>,
        rows: Vec<Row>,
    },
    Writing {
        submit: Box<Call<Vec<TableResult>>>,
        rows: usize,
        total: TotalTimeout,
    },
}

pub(crate) struct Run<E, Row> {
    walk: Walk<Row>,
    engine: Engine,
    /// The rows of the page that have no plan yet.
    rows: vec::IntoIter<Row>,
    /// The keys of the page's planned rows, by the number of their operation, and `true` for rows with properties that
    /// the struct does not know. Each is removed with its outcome.
    keys: Vec<Option<(Key<E>, bool)>>,
    /// The position after the page that is written, and the greatest key of that page.
    next: Option<(Option<Continuation>, Option<Key<E>>)>,
    report: WriteReport<E>,
    is_repeatable: bool,
}

impl<E, W, Row> QueryWrite<'_, E, W, Row> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>, operation: OperationKind, writes: W) -> Self {
        Self {
            table: table.clone(),
            writes,
            options: CallOptions::new(),
            settings: EngineSettings {
                concurrency: CONCURRENCY,
                partition_concurrency: 1,
                expects_gone: true,
                ..EngineSettings::new(operation, "rows")
            },
            select: None,
            position: None,
            callback: None,
            not_atomic: BTreeSet::new(),
            state: State::Idle(Box::new(query)),
        }
    }

    fn report_progress(&mut self, report: &WriteReport<E>) {
        if let Some(callback) = &mut self.callback {
            callback(report);
        }
    }
}

impl<E: TableEntity, W: PlanRows<E>> QueryWrite<'_, E, W, W::Row> {
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ReportResult<E, W::Error>> {
        let started = match mem::replace(&mut self.state, State::Done) {
            State::Idle(query) => self.begin(*query),
            State::Running(run) => Ok(run),
            State::Atomic(_) | State::Done => Err(already_completed()),
        };
        let mut run = match started {
            Ok(run) => run,
            Err(e) => {
                let e = self.named(e);
                let report = self.untouched();
                return Poll::Ready(Err(Interrupted::new(e.into(), report)));
            }
        };
        match self.step(&mut run, cx) {
            Poll::Pending => {
                run.engine.turn.end();
                self.state = State::Running(run);
                Poll::Pending
            }
            Poll::Ready(Ok(())) => Poll::Ready(Ok(run.report)),
            Poll::Ready(Err(e)) => Poll::Ready(Err(Interrupted::new(e, run.report))),
        }
    }

    /// Returns the report of writes that did not begin, at the position where they would have.
    fn untouched(&self) -> WriteReport<E> {
        let Some(position) = &self.position else {
            return WriteReport::new(None, None, HashSet::new());
        };
        let subject = position.operation.clone().zip(position.query);
        WriteReport::new(subject, position.from.clone(), position.keys().unwrap_or_default())
    }

    fn begin(&self, query: TableQuery<E, ()>) -> Result<Box<Run<E, W::Row>>> {
        self.writes.check()?;
        let (from, done) = match &self.position {
            Some(position) => (position.from.clone(), position.keys()?),
            None => Default::default(),
        };
        let walk = query.walk(&self.table, self.shape(), from, &self.options, self.settings.total)?;
        if let Some(position) = &self.position {
            position.check(self.settings.operation.name(), walk.identity)?;
        }
        let settings = EngineSettings {
            total: walk.total,
            ..self.settings.clone()
        };
        let options = walk.options.clone();
        let is_paced = settings.max_rate.is_some();
        let engine = Engine::new(self.table.pipeline(), self.table.name(), options, settings);
        let subject = (self.settings.operation.name().to_owned(), walk.identity);
        Ok(Box::new(Run {
            report: WriteReport::new(Some(subject), walk.from.clone(), done),
            engine: if is_paced { engine.paced() } else { engine },
            walk,
            is_repeatable: self.writes.is_repeatable(),
            rows: Vec::new().into_iter(),
            keys: Vec::new(),
            next: None,
        }))
    }

    /// Returns the form in which the rows are read.
    pub(crate) fn shape(&self) -> Shape<W::Row> {
        let mut shape = Shape::for_type();
        if self.select.is_some() {
            shape.form.select.clone_from(&self.select);
        }
        shape
    }

    fn step(&mut self, run: &mut Run<E, W::Row>, cx: &mut Context<'_>) -> Poll<Result<(), W::Error>> {
        loop {
            if let Err(e) = ready!(self.plan(run, cx)) {
                run.cancel();
                return Poll::Ready(Err(e));
            }
            while let Some(settled) = ready!(self.poll_outcome(run, cx)) {
                run.count(settled);
                if !run.engine.has_ready() {
                    self.report_progress(&run.report);
                }
            }
            // Checked last, so that operations in flight are reported too.
            if let Some(e) = run.engine.stopped() {
                return Poll::Ready(Err(e.into()));
            }
            match run.next.take() {
                Some((Some(next), last)) => {
                    run.report.page_done(next, last.as_ref());
                    self.report_progress(&run.report);
                }
                Some((None, _)) => return self.complete(run),
                None => {}
            }
            match ready!(run.walk.pages.poll_page(cx)) {
                Some(Ok(page)) => self.take(run, page),
                Some(Err(e)) => return Poll::Ready(Err(e.into())),
                None => return self.complete(run),
            }
        }
    }

    /// Returns the next outcome. First reports the rows that are about to be sent, if they may not be sent twice.
    fn poll_outcome(&mut self, run: &mut Run<E, W::Row>, cx: &mut Context<'_>) -> Poll<Option<Settled>> {
        if !run.is_repeatable {
            let started = run.engine.announce();
            let keys = started
                .iter()
                .filter_map(|index| run.keys.get(usize::try_from(*index).ok()?)?.as_ref());
            keys.for_each(|(key, _)| run.report.send(key.clone()));
            if !started.is_empty() {
                self.report_progress(&run.report);
            }
        }
        run.engine.poll_outcome(cx)
    }

    fn complete(&mut self, run: &mut Run<E, W::Row>) -> Poll<Result<(), W::Error>> {
        run.report.complete();
        self.report_progress(&run.report);
        Poll::Ready(Ok(()))
    }

    /// Takes the rows of a page, which are planned next.
    fn take(&self, run: &mut Run<E, W::Row>, page: Page<W::Row>) {
        let (next, page_is_cut) = (page.end.next().cloned(), page.end.is_cut);
        let rows = page.into_items();
        // Rows arrive in the order of their keys. Cosmos DB does not promise that, so no key is the last there.
        let is_ordered = self.table.pipeline().endpoint.profile().rules().is_ordered;
        let last = rows.last().filter(|_| is_ordered).map(|row| row.key().clone());
        // The error of a page that is cut follows, at the position of this page.
        run.next = (!page_is_cut).then_some((next, last));
        run.keys.clear();
        run.rows = rows.into_iter();
    }

    /// Plans the rows of the page. Pending when the turn is over.
    fn plan(&mut self, run: &mut Run<E, W::Row>, cx: &mut Context<'_>) -> Poll<Result<(), W::Error>> {
        while !run.rows.as_slice().is_empty() {
            if !run.engine.may_read(cx) {
                return Poll::Pending;
            }
            if let Some(row) = run.rows.next() {
                self.plan_row(run, row)?;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn plan_row(&mut self, run: &mut Run<E, W::Row>, row: W::Row) -> Result<(), W::Error> {
        let key = row.key().clone();
        if run.report.was_done(&key) {
            return Ok(());
        }
        match self.writes.plan(row)? {
            Plan::Write(operation) => run.push(key, operation, false),
            Plan::WriteBeside(operation) => run.push(key, operation, true),
            Plan::Keep => run.report.count_unchanged(key),
            Plan::Bad(bad) => match &run.walk.on_bad_row {
                Some(seen) => {
                    seen(&bad);
                    run.report.count_unchanged(key);
                }
                None => run.reject(key, bad.into_error()),
            },
            Plan::Reject(e) => {
                let e = e.at_entity(key.partition_key(), key.row_key());
                run.reject(key, e);
            }
        }
        Ok(())
    }
}

impl<E: TableEntity, Row> Run<E, Row> {
    fn push(&mut self, key: Key<E>, operation: TableOperation, has_unknown: bool) {
        self.engine.push(self.keys.len() as u64, operation);
        self.keys.push(Some((key, has_unknown)));
    }

    fn reject(&mut self, key: Key<E>, error: Error) {
        let outcome = WriteOutcome::Left(LeftoverReason::Rejected(self.engine.reject(error)));
        self.report.count(key, outcome, (false, self.is_repeatable));
    }

    fn count(&mut self, settled: Settled) {
        let index = usize::try_from(settled.index).ok();
        let key = index.and_then(|index| self.keys.get_mut(index)).and_then(Option::take);
        let is_delete = settled.operation.kind() == OperationKind::Delete;
        if let Some((key, has_unknown)) = key {
            self.report.count_unknown(has_unknown, &settled.outcome);
            self.report.count(key, settled.outcome, (is_delete, self.is_repeatable));
        }
    }

    /// Cancels the run before the page is sent.
    fn cancel(&mut self) {
        self.engine.cancel();
        while let Some(settled) = self.engine.take_ready() {
            self.count(settled);
        }
    }
}

impl<E, W, Row> QueryWrite<'_, E, W, Row> {
    /// Adds the operation and the table to an error.
    pub(crate) fn named(&self, error: Error) -> Error {
        error.in_operation(self.settings.operation, Some(self.table.name().as_str()))
    }

    /// Formats the builder of this name.
    pub(crate) fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Idle(_) => "not started",
            State::Running(_) | State::Atomic(_) => "running",
            State::Done => "done",
        };
        f.debug_struct(name)
            .field("table", &self.table.name().as_str())
            .field("state", &state)
            .field("concurrency", &self.settings.concurrency)
            .finish_non_exhaustive()
    }
}

/// Implements the setters of all writes over queries, and `Future`, for a struct with the field
/// `rows: QueryWrite<…>`. Options apply to each page and each batch.
macro_rules! query_write {
    ($name:ident <$life:lifetime> [$($parameter:ident),+], $error:ty, where $($bounds:tt)+) => {
        $crate::pipeline::options::call_options!($name<$life>[$($parameter),+], rows.options);
        $crate::client::poll::total_timeout::total_timeout!(
            $name<$life>[$($parameter),+],
            rows.settings.total,
            "At the deadline the operation ends with [`Interrupted`](crate::bulk::Interrupted), which holds the report \
             and an error of kind `Timeout`. Rows in flight are in doubt. Waiting rows are not attempted. Without this \
             limit, the query's limit applies."
        );

        impl<$life, $($parameter),+> $name<$life, $($parameter),+> {
            /// Sets the number of batches in flight: 4 by default, at least 1.
            ///
            /// Unless [`partition_concurrency`](Self::partition_concurrency) is set too, a higher number helps only if
            /// a page has rows of several partitions.
            pub fn concurrency(mut self, batches: usize) -> Self {
                self.rows.settings.concurrency = batches.max(1);
                self.rows.not_atomic.insert("concurrency");
                self
            }

            /// Sets the number of batches in flight per partition: 1 by default, which reaches the service's target of
            /// 2,000 entities/s per partition if a batch takes 50 ms.
            ///
            /// A page has at most 1,000 rows, so at most 10 batches are in flight.
            ///
            /// Source: REST "Scalability and performance targets for Table storage".
            pub fn partition_concurrency(mut self, batches: usize) -> Self {
                self.rows.settings.partition_concurrency = batches.max(1);
                self.rows.not_atomic.insert("partition_concurrency");
                self
            }

            /// Sets the number of rows that may be changed by others, rejected or in doubt: 1,000 by default.
            ///
            /// One more ends the whole operation. The report holds each of these rows.
            pub fn max_failures(mut self, most: usize) -> Self {
                self.rows.settings.failures = most as u64;
                self.rows.not_atomic.insert("max_failures");
                self
            }

            /// Limits the rows written per second across all partitions, to leave room for other clients.
            ///
            /// No limit by default. With one, throttled batches are sent again at a rate that adapts to the service's
            /// responses, as in a bulk.
            pub fn max_rate(mut self, rows_per_second: u32) -> Self {
                self.rows.settings.max_rate = Some(f64::from(rows_per_second.max(1)));
                self.rows.not_atomic.insert("max_rate");
                self
            }

            /// Calls `callback` with the report so far, after each batch and after each page.
            ///
            /// An `update_where` also calls it before each batch.
            ///
            /// Store its [`position`](crate::bulk::WriteReport::position) to resume in another process. The closure may
            /// borrow from the caller.
            pub fn on_progress(mut self, callback: impl FnMut(&$crate::client::batching::outcome::write_report::WriteReport<E>) + Send + $life) -> Self {
                self.rows.callback = Some(::std::boxed::Box::new(callback));
                self.rows.not_atomic.insert("on_progress");
                self
            }

            /// Resumes an earlier run over the same query.
            ///
            /// A limit of the query counts from zero again. The report does not include the leftovers of the earlier
            /// run: store them with the position, or run the query again from its start.
            pub fn resume_from(mut self, position: $crate::client::batching::outcome::write_position::WritePosition) -> Self {
                self.rows.position = Some(position);
                self.rows.not_atomic.insert("resume_from");
                self
            }
        }

        /// Nothing is pinned: rows are moved out.
        impl<$($parameter),+> Unpin for $name<'_, $($parameter),+> {}

        impl<$($parameter),+> ::std::future::Future for $name<'_, $($parameter),+>
        where
            $($bounds)+
        {
            type Output = azure_table_wire::error::Result<
                $crate::client::batching::outcome::write_report::WriteReport<E>,
                $crate::client::batching::outcome::interrupted::Interrupted<$crate::client::batching::outcome::write_report::WriteReport<E>, $error>,
            >;

            fn poll(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<Self::Output> {
                self.get_mut().rows.poll(cx)
            }
        }

        impl<$($parameter),+> ::std::fmt::Debug for $name<'_, $($parameter),+> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.rows.fmt_as(stringify!($name), f)
            }
        }
    };
}
pub(crate) use query_write;
