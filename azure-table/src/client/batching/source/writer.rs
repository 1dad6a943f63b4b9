//! A writer that receives operations one by one over a long time, and sends them in batches.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::task::{Context, Poll};
use std::time::Duration;

use azure_table_wire::error::Result;

use crate::client::batching::engine::Input;
use crate::client::batching::outcome::bulk_report::BulkReport;
use crate::client::batching::outcome::interrupted::Interrupted;
use crate::client::batching::source::bulk_builder::Bulk;
use crate::client::batching::source::bulk_run::BulkRun;
use crate::client::poll::total_timeout::total_timeout;
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::AsEntity;
use crate::write::operation::TableOperation;

/// The default time that an operation waits for others.
const LINGER: Duration = Duration::from_millis(200);

/// A writer that receives operations one by one and sends them in batches, for logs and events.
///
/// A batch is sent when it is full. When the oldest waiting operation has waited for [`linger`](Self::linger), all
/// waiting operations are sent. Built by [`TableClient::writer`] or [`Bulk::writer`].
///
/// You drive the writer: it runs only in `send`, [`flush`](Self::flush), [`run_pending`](Self::run_pending) and
/// [`close`](Self::close), and spawns no task. If you do not drive it for the `attempt_timeout` (60 s by default), a
/// batch in flight may end in doubt when you next do. Until then it keeps its permit of `max_in_flight`. Call `close`
/// for the report, even after an error: operations still pending when the writer is dropped are never sent.
/// ```
/// use azure_table::{Emulator, TableEntity, TableServiceClient};
/// use std::time::Duration;
/// # #[derive(TableEntity)]
/// # struct Line { #[table(partition_key)] source: String, #[table(row_key)] id: u32, text: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let lines = TableServiceClient::from_transport(Emulator::new()).table::<Line>("Lines")?;
/// # lines.create_table().await?;
/// let (sender, mut events) = tokio::sync::mpsc::channel(100);
/// # for id in 0..10 { sender.try_send(Line { source: "web".into(), id, text: "GET /".into() }).unwrap(); }
/// # drop(sender);
/// let mut writer = lines.writer().linger(Duration::from_millis(100)).max_pending(5_000);
/// loop {
///     tokio::select! {
///         event = events.recv() => {
///             let Some(line) = event else { break };
///             // Waits when 5,000 are pending.
///             if writer.insert(&line).await.is_err() {
///                 break;                                      // the writer has ended: `line` is not in its report
///             }
///         }
///         () = writer.run_pending() => {}                           // while no event arrives
///     }
/// }
/// let report = match writer.close().await {
///     Ok(report) => report,
///     Err(interrupted) => {
///         let (error, report) = interrupted.into_parts();
///         eprintln!("{error}: {report}");
///         report
///     }
/// };
/// assert_eq!(report.applied(), 10);
/// for left in report.into_leftovers() {
///     println!("{left}");                                     // the reason, and the operation to send again
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "call `close()`: operations still pending when the writer is dropped are never sent"]
pub struct Writer<E> {
    run: BulkRun,
    entity: PhantomData<fn() -> E>,
}

total_timeout!(
    Writer[E],
    run.engine.settings.total,
    "At the deadline the writer accepts no more operations, and [`close`](Self::close) returns [`Interrupted`] with an \
     error of kind `Timeout` and the report. Operations in flight are in doubt. Waiting operations are not attempted."
);

impl<E> TableClient<E> {
    /// Returns a writer that receives operations one by one and sends them in batches: see [`Writer`].
    pub fn writer(&self) -> Writer<E> {
        self.bulk().writer()
    }
}

impl<E> Bulk<E> {
    /// Returns a [`Writer`] with these sizes, rates and limits.
    pub fn writer(self) -> Writer<E> {
        let mut run = self.plan.start();
        run.engine.input = Input::Open;
        run.engine.settings.linger = Some(LINGER);
        Writer {
            run,
            entity: PhantomData,
        }
    }
}

impl<E> Writer<E> {
    /// Sets the maximum time that an operation waits for its batch to fill: 200 ms by default.
    ///
    /// This applies only while you drive the writer.
    pub fn linger(mut self, time: Duration) -> Self {
        self.run.engine.settings.linger = Some(time);
        self
    }

    /// Limits the number of operations that wait or are in flight: 20,000 by default.
    ///
    /// These operations and the bodies in flight take at most 64 MiB together. At the limit `send` waits.
    pub fn max_pending(mut self, operations: usize) -> Self {
        self.run.engine.settings.pending = operations.max(1);
        self
    }

    /// Accepts an operation.
    ///
    /// Waits while [`max_pending`](Self::max_pending) is reached, by the number of operations or by their size.
    ///
    /// If you drop the future before it completes, the operation is not accepted.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the error that ended the writer: see [`BulkWrite`](crate::bulk::BulkWrite). The operation is then not
    /// accepted. The error says nothing about earlier operations: [`close`](Self::close) returns their report.
    pub async fn send(&mut self, operation: TableOperation) -> Result<()> {
        let mut operation = Some(operation);
        poll_fn(|cx| {
            self.go_on(cx);
            if let Some(error) = self.run.engine.stopped() {
                return Poll::Ready(Err(error));
            }
            // Otherwise a loop of sends would never yield to other tasks.
            if !self.run.engine.may_read(cx) {
                return self.pending();
            }
            if self.run.engine.pending() >= self.run.engine.settings.pending || !self.run.engine.is_room() {
                return self.pending();
            }
            if let Some(operation) = operation.take() {
                self.run.push(operation);
                self.go_on(cx);
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Sends an insert: see [`send`](Self::send).
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// See `send`.
    pub async fn insert(&mut self, entity: &impl AsEntity<E>) -> Result<()> {
        self.send(TableOperation::insert(entity)).await
    }

    /// Sends an insert-or-replace: see [`send`](Self::send).
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// See `send`.
    pub async fn insert_or_replace(&mut self, entity: &impl AsEntity<E>) -> Result<()> {
        self.send(TableOperation::insert_or_replace(entity)).await
    }

    /// Sends an insert-or-merge: see [`send`](Self::send).
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// See `send`.
    pub async fn insert_or_merge(&mut self, entity: &impl AsEntity<E>) -> Result<()> {
        self.send(TableOperation::insert_or_merge(entity)).await
    }

    /// Sends all pending operations, in batches that may not be full, and waits until each has its outcome.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the error that ended the writer. As with [`send`](Self::send), it says nothing about single operations.
    pub async fn flush(&mut self) -> Result<()> {
        self.run.engine.flushes = true;
        poll_fn(|cx| {
            self.go_on(cx);
            if let Some(error) = self.run.engine.stopped() {
                return Poll::Ready(Err(error));
            }
            match self.run.engine.pending() {
                0 => Poll::Ready(Ok(())),
                _ => self.pending(),
            }
        })
        .await
    }

    /// Drives pending operations while it is polled.
    ///
    /// Never completes: use it in a `select!` beside the source of operations.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub async fn run_pending(&mut self) {
        poll_fn(|cx| {
            self.go_on(cx);
            self.pending()
        })
        .await
    }

    /// Returns the report so far. Its leftovers are in the order in which they failed; [`close`](Self::close) sorts
    /// them by their operations.
    pub fn report(&self) -> &BulkReport {
        &self.run.report
    }

    /// Sends all pending operations and returns the report.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the errors of awaiting [`BulkWrite`](crate::bulk::BulkWrite).
    pub async fn close(mut self) -> Result<BulkReport, Interrupted<BulkReport>> {
        self.run.engine.input = Input::Closed;
        poll_fn(|cx| {
            self.go_on(cx);
            if self.run.engine.is_over() {
                Poll::Ready(())
            } else {
                self.pending()
            }
        })
        .await;
        let (report, error) = self.run.into_report();
        match error {
            None => Ok(report),
            Some(e) => Err(Interrupted::new(e, report)),
        }
    }

    /// Ends the turn.
    fn pending<T>(&mut self) -> Poll<T> {
        self.run.engine.turn.end();
        Poll::Pending
    }

    /// Polls the run until it is pending, and records the outcomes.
    fn go_on(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(())) = self.run.poll_recorded(cx) {}
    }
}

impl<E> fmt::Debug for Writer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("pending", &self.run.engine.pending())
            .field("report", &self.run.report)
            .finish_non_exhaustive()
    }
}
