//! Writes over the rows of a query, page by page.
//!
//! Owns the walk: a page is read, each of its rows planned, the writes of one partition cut into batches, and several batches are
//! on their way at once; the next page is read when all have their outcome. So no more than a page is held, and the place is known
//! to the row. Polled by hand and not boxed, so that neither entity nor closure needs to be `'static` or `Send`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream as _;

use crate::client::bulk::interrupted::Interrupted;
use crate::client::bulk::known::Known;
use crate::client::bulk::partition_write::{Outcome, PartitionWrite, Written};
use crate::client::bulk::plan::{Plan, WritesRows};
use crate::client::bulk::position::WritePosition;
use crate::client::bulk::report::WriteReport;
use crate::client::ops::operation::ended;
use crate::client::query::TableQuery;
use crate::client::query::page::Page;
use crate::client::query::selects::Walk;
use crate::client::table::TableClient;
use crate::client::total_timeout::TotalTimeout;
use crate::model::entity::TableEntity;
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::model::operation_kind::OperationKind;
use crate::pipeline::options::CallOptions;
use crate::pipeline::transport::BoxFuture;
use crate::protocol::batch::MAX_BATCH_OPERATIONS;
use crate::protocol::continuation::Continuation;
use crate::protocol::operation::TableOperation;

/// How many batches are on their way at once, by default: one for each partition.
const CONCURRENCY: usize = 4;
/// How many rows may fail, by default: they are held in memory, and more of them mean that something else is wrong.
const MOST_FAILURES: usize = 1_000;

/// Writes that have not begun, go on, or have ended.
pub(crate) struct RowWrites<E, W, Row> {
    table: TableClient<E>,
    pub(crate) writes: W,
    pub(crate) options: CallOptions,
    pub(crate) total: TotalTimeout,
    pub(crate) concurrency: usize,
    pub(crate) most_failures: usize,
    pub(crate) position: Option<WritePosition>,
    pub(crate) hear: Option<Box<Hear<E>>>,
    state: State<E, Row>,
}

/// How they end.
type Ended<E, A> = Result<WriteReport<E>, Interrupted<WriteReport<E>, A>>;

type Hear<E> = dyn FnMut(&WriteReport<E>) + Send;

enum State<E, Row> {
    Idle(Box<TableQuery<E, ()>>),
    Running(Box<Run<E, Row>>),
    Done,
}

struct Run<E, Row> {
    walk: Walk<Row>,
    /// The position behind the page that is written, and the greatest key of that page.
    next: Option<(Option<Continuation>, Option<Key<E>>)>,
    waiting: VecDeque<RowBatch<E>>,
    running: Vec<RunningBatch<E>>,
    stopped: Option<Arc<Error>>,
    report: WriteReport<E>,
}

/// Writes of one partition, as many as fit into a batch by number; the operations are taken when it runs.
struct RowBatch<E> {
    keys: Vec<Key<E>>,
    operations: Vec<TableOperation>,
}

/// A batch in flight.
struct RunningBatch<E> {
    batch: RowBatch<E>,
    known: Known,
    write: BoxFuture<'static, Written>,
}

impl<E> RowBatch<E> {
    fn partition_key(&self) -> Option<&str> {
        self.keys.first().map(Key::partition_key)
    }
}

impl<E, W, Row> RowWrites<E, W, Row> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>, writes: W) -> Self {
        Self {
            table: table.clone(),
            writes,
            options: CallOptions::new(),
            total: TotalTimeout::default(),
            concurrency: CONCURRENCY,
            most_failures: MOST_FAILURES,
            position: None,
            hear: None,
            state: State::Idle(Box::new(query)),
        }
    }

    fn told(&mut self, report: &WriteReport<E>) {
        if let Some(hear) = &mut self.hear {
            hear(report);
        }
    }
}

impl<E: TableEntity, W: WritesRows<E>> RowWrites<E, W, W::Row> {
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended<E, W::Error>> {
        let begun = match mem::replace(&mut self.state, State::Done) {
            State::Idle(query) => self.begin(*query),
            State::Running(run) => Ok(run),
            State::Done => Err(ended()),
        };
        let mut run = match begun {
            Ok(run) => run,
            Err(e) => {
                let e = e.in_operation(W::OPERATION, Some(self.table.name().as_str()));
                let report = self.untouched();
                return Poll::Ready(Err(Interrupted::new(e.into(), report)));
            }
        };
        match self.step(&mut run, cx) {
            Poll::Pending => {
                self.state = State::Running(run);
                Poll::Pending
            }
            Poll::Ready(Ok(())) => Poll::Ready(Ok(run.report)),
            Poll::Ready(Err(e)) => Poll::Ready(Err(Interrupted::new(e, run.report))),
        }
    }

    /// The report of writes that did not begin: their place is where they would have.
    fn untouched(&self) -> WriteReport<E> {
        let Some(position) = &self.position else {
            return WriteReport::new(None, HashSet::new());
        };
        let report = WriteReport::new(position.from.clone(), position.keys().unwrap_or_default());
        match (&position.operation, position.query) {
            (Some(operation), Some(query)) => report.of(operation, query),
            _ => report,
        }
    }

    fn begin(&self, query: TableQuery<E, ()>) -> Result<Box<Run<E, W::Row>>> {
        self.writes.check()?;
        let (from, done) = match &self.position {
            Some(position) => (position.from.clone(), position.keys()?),
            None => Default::default(),
        };
        let walk = query.walk(&self.table, from, &self.options, self.total)?;
        if let Some(position) = &self.position {
            position.check(W::OPERATION.name(), walk.identity)?;
        }
        Ok(Box::new(Run {
            report: WriteReport::new(walk.from.clone(), done).of(W::OPERATION.name(), walk.identity),
            walk,
            next: None,
            waiting: VecDeque::new(),
            running: Vec::new(),
            stopped: None,
        }))
    }

    fn step(&mut self, run: &mut Run<E, W::Row>, cx: &mut Context<'_>) -> Poll<Result<(), W::Error>> {
        loop {
            let is_out_of_time = run.walk.total.is_over();
            if run.stopped.is_none() && !is_out_of_time {
                self.start(run);
            }
            if self.finish(run, cx) {
                continue;
            }
            if is_out_of_time {
                self.give_up(run);
            }
            if !run.running.is_empty() {
                return Poll::Pending;
            }
            // Only now, so that what was on its way is told of too.
            if let Some(e) = run.stopped.take() {
                return Poll::Ready(Err(e.copy().into()));
            }
            match run.next.take() {
                Some((Some(next), last)) => {
                    run.report.tell_page(next, last.as_ref());
                    self.told(&run.report);
                }
                Some((None, _)) => return self.complete(run),
                None => {}
            }
            match ready!(Pin::new(&mut run.walk.pages).poll_next(cx)) {
                Some(Ok(page)) => self.plan(run, page)?,
                Some(Err(e)) => return Poll::Ready(Err(e.into())),
                None => return self.complete(run),
            }
        }
    }

    fn complete(&mut self, run: &mut Run<E, W::Row>) -> Poll<Result<(), W::Error>> {
        run.report.tell_complete();
        self.told(&run.report);
        Poll::Ready(Ok(()))
    }

    /// Plans the rows of a page. They come in the order of their keys, but Cosmos DB does not promise that.
    fn plan(&mut self, run: &mut Run<E, W::Row>, page: Page<W::Row>) -> Result<(), W::Error> {
        let next = page.continuation().cloned();
        let mut open = HashMap::<String, usize>::new();
        // Cosmos DB promises no order, so nothing is last.
        let is_ordered = self.table.pipeline().endpoint.profile().rules().is_ordered;
        let mut last = None;
        for row in page.into_items() {
            let key = W::key(&row).clone();
            if is_ordered {
                last = Some(key.clone());
            }
            if run.report.was_done(&key) {
                continue;
            }
            let operation = match self.writes.plan(row)? {
                Plan::Write(operation) => operation,
                Plan::Keep => {
                    run.report.tell_unchanged(key);
                    continue;
                }
                Plan::Bad(bad) => {
                    match &run.walk.on_bad_row {
                        Some(seen) => {
                            seen(&bad);
                            run.report.tell_unchanged(key);
                        }
                        None => self.refuse(run, key, bad.into_error()),
                    }
                    continue;
                }
                Plan::Refuse(e) => {
                    let e = e.at_entity(key.partition_key(), key.row_key());
                    self.refuse(run, key, e);
                    continue;
                }
            };
            let last = open.get(key.partition_key()).and_then(|at| run.waiting.get_mut(*at));
            match last.filter(|batch| batch.keys.len() < MAX_BATCH_OPERATIONS) {
                Some(batch) => {
                    batch.keys.push(key);
                    batch.operations.push(operation);
                }
                None => {
                    open.insert(key.partition_key().to_owned(), run.waiting.len());
                    run.waiting.push_back(RowBatch {
                        keys: vec![key],
                        operations: vec![operation],
                    });
                }
            }
        }
        run.next = Some((next, last));
        Ok(())
    }

    fn refuse(&self, run: &mut Run<E, W::Row>, key: Key<E>, error: Error) {
        let error = error.in_operation(W::OPERATION, Some(self.table.name().as_str()));
        run.report.tell_failed(key, Arc::new(error), W::IS_REPEATABLE);
        self.stop_if_too_many(run);
    }

    /// Puts batches on their way. Those of one partition follow one another: a partition takes 2,000 entities a second, which one
    /// batch after the other asks of it.
    ///
    /// Source: REST "Scalability and performance targets for Table storage".
    fn start(&self, run: &mut Run<E, W::Row>) {
        while run.running.len() < self.concurrency {
            let is_busy = |batch: &RowBatch<E>| {
                let mut running = run.running.iter();
                running.any(|running| running.batch.partition_key() == batch.partition_key())
            };
            let Some(mut batch) = run
                .waiting
                .iter()
                .position(|batch| !is_busy(batch))
                .and_then(|at| run.waiting.remove(at))
            else {
                return;
            };
            let operations = mem::take(&mut batch.operations);
            let write = PartitionWrite::new(self.table.pipeline(), self.table.name(), &run.walk.options, operations);
            let write = write.within(run.walk.total);
            run.running.push(RunningBatch {
                batch,
                known: write.known(),
                write: Box::pin(write.run()),
            });
        }
    }

    /// Takes in the batches that have ended. Whether there were any.
    fn finish(&mut self, run: &mut Run<E, W::Row>, cx: &mut Context<'_>) -> bool {
        let mut ended = Vec::new();
        run.running.retain_mut(|running| match running.write.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(written) => {
                ended.push((mem::take(&mut running.batch.keys), written));
                false
            }
        });
        let any = !ended.is_empty();
        for (keys, Written { outcomes, stopped }) in ended {
            Self::take_in(run, keys, outcomes);
            let stopped = stopped.map(|error| match run.walk.total.ended(&error) {
                true => self.out_of_time(run),
                false => error,
            });
            run.stopped = run.stopped.take().or(stopped);
            self.stop_if_too_many(run);
            self.told(&run.report);
        }
        any
    }

    fn take_in(run: &mut Run<E, W::Row>, keys: Vec<Key<E>>, outcomes: Vec<Outcome>) {
        for (key, outcome) in keys.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Applied(kind, _) => run.report.tell_applied(key, kind == OperationKind::Delete),
                Outcome::Failed(e) | Outcome::Gone(e) => run.report.tell_failed(key, e, W::IS_REPEATABLE),
                Outcome::NotTried => {}
            }
        }
    }

    /// Ends it because its time is over: what is in flight is in doubt, what waits was not tried.
    fn give_up(&mut self, run: &mut Run<E, W::Row>) {
        if run.running.is_empty() && run.waiting.is_empty() {
            return;
        }
        let error = Arc::new(run.walk.total.error().maybe_applied(true));
        for RunningBatch { batch, known, write } in mem::take(&mut run.running) {
            drop(write);
            Self::take_in(run, batch.keys, known.given_up(&error));
        }
        run.stopped = run.stopped.take().or_else(|| Some(self.out_of_time(run)));
        self.told(&run.report);
    }

    fn out_of_time(&self, run: &Run<E, W::Row>) -> Arc<Error> {
        let error = run.walk.total.error();
        Arc::new(error.in_operation(W::OPERATION, Some(self.table.name().as_str())))
    }

    fn stop_if_too_many(&self, run: &mut Run<E, W::Row>) {
        let report = &run.report;
        let failed = report.failures().len() + report.in_doubt().len();
        let last = report.failures().last().or(report.in_doubt().last());
        if let (Some(last), None, true) = (last, &run.stopped, failed > self.most_failures) {
            let why = format!(
                "{failed} rows failed, and `.failures(..)` allows {}; the last: {last}",
                self.most_failures
            );
            let error = Error::new(last.error().kind(), why);
            run.stopped = Some(Arc::new(
                error.in_operation(W::OPERATION, Some(self.table.name().as_str())),
            ));
        }
    }
}

impl<E, W, Row> RowWrites<E, W, Row> {
    /// As the builder of this name shows itself.
    pub(crate) fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Idle(_) => "not begun",
            State::Running(_) => "running",
            State::Done => "done",
        };
        f.debug_struct(name)
            .field("table", &self.table.name().as_str())
            .field("state", &state)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
