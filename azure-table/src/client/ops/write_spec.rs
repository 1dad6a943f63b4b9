//! The write of a single entity: its request, and the functions that read its result.

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::response;
use azure_table_wire::value::etag::{self, ETag};
use bytes::Bytes;
use http::Response;

use crate::client::ops::call_future::Spec;
use crate::client::ops::start::already_completed;
use crate::entity::table_entity::ReadEntity;
use crate::entity::versioned::Versioned;
use crate::key::key_texts::KeyTexts;
use crate::request::tables::{self, Deletion};
use crate::write::operation::TableOperation;
use crate::write::operation_request::OperationRequest;
use crate::write::row_write::WrittenRow;
use crate::write::table_result::{self, Requested, TableResult};

/// The entity of an insert that returns it.
pub(crate) fn returned<E: ReadEntity>(result: TableResult) -> Result<Versioned<E>> {
    let status = result.status();
    // The write was applied, as in `etag`.
    let entity = result.entity().map_err(|e| e.with_status(status))?;
    entity.ok_or_else(|| Error::invalid_response("the response does not contain the entity").with_status(status))
}

/// Reads a 409 of an insert that may find its key. The existing entity may be this call's own if it is in doubt.
pub(crate) fn existed(error: Error, is_in_doubt: bool) -> Result<Option<ETag>> {
    if error.code() == Some("EntityAlreadyExists") && !is_in_doubt {
        Ok(None)
    } else {
        Err(error)
    }
}

/// Reads a 404 of a delete that may find nothing.
pub(crate) fn was_missing(error: Error, is_in_doubt: bool) -> Result<Deletion> {
    if response::is_missing_entity(&error) {
        Ok(tables::found_nothing(is_in_doubt))
    } else {
        Err(error)
    }
}

/// The ETag of an entity that was written.
pub(crate) fn etag(result: TableResult) -> Result<ETag> {
    match result.etag() {
        Some(etag) => Ok(etag.clone()),
        // Others may have changed the row since, and a write under its ETag would undo that.
        None if result.is_read_back() => Ok(etag::for_no_row()),
        // The error carries the status, because the write was applied.
        None => Err(Error::invalid_response("the response has no ETag").with_status(result.status())),
    }
}

/// A single write of any kind.
pub(crate) struct WriteSpec<T> {
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
pub(crate) type Rejected<T> = fn(Error, bool) -> Result<T>;

impl<T> WriteSpec<T> {
    pub(crate) fn new(operation: TableOperation, output: fn(TableResult) -> Result<T>) -> Self {
        Self {
            requested: operation.requested(),
            operation: Some(operation),
            key: None,
            output,
            rejection: None,
        }
    }

    pub(crate) fn kind(&self) -> OperationKind {
        self.requested.kind
    }

    /// Sets the error status that is a regular result.
    pub(crate) fn expect(&mut self, status: u16, rejected: Rejected<T>) {
        self.rejection = Some((status, rejected));
    }

    /// Changes the operation before it is sent.
    pub(crate) fn change(&mut self, change: impl FnOnce(TableOperation) -> TableOperation) {
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

    fn request(&mut self, endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
        let operation = self.operation.take().ok_or_else(already_completed)?;
        operation.check()?;
        if operation.kind() == OperationKind::Get {
            self.key = operation
                .keys()
                .map(|(partition_key, row_key)| KeyTexts::new(partition_key, row_key));
        }
        let request = operation.into_request(endpoint, table)?;
        Ok(match self.rejection {
            Some((status, _)) => request.expecting(status),
            None => request,
        })
    }

    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<T> {
        match table_result::read_response(self.requested, self.key.as_ref().map(KeyTexts::pair), response) {
            Ok(result) => (self.output)(result.after_attempts(is_in_doubt)),
            Err(e) => self.rejected(e, is_in_doubt),
        }
    }

    fn read_back(&mut self, mut rows: Vec<WrittenRow>, may_recur: bool) -> Result<T> {
        let applied = TableResult::applied(self.requested.kind, rows.pop());
        (self.output)(applied.after_attempts(may_recur))
    }
}
