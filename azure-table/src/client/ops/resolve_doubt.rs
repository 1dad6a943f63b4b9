//! Reads the rows of a write in doubt until they show whether it was applied.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::error::doubt::Doubt;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::response;
use azure_table_wire::value::clock::{self, Instant};

use crate::client::ops::operation::{ended, operation};
use crate::client::ops::procedure::{Arguments, Procedure, Steps};
use crate::doubt::judge::{Judge, ReadTime, Resolution};
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
        let judge = Judge::new(&self.0, endpoint)?;
        let key = judge.keys().into_iter().next().ok_or_else(ended)?;
        read(endpoint, judge.table(), key)
    }

    /// Reads the rows in sequence: the first row decides most writes.
    async fn run(self, steps: Steps) -> Result<Resolution> {
        let mut judge = Judge::new(&self.0, steps.endpoint())?;
        for key in judge.keys() {
            let call = read(steps.endpoint(), judge.table(), key);
            let read = |responded: http::Response<bytes::Bytes>, _| {
                let time = ReadTime {
                    service: response::date(responded.headers()),
                    own: clock::now(),
                    monotonic: Instant::now(),
                };
                let row = get::read_response(responded, key, MetadataLevel::Minimal, DynamicEntity::read)?;
                Ok((row, time))
            };
            let (row, time) = steps.call(call, read).await?;
            if let Some(resolution) = judge.row(key.1, row.as_ref(), time) {
                return Ok(resolution);
            }
        }
        Ok(judge.end())
    }
}
