//! Reads back a write of the current call: sends the requests, and reports the outcome that `lost_write` decides.

use azure_table_wire::error::Result;
use azure_table_wire::error::diagnostics::{self, Diagnostics};
use azure_table_wire::error::in_doubt_write::parts::{LostAttempts, RowParts};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::transport::deadline::Deadline;

use crate::pipeline::Pipeline;
use crate::pipeline::attempt::Limits;
use crate::pipeline::lost_write::facts;
use crate::pipeline::lost_write::outcome::Resolution;
use crate::pipeline::lost_write::reading::Reading;
use crate::pipeline::lost_write::sent_time::SentTime;
use crate::pipeline::notifications::Notifications;
use crate::pipeline::options::CallOptions;
use crate::write::operation_request::OperationRequest;
use crate::write::row_write::{RowWrite, WrittenRow};

impl Pipeline {
    /// Reads back a write of this call. Also returns the rows of an applied write.
    ///
    /// All requests together take at most one `attempt_timeout`. Otherwise a service that accepts requests and never
    /// answers would cost the time of all retries before each retry of the write.
    pub(super) async fn read_back(
        &self,
        call: &OperationRequest,
        options: &CallOptions,
        limits: &Limits<'_>,
        attempts: LostAttempts,
        notifications: &mut Notifications<'_>,
    ) -> (Resolution, Vec<WrittenRow>) {
        let writes: Vec<RowWrite<'_>> = call.rows.iter().collect();
        let (Some(table), Some(first)) = (call.table.as_deref(), writes.first()) else {
            return (Resolution::unknown("the write has no rows"), Vec::new());
        };
        let mut options = options.clone().for_write().within(call);
        let ends = [
            limits.deadline,
            Deadline::after("attempt_timeout", limits.attempt_timeout),
        ];
        ends.into_iter().flatten().for_each(|end| options.end_at(end));
        let rows: Vec<RowParts> = writes.iter().map(facts::of_row).collect();
        let mut reading = Reading::new(table, first.partition_key, &rows, options.get().via_batch);
        let diagnostics = &mut notifications.history.diagnostics;
        let read = match self.read_rows(&mut reading, &options, diagnostics).await {
            Ok(()) => {
                let rules = self.endpoint.profile().rules();
                let shown = reading.shown(&SentTime::here(attempts, &reading.time), rules.reads_may_lag);
                let written = shown.written(&writes);
                (shown.resolution, written)
            }
            // The caller may have no permission to read.
            Err(_) => (Resolution::unknown("the rows were not read"), Vec::new()),
        };
        notifications.history.is_ruled_out = read.0 == Resolution::NotApplied;
        notifications.read_back(&read.0);
        read
    }

    /// Sends the requests that read the rows.
    async fn read_rows(
        &self,
        reading: &mut Reading<'_>,
        options: &CallOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        while let Some(request) = reading.next_request(&self.endpoint) {
            let mut request = request?;
            let run: BoxFuture<'_, _> = Box::pin(self.run(&mut request, options));
            let responded = run.await;
            let inner = match &responded {
                Ok(received) => &received.call.diagnostics,
                Err(e) => e.diagnostics(),
            };
            diagnostics::append(diagnostics, inner);
            reading.receive(responded?.end.into_response()?)?;
        }
        Ok(())
    }
}
