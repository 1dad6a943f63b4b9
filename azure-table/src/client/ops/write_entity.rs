//! The writes of single entities: insert, replace, merge, insert or replace, insert or merge, delete, any operation.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::response;
use azure_table_wire::value::etag::{self, ETag};
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::ops::call_future::{CallFuture, Spec, operation, polled_again};
use crate::doubt::read_back::WrittenRow;
use crate::entity::table_entity::ReadEntity;
use crate::entity::versioned::Versioned;
use crate::key::key_texts::KeyTexts;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::request::tables::{self, Deletion};
use crate::write::call::Call;
use crate::write::operation::TableOperation;
use crate::write::table_result::{self, Requested, TableResult};

/// The setters of conditional writes.
macro_rules! conditions {
    ($name:ident) => {
        impl $name {
            /// Requires that the stored entity has this ETag.
            ///
            /// Otherwise the call fails with [`ConditionNotMet`](crate::ErrorKind::ConditionNotMet). A text that is no
            /// ETag fails with [`InvalidInput`](crate::ErrorKind::InvalidInput) before anything is sent.
            pub fn if_match(mut self, etag: azure_table_wire::value::etag::ETag) -> Self {
                self.operation.spec.change(|operation| operation.if_match(etag));
                self
            }

            /// Requires only that the entity exists, whatever its ETag.
            pub fn unconditionally(mut self) -> Self {
                self.operation.spec.change(TableOperation::unconditionally);
                self
            }
        }
    };
}

/// Defines the builder of a write: its output, the reading of its result, and the rejection that is a regular result.
macro_rules! write_operation {
    (
        $(#[$doc:meta])+
        $name:ident $([$entity:ident])? -> $output:ty, $read:expr $(, or $status:literal: $rejected:expr)?
    ) => {
        operation! {
            $(#[$doc])+
            $name $([$entity])? -> $output, CallFuture<WriteSpec<$output>>
        }

        impl $(<$entity: ReadEntity>)? $name $(<$entity>)? {
            pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
                let requested = operation.requested();
                let spec = WriteSpec {
                    requested,
                    operation: Some(operation),
                    key: None,
                    output: $read,
                    rejection: None $(.or(Some(($status, $rejected))))?,
                };
                Self {
                    operation: CallFuture::new(pipeline, requested.kind, Some(table), spec),
                }
            }
        }
    };
}

write_operation! {
    /// Executes one operation. See [`TableClient::execute`](crate::TableClient::execute).
    ExecuteOperation -> TableResult, Ok
}

impl ExecuteOperation {
    /// Sets the options, which already contain the client's.
    pub(crate) fn of_options(self, options: CallOptions) -> Self {
        Self {
            operation: self.operation.of_options(options),
        }
    }
}

write_operation! {
    /// Inserts or upserts an entity, without a condition on the stored ETag.
    ///
    /// See [`TableClient::insert`](crate::TableClient::insert) and
    /// [`TableClient::insert_or_replace`](crate::TableClient::insert_or_replace).
    WriteEntity -> ETag, etag
}

write_operation! {
    /// Changes a stored entity.
    ///
    /// See [`TableClient::replace`](crate::TableClient::replace) and [`TableClient::merge`](crate::TableClient::merge).
    UpdateEntity -> ETag, etag
}
conditions!(UpdateEntity);

write_operation! {
    /// Inserts a new entity and returns it as stored.
    ///
    /// See [`TableClient::insert_returning`](crate::TableClient::insert_returning).
    InsertEntityReturning[E] -> Versioned<E>, |result| {
        let status = result.status();
        // The write was applied, as in `etag`.
        let entity = result.entity().map_err(|e| e.with_status(status))?;
        entity.ok_or_else(|| Error::invalid_response("the response does not contain the entity").with_status(status))
    }
}

write_operation! {
    /// Inserts an entity unless its key exists.
    ///
    /// See [`TableClient::insert_if_not_exists`](crate::TableClient::insert_if_not_exists).
    InsertEntityIfNotExists -> Option<ETag>,
    |result| etag(result).map(Some),
    or 409: |e, is_in_doubt| {
        // The existing entity may be this call's own if it is in doubt.
        if e.code() == Some("EntityAlreadyExists") && !is_in_doubt {
            Ok(None)
        } else {
            Err(e)
        }
    }
}

write_operation! {
    /// Deletes an entity. See [`TableClient::delete`](crate::TableClient::delete).
    DeleteEntity -> (), |_| Ok(())
}
conditions!(DeleteEntity);

write_operation! {
    /// Deletes an entity if it exists. See [`TableClient::delete_if_exists`](crate::TableClient::delete_if_exists).
    DeleteEntityIfExists -> Deletion,
    |_| Ok(Deletion::Deleted),
    or 404: |e, is_in_doubt| {
        if response::is_missing_entity(&e) {
            Ok(tables::found_nothing(is_in_doubt))
        } else {
            Err(e)
        }
    }
}
conditions!(DeleteEntityIfExists);

fn etag(result: TableResult) -> Result<ETag> {
    match result.etag() {
        Some(etag) => Ok(etag.clone()),
        // Others may have changed the row since, and a write under its ETag would undo that.
        None if result.is_read_back() => Ok(etag::of_no_row()),
        // The error carries the status, because the write was applied.
        None => Err(Error::invalid_response("the response has no ETag").with_status(result.status())),
    }
}

/// A single write of any kind.
struct WriteSpec<T> {
    requested: Requested,
    /// Taken when the request is built.
    operation: Option<TableOperation>,
    /// The key of a get, which the response must have.
    key: Option<KeyTexts>,
    /// Reads the result for the caller.
    output: fn(TableResult) -> Result<T>,
    /// The error status of a regular result, and the function that turns rejections into outputs.
    rejection: Option<(u16, Rejected<T>)>,
}

/// Turns a rejection into an output, if it is a regular result. The flag is `true` if an earlier attempt is in doubt.
type Rejected<T> = fn(Error, bool) -> Result<T>;

impl<T> WriteSpec<T> {
    /// Changes the operation before it is sent.
    fn change(&mut self, change: impl FnOnce(TableOperation) -> TableOperation) {
        self.operation = self.operation.take().map(change);
    }

    fn rejected(&self, error: Error, is_in_doubt: bool) -> Result<T> {
        match self.rejection {
            Some((_, rejected)) => rejected(error, is_in_doubt),
            None => Err(error),
        }
    }
}

impl<T> Spec for WriteSpec<T> {
    type Output = T;

    fn call(&mut self, endpoint: &Endpoint, table: &str) -> Result<Call> {
        let operation = self.operation.take().ok_or_else(polled_again)?;
        operation.check()?;
        if operation.kind() == OperationKind::Get {
            self.key = operation
                .keys()
                .map(|(partition_key, row_key)| KeyTexts::new(partition_key, row_key));
        }
        let call = operation.call(endpoint, table)?;
        Ok(match self.rejection {
            Some((status, _)) => call.expecting(status),
            None => call,
        })
    }

    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<T> {
        match table_result::read_response(self.requested, self.key.as_ref().map(KeyTexts::pair), response) {
            Ok(result) => (self.output)(result),
            Err(e) => self.rejected(e, is_in_doubt),
        }
    }

    fn read_back(&mut self, mut rows: Vec<WrittenRow>) -> Result<T> {
        (self.output)(TableResult::applied(self.requested.kind, rows.pop()))
    }
}
