//! Reads the rows of a write in doubt until they show whether it was applied.

use std::sync::Arc;

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::doubt::Doubt;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::response;
use azure_table_wire::value::clock::{self, Instant};

use crate::client::ops::call::Call;
use crate::doubt::judge::{self, Judge, ReadTime, Resolution};
use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::ReadEntity;
use crate::pipeline::Pipeline;
use crate::request::get;

/// Returns the call that resolves a write in doubt. It reads the rows in sequence: the first row decides most writes.
pub(crate) fn resolve_doubt(pipeline: &Arc<Pipeline>, doubt: &Doubt) -> Call<Resolution> {
    let doubt = doubt.clone();
    Call::steps(pipeline, OperationKind::Get, async move |steps| {
        let doubt = judge::resolvable(&doubt, steps.endpoint())?;
        let mut judge = Judge::new(&doubt.partition_key, &doubt.rows);
        for row in judge::rows_to_read(doubt) {
            let key = (&*doubt.partition_key, &*row.row_key);
            let request = get::request(steps.endpoint(), &doubt.table, key, None, MetadataLevel::Minimal);
            let read = |responded: http::Response<bytes::Bytes>, _| {
                let time = ReadTime {
                    service: response::date(responded.headers()),
                    own: clock::now(),
                    monotonic: Instant::now(),
                };
                let stored = get::read_response(
                    responded,
                    key,
                    MetadataLevel::Minimal,
                    false,
                    DynamicEntity::read_members,
                )?;
                Ok((stored, judge::times(doubt, time)))
            };
            let (stored, times) = steps.call(request, read).await?;
            if let Some(resolution) = judge.row(row, stored.as_ref(), times.as_ref()) {
                return Ok(resolution);
            }
        }
        Ok(judge.end())
    })
}
