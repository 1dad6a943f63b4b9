//! Writes that come one by one, over a long time, and leave in batches.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::client::bulk::bulk_builder::Bulk;
use crate::client::bulk::bulk_report::{BulkOutcome, BulkReport};
use crate::client::bulk::bulk_run::BulkRun;
use crate::client::bulk::engine::Input;
use crate::client::bulk::interrupted::Interrupted;
use crate::client::table::TableClient;
use crate::client::total_timeout::total_timeout;
use crate::model::entity::WritesEntity;
use crate::model::error::Result;
use crate::model::variant_mark::{AsVariant, MarkedVariant};
use crate::protocol::operation::TableOperation;

/// How long an operation waits for others, by default.
const LINGER: Duration = Duration::from_millis(200);

/// Takes writes one by one and sends them in batches, when one is full or its first has waited long enough: for logs and events.
/// Made by [`TableClient::writer`] or [`Bulk::writer`].
///
/// Its caller drives it: things go on in `send`, [`flush`](Self::flush), [`drive`](Self::drive) and [`close`](Self::close), and in
/// no hidden task; a batch on its way that nobody drives for the time of an attempt (60 s by default) ends in doubt. Close it,
/// for what became of all of them, and even after an error: what was not sent when it is dropped is lost, and so is the report.
///
/// ```
/// use azure_table::{Emulator, TableEntity, TableServiceClient};
/// use std::time::Duration;
/// # #[derive(TableEntity)]
/// # struct Line { #[table(partition_key)] source: String, #[table(row_key)] id: u32, text: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let lines = TableServiceClient::on(Emulator::new()).table::<Line>("Lines")?;
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
///                 break;                                      // it takes no more: `line` is not in its report
///             }
///         }
///         () = writer.drive() => {}                           // while nothing comes
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
///     println!("{left}");                                     // why, and the operation to be sent again
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "it has to be closed: what was not sent when it is dropped is lost"]
pub struct Writer<E> {
    run: BulkRun,
    /// The variant whose rows alone it writes.
    variant: Option<&'static MarkedVariant>,
    entity: PhantomData<fn() -> E>,
}

total_timeout!(
    Writer[E],
    run.engine.settings.total,
    "When it is over, the writer takes no more, and [`close`](Self::close) is [`Interrupted`] by an error of kind `Timeout`, with its \
     report: operations in flight are in doubt, those that wait are not tried."
);

impl<E> TableClient<E> {
    /// Takes writes one by one and sends them in batches: see [`Writer`].
    pub fn writer(&self) -> Writer<E> {
        self.bulk().writer()
    }
}

impl<E> Bulk<E> {
    /// A [`Writer`] with these sizes, rates and limits.
    pub fn writer(self) -> Writer<E> {
        let variant = self.variant();
        let mut run = self.run();
        run.engine.input = Input::Open;
        run.engine.settings.linger = Some(LINGER);
        Writer {
            run,
            variant,
            entity: PhantomData,
        }
    }
}

impl<E> Writer<E> {
    /// How long an operation waits at most for its batch to be full, while the writer is driven: 200 ms by default.
    pub fn linger(mut self, time: Duration) -> Self {
        self.run.engine.settings.linger = Some(time);
        self
    }

    /// How many operations are pending at most, on their way or before: 20,000 by default. More wait in `send`.
    pub fn max_pending(mut self, operations: usize) -> Self {
        self.run.engine.settings.pending = operations.max(1);
        self
    }

    /// Takes an operation; waits while too many are pending. It is not taken if this is dropped before its end.
    ///
    /// # Errors
    /// What ended all: see [`BulkWrite`](crate::BulkWrite). The operation is not taken then; [`close`](Self::close) has the
    /// report.
    pub async fn send(&mut self, operation: TableOperation) -> Result<()> {
        let mut operation = Some(operation);
        poll_fn(|cx| {
            self.go_on(cx);
            if let Some(error) = self.run.engine.stopped() {
                return Poll::Ready(Err(error));
            }
            if self.run.engine.pending() >= self.run.engine.settings.pending || !self.run.engine.is_room() {
                return Poll::Pending;
            }
            if let Some(operation) = operation.take() {
                self.run.push(operation);
                self.go_on(cx);
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// [`send`](Self::send) of an insert.
    ///
    /// # Errors
    /// As `send`.
    pub async fn insert(&mut self, entity: &impl WritesEntity<E>) -> Result<()> {
        let entity = AsVariant::new(entity, self.variant);
        self.send(TableOperation::insert(&entity)).await
    }

    /// [`send`](Self::send) of an insert-or-replace.
    ///
    /// # Errors
    /// As `send`.
    pub async fn insert_or_replace(&mut self, entity: &impl WritesEntity<E>) -> Result<()> {
        let entity = AsVariant::new(entity, self.variant);
        self.send(TableOperation::insert_or_replace(&entity)).await
    }

    /// [`send`](Self::send) of an insert-or-merge.
    ///
    /// # Errors
    /// As `send`.
    pub async fn insert_or_merge(&mut self, entity: &impl WritesEntity<E>) -> Result<()> {
        let entity = AsVariant::new(entity, self.variant);
        self.send(TableOperation::insert_or_merge(&entity)).await
    }

    /// Sends what is pending, full batches or not, and waits until all have their outcome.
    ///
    /// # Errors
    /// What ended all.
    pub async fn flush(&mut self) -> Result<()> {
        self.run.engine.flushes = true;
        poll_fn(|cx| {
            self.go_on(cx);
            if let Some(error) = self.run.engine.stopped() {
                return Poll::Ready(Err(error));
            }
            match self.run.engine.pending() {
                0 => Poll::Ready(Ok(())),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Goes on with what is pending, for as long as it is polled: beside whatever brings the next operation. Never ends by itself.
    pub async fn drive(&mut self) {
        poll_fn(|cx| {
            self.go_on(cx);
            Poll::Pending
        })
        .await
    }

    /// What was done so far. Rows that are left are among its leftovers.
    pub fn report(&self) -> &BulkReport {
        &self.run.report
    }

    /// Sends what is pending and gives the report.
    ///
    /// # Errors
    /// As awaiting [`BulkWrite`](crate::BulkWrite).
    pub async fn close(mut self) -> Result<BulkReport, Interrupted<BulkReport>> {
        self.run.engine.input = Input::Closed;
        poll_fn(|cx| {
            self.go_on(cx);
            match self.run.engine.is_over() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        let (report, error) = self.run.into_report();
        match error {
            None => Ok(report),
            Some(e) => Err(Interrupted::new(e, report)),
        }
    }

    /// Lets the run go on as far as it can, and takes in the outcomes.
    fn go_on(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(outcome)) = self.run.poll_outcome(cx) {
            if let BulkOutcome::Left(leftover) = outcome {
                self.run.report.keep(leftover);
            }
        }
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
