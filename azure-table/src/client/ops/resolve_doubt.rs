//! Reads the rows of a write in doubt until they show whether it was applied.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::error::doubt::Doubt;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::response;
use azure_table_wire::value::clock::{self, Instant};

use crate::client::ops::call_future::{operation, polled_again};
use crate::client::ops::procedure::{Arguments, Procedure, Steps};
use crate::doubt::judge::{self, Judge, ReadTime, Resolution};
use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::ReadEntity;
use crate::pipeline::Pipeline;
use crate::request::get;
use crate::write::call::Call;

operation! {
    /// Resolves a write in doubt. See [`TableServiceClient::resolve_doubt`](crate::TableServiceClient::resolve_doubt).
    ResolveDoubt -> Resolution, Procedure<Resolving>
}

struct Resolving(Doubt);

impl ResolveDoubt {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, doubt: &Doubt) -> Self {
        Self {
            operation: Procedure::new(pipeline, Resolving(doubt.clone())),
        }
    }
}

fn read(endpoint: &Endpoint, table: &str, key: (&str, &str)) -> Result<Call> {
    get::call(endpoint, table, key, None, MetadataLevel::Minimal)
}

impl Arguments for Resolving {
    type Output = Resolution;

    const OPERATION: OperationKind = OperationKind::Get;

    fn first(self, endpoint: &Endpoint) -> Result<Call> {
        let doubt = judge::resolvable(&self.0, endpoint)?;
        let row = judge::rows_to_read(doubt).into_iter().next().ok_or_else(polled_again)?;
        read(endpoint, &doubt.table, (&doubt.partition_key, &row.row_key))
    }

    /// Reads the rows in sequence: the first row decides most writes.
    async fn run(self, steps: Steps) -> Result<Resolution> {
        let doubt = judge::resolvable(&self.0, steps.endpoint())?;
        let mut judge = Judge::new(&doubt.partition_key, &doubt.rows);
        for row in judge::rows_to_read(doubt) {
            let key = (&*doubt.partition_key, &*row.row_key);
            let call = read(steps.endpoint(), &doubt.table, key);
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
            let (stored, times) = steps.call(call, read).await?;
            if let Some(resolution) = judge.row(row, stored.as_ref(), times.as_ref()) {
                return Ok(resolution);
            }
        }
        Ok(judge.end())
    }
}
