//! Reads one entity by its key, or checks that it exists.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::ops::call::Call;
use crate::client::ops::call_future::{CallFuture, Spec, call_future};
use crate::client::ops::start::already_completed;
use crate::client::poll::total_timeout::TotalTimeout;
use crate::client::shape::Shape;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::row::Row;
use crate::entity::table_entity::ReadEntity;
use crate::entity::versioned::Versioned;
use crate::filter::projection::Projection;
use crate::filter::select::Columns;
use crate::key::entity_key::Key;
use crate::pipeline::Pipeline;
use crate::request::get;
use crate::write::operation_request::OperationRequest;

/// Reads one entity of type `E` as a `P`. See [`TableClient::get`](crate::TableClient::get).
#[must_use = "nothing is sent until it is awaited"]
pub struct GetEntity<E, P = E> {
    operation: CallFuture<GetSpec<E, P>>,
}

call_future!(GetEntity[E, P] -> Option<P>);

struct GetSpec<E, P> {
    /// An error is taken when the request is built.
    key: Option<Result<Key<E>>>,
    shape: Shape<P>,
}

impl<E, P: ReadEntity> GetEntity<E, P> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, key: Result<Key<E>>) -> Self {
        let spec = GetSpec {
            key: Some(key),
            shape: Shape::for_type(),
        };
        Self {
            operation: CallFuture::new(pipeline, OperationKind::Get, Some(table), spec),
        }
    }

    /// Reads the entity with its ETag and Timestamp, so that it can be changed and written back.
    pub fn versioned(self) -> GetEntity<E, Versioned<P>> {
        let shape = self.operation.spec.shape.versioned();
        self.shaped(shape)
    }
}

impl<E, P> GetEntity<E, P> {
    /// Reads only the columns of the projection.
    pub fn project<Q: Projection<E>>(self) -> GetEntity<E, Q> {
        self.shaped(Shape::for_type())
    }

    /// Reads only these columns, as a tuple of their values.
    pub fn select<C: Columns<E>>(self, columns: C) -> GetEntity<E, C::Values>
    where
        C::Values: 'static,
    {
        self.shaped(Shape::for_columns(columns))
    }

    /// Reads only the properties with these names, known at run time. See
    /// [`TableQuery::select_names`](crate::TableQuery::select_names).
    pub fn select_names<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> GetEntity<E, DynamicEntity> {
        self.shaped(Shape::for_names(names.into_iter().map(Into::into).collect()))
    }

    /// Reads the row with a closure, which receives all properties with their types, and the ETag.
    #[doc(alias = "EntityResolver")]
    pub fn resolve<Q>(self, resolve: impl Fn(&Row<'_>) -> Result<Q> + Send + Sync + 'static) -> GetEntity<E, Q> {
        self.shaped(Shape::for_closure(resolve))
    }

    /// Runs the call on a spawned task.
    pub(crate) fn in_task(mut self) -> Self {
        self.operation.in_task = true;
        self
    }

    /// Limits the timeout to the rest of the total timeout.
    pub(crate) fn within(mut self, total: &TotalTimeout) -> Self {
        total.bound(&mut self.operation.options);
        self
    }

    fn shaped<Q>(self, shape: Shape<Q>) -> GetEntity<E, Q> {
        let operation = self.operation.map_spec(|spec| GetSpec { key: spec.key, shape });
        GetEntity { operation }
    }
}

impl<E, P> Spec for GetSpec<E, P> {
    type Output = Option<P>;

    fn request(&mut self, endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
        let Some(Ok(key)) = &self.key else {
            return Err(self.key.take().and_then(Result::err).unwrap_or_else(already_completed));
        };
        self.shape.form.check_select()?;
        get::request(
            endpoint,
            table,
            (key.partition_key(), key.row_key()),
            self.shape.form.select.as_deref(),
            self.shape.form.metadata,
        )
    }

    fn entities(&self, entity: &Option<P>) -> usize {
        usize::from(entity.is_some())
    }

    fn read_response(&mut self, response: Response<Bytes>, _: bool) -> Result<Option<P>> {
        let Some(Ok(key)) = &self.key else {
            return Err(already_completed());
        };
        let key = (key.partition_key(), key.row_key());
        let shape = &self.shape;
        let (metadata, is_of_members) = (shape.form.metadata, shape.is_of_members());
        get::read_response(response, key, metadata, is_of_members, |members| {
            shape.read_members(members)
        })
    }
}

/// Returns the call that checks that an entity exists. It reads the keys alone: the smallest possible response.
pub(crate) fn exists(pipeline: &Arc<Pipeline>, table: &TableName, key: Result<(String, String)>) -> Call<bool> {
    let form = Shape::for_nothing().form;
    let metadata = form.metadata;
    let (request, key) = match key {
        Ok(key) => {
            let texts = (key.0.as_str(), key.1.as_str());
            let select = form.select.as_deref();
            let request = get::request(&pipeline.endpoint, table.as_str(), texts, select, metadata);
            (request, key)
        }
        Err(e) => (Err(e), Default::default()),
    };
    Call::request(
        pipeline,
        OperationKind::Get,
        Some(table),
        request,
        move |response, _| {
            let there = get::read_response(response, (&key.0, &key.1), metadata, false, |_| Ok(()))?;
            Ok(there.is_some())
        },
    )
}
