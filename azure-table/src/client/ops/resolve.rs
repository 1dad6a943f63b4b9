//! Resolves a write in doubt that a user stored: reads its rows back, as the call itself does.

use std::sync::Arc;

use azure_table_wire::error::in_doubt_write::InDoubtWrite;
use azure_table_wire::error::operation_kind::OperationKind;

use crate::client::ops::call::Call;
use crate::pipeline::Pipeline;
use crate::pipeline::lost_write::facts;
use crate::pipeline::lost_write::outcome::Resolution;
use crate::pipeline::lost_write::reading::Reading;
use crate::pipeline::lost_write::sent_time::SentTime;

/// Returns the call that resolves a write in doubt.
pub(crate) fn resolve(pipeline: &Arc<Pipeline>, write: &InDoubtWrite) -> Call<Resolution> {
    let write = write.clone();
    Call::steps(pipeline, OperationKind::Query, async move |steps| {
        let write = facts::resolvable(&write, steps.endpoint())?;
        let mut reading = Reading::new(
            &write.table,
            &write.partition_key,
            &write.rows,
            steps.options.get().via_batch,
        );
        while let Some(request) = reading.next_request(steps.endpoint()) {
            steps.call(request, |response, _| reading.receive(response)).await?;
        }
        let (sent, rules) = (
            SentTime::stored(write, &reading.time),
            steps.endpoint().profile().rules(),
        );
        Ok(reading.shown(&sent, rules.reads_may_lag).resolution)
    })
}
