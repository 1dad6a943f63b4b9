//! Read one entity by its key.

use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::model::entity::ReadEntity;
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::model::versioned::Versioned;
use crate::pipeline::run::Pipeline;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::get;
use crate::protocol::request::Call;

/// Reads one entity of type `E` as a `P`. See [`TableClient::get`](crate::TableClient::get).
#[must_use = "nothing is sent until it is awaited"]
pub struct GetEntity<E, P = E>
where
    P: ReadEntity,
{
    operation: Operation<GetSpec<E, P>>,
}
operation!(GetEntity[E, P: ReadEntity], Option<P>);

struct GetSpec<E, P> {
    table: TableName,
    /// Taken when the request is made.
    key: Option<Result<Key<E>>>,
    shape: PhantomData<fn() -> P>,
}

impl<E, P: ReadEntity> GetEntity<E, P> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, key: Result<Key<E>>) -> Self {
        let spec = GetSpec {
            table: table.clone(),
            key: Some(key),
            shape: PhantomData,
        };
        Self {
            operation: Operation::new(pipeline, spec),
        }
    }

    /// Reads the entity with its ETag and Timestamp: the form from which it is changed and written back.
    pub fn versioned(self) -> GetEntity<E, Versioned<P>> {
        let operation = self.operation.map_spec(|spec| GetSpec {
            table: spec.table,
            key: spec.key,
            shape: PhantomData,
        });
        GetEntity { operation }
    }
}

impl<E, P: ReadEntity> Spec for GetSpec<E, P> {
    type Output = Option<P>;

    fn subject(&self) -> (&'static str, Option<&str>) {
        (get::OPERATION, Some(self.table.as_str()))
    }

    fn call(&mut self, endpoint: &Endpoint) -> Result<Call> {
        let key = self
            .key
            .take()
            .unwrap_or_else(|| Err(Error::invalid_input("the call was made before")))?;
        get::call(
            endpoint,
            self.table.as_str(),
            (key.partition_key(), key.row_key()),
            P::SELECT,
            P::METADATA,
        )
    }

    fn answer(&mut self, response: Response<Bytes>) -> Result<Option<P>> {
        get::answer(response)
    }
}
