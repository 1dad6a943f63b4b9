//! Deletes a table and creates it again. The service rejects the creation while it is still deleting the table.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::value::clock::{self, Instant};

use crate::account::table_name::TableName;
use crate::client::ops::call_future::{CallFuture, Spec, call_future};
use crate::client::ops::steps::{RunSteps, Steps};
use crate::pipeline::Pipeline;
use crate::request::tables;

/// The pause between two attempts to create the table. The service takes at least 40 s to delete it.
///
/// Source: REST "Delete Table".
const PAUSE: Duration = Duration::from_secs(5);

/// The minimum time for another attempt.
const LAST_TRY: Duration = Duration::from_secs(1);

/// The progress of a [`RecreateTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecreateProgress {
    /// The service accepted the delete request, the table did not exist, or it was already being deleted.
    Deleted,
    /// The service is still deleting the table. The client tries to create it again after the pause.
    BeingDeleted {
        /// The time since the first request.
        elapsed: Duration,
        /// The time until the next attempt.
        pause: Duration,
    },
    /// This call has created the table, which is empty.
    Created,
}

/// Deletes a table and creates it again. See [`TableClient::recreate_table`](crate::TableClient::recreate_table).
#[must_use = "nothing is sent until it is awaited"]
pub struct RecreateTable {
    operation: CallFuture<Recreated>,
}

call_future!(RecreateTable -> ());

struct Recreated {
    /// Taken when it starts.
    table: Option<TableName>,
    total_timeout: Duration,
    progress: Progress,
}

type Progress = Box<dyn Fn(RecreateProgress) + Send>;

impl RecreateTable {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, total_timeout: Duration) -> Self {
        let spec = Recreated {
            table: Some(table.clone()),
            total_timeout,
            progress: Box::new(|_| {}),
        };
        Self {
            operation: CallFuture::with_steps(pipeline, OperationKind::RecreateTable, spec),
        }
    }

    /// Sets a callback that receives each step of the progress.
    pub fn on_progress(mut self, callback: impl Fn(RecreateProgress) + Send + 'static) -> Self {
        self.operation.spec.progress = Box::new(callback);
        self
    }
}

impl Spec for Recreated {
    type Output = ();

    fn take_steps(&mut self) -> Option<RunSteps<()>> {
        let (table, total_timeout) = (self.table.take()?, self.total_timeout);
        let progress = mem::replace(&mut self.progress, Box::new(|_| {}));
        Some(Box::new(move |steps| {
            Box::pin(recreate(steps, table, total_timeout, progress))
        }))
    }
}

/// Rejects a timeout that would end the call between the delete and the creation.
fn check_timeout(steps: &Steps, total_timeout: Duration) -> Result<()> {
    match steps.own_timeout {
        Some(timeout) if timeout < total_timeout => Err(Error::invalid_input(format!(
            "the call's timeout of {timeout:?} is below the total timeout of {total_timeout:?}: \
             leave the call's timeout out, or lower the total timeout"
        ))),
        _ => Ok(()),
    }
}

async fn recreate(steps: Steps, table: TableName, total_timeout: Duration, progress: Progress) -> Result<()> {
    check_timeout(&steps, total_timeout)
        .map_err(|e| e.in_operation(OperationKind::RecreateTable, Some(table.as_str())))?;
    let steps = steps.until(total_timeout);
    let started = Instant::now();
    let pause_after = |error: &Error| pause(error, total_timeout.saturating_sub(started.elapsed()));
    // A later failure says nothing about a request whose response was lost.
    let mut was_lost = false;
    loop {
        let delete = tables::delete_if_exists(steps.endpoint(), table.as_str());
        match steps.call(delete, tables::deleted_or_missing).await {
            Ok(_) => break,
            // The table is already being deleted.
            Err(e) if e.cause_kind() == ErrorKind::Conflict => break,
            Err(e) => {
                was_lost |= e.may_have_applied();
                match pause_after(&e) {
                    Some(pause) => clock::sleep(pause).await,
                    None => return Err(e.after_writes(was_lost)),
                }
            }
        }
    }
    progress(RecreateProgress::Deleted);
    // An attempt whose response was lost may have created the table. A later one that finds a table does not show whose
    // it is.
    let mut may_be_made = false;
    loop {
        let create = tables::create(steps.endpoint(), table.as_str());
        match steps.call(create, |response, _| tables::created(response)).await {
            Ok(()) => {
                progress(RecreateProgress::Created);
                return Ok(());
            }
            Err(e) => {
                may_be_made |= e.may_have_applied();
                let is_being_deleted = e.cause_kind() == ErrorKind::Conflict;
                match pause_after(&e) {
                    Some(pause) => {
                        if is_being_deleted {
                            let elapsed = started.elapsed();
                            progress(RecreateProgress::BeingDeleted { elapsed, pause });
                        }
                        clock::sleep(pause).await;
                    }
                    None if is_being_deleted => {
                        let why = format!(
                            "the table was still being deleted after the total timeout of {total_timeout:?}: create it \
                             later, or use another name"
                        );
                        return Err(e.after_writes(may_be_made).with_message(why));
                    }
                    None => return Err(e.after_writes(may_be_made)),
                }
            }
        }
    }
}

/// Returns the pause before the next attempt. `None` if the error is not transient, or no time remains.
fn pause(error: &Error, left: Duration) -> Option<Duration> {
    let may_pass = matches!(
        error.cause_kind(),
        ErrorKind::Conflict
            | ErrorKind::Connection
            | ErrorKind::ServerFault
            | ErrorKind::Throttled
            | ErrorKind::Timeout
    );
    // Each attempt needs time, including the last one.
    (may_pass && left >= LAST_TRY).then(|| PAUSE.min(left / 2))
}
