//! Creating, deleting and finding tables. `query.rs` lists them.
//!
//! Source: REST "Create Table", "Delete Table", "Query Tables".

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::json::write::Object;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::request::http_request::{PREFER, odata, set_json};
use azure_table_wire::response;
use bytes::Bytes;
use http::header::HeaderValue;
use http::{Method, Response, StatusCode};

use crate::write::operation_request::OperationRequest;
use crate::write::path;

/// The outcome of a create-if-not-exists: the table exists now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Creation {
    /// This call created the table.
    Created,
    /// The table already existed.
    Existed,
    /// The response to an earlier attempt of this call was lost, and a later attempt found the table.
    ///
    /// Either that attempt created it, or it existed before.
    InDoubt,
}

/// The outcome of a delete-if-exists: the table or entity is absent now.
///
/// [`was_deleted`](Self::was_deleted) returns `false` for [`InDoubt`](Self::InDoubt) as well: then it is unknown
/// whether this call deleted anything.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
/// assert!(blogs.delete_if_exists(("Channel9", "1")).await?.was_deleted());
/// assert!(!blogs.delete_if_exists(("Channel9", "1")).await?.was_deleted());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deletion {
    /// This call deleted it.
    Deleted,
    /// The table or entity did not exist.
    WasMissing,
    /// The response to an earlier attempt of this call was lost, and a later attempt found nothing.
    ///
    /// Either that attempt deleted it, or it did not exist before.
    InDoubt,
}

impl Creation {
    /// Returns the outcome of finding the table. `is_in_doubt` if an earlier attempt may have created it.
    fn found(is_in_doubt: bool) -> Self {
        if is_in_doubt { Self::InDoubt } else { Self::Existed }
    }
}

impl Deletion {
    /// Returns `true` if this call certainly deleted the table or entity.
    ///
    /// `false` if it did not exist, or if the deletion is [in doubt](Self::InDoubt).
    pub fn was_deleted(self) -> bool {
        self == Self::Deleted
    }
}

/// Returns the outcome of finding nothing. `is_in_doubt` if an earlier attempt may have deleted it.
pub(crate) fn found_nothing(is_in_doubt: bool) -> Deletion {
    if is_in_doubt {
        Deletion::InDoubt
    } else {
        Deletion::WasMissing
    }
}

/// Builds `POST /Tables`.
pub(crate) fn create(endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
    let mut request = odata(endpoint, Method::POST, "Tables", MetadataLevel::None)?;
    request
        .headers_mut()
        .insert(PREFER, HeaderValue::from_static("return-no-content"));
    let mut body = Object::new();
    body.text("TableName", table);
    set_json(&mut request, body.finish());
    Ok(OperationRequest::new(OperationKind::CreateTable, request).in_table(table))
}

/// Builds `POST /Tables` for a caller that accepts an existing table.
pub(crate) fn create_if_not_exists(endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
    Ok(create(endpoint, table)?.expecting(409))
}

/// Reads the response to a create; `AlreadyExists` is an error here.
pub(crate) fn created(response: Response<Bytes>) -> Result<()> {
    let response = response::expect(response, &[StatusCode::CREATED, StatusCode::NO_CONTENT])?;
    // The service names the table in a header or in the body. Azurite only repeats the preference.
    let has = |name| response.headers().contains_key(name);
    if has("location") || has("preference-applied") {
        return Ok(());
    }
    response::json(&response).map(drop)
}

/// Reads the response to a create-if-not-exists. A table that is being deleted is an error.
pub(crate) fn created_or_existed(response: Response<Bytes>, is_in_doubt: bool) -> Result<Creation> {
    match created(response) {
        Ok(()) => Ok(Creation::Created),
        Err(e) if e.code() == Some("TableAlreadyExists") => Ok(Creation::found(is_in_doubt)),
        Err(e) => Err(e),
    }
}

/// Builds `DELETE /Tables('…')`.
pub(crate) fn delete(endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
    let request = odata(endpoint, Method::DELETE, &path::table(table), MetadataLevel::None)?;
    Ok(OperationRequest::new(OperationKind::DeleteTable, request).in_table(table))
}

/// Builds `DELETE /Tables('…')` for a caller that accepts a missing table.
pub(crate) fn delete_if_exists(endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
    Ok(delete(endpoint, table)?.expecting(404))
}

/// Reads the response to a delete.
pub(crate) fn deleted(response: Response<Bytes>) -> Result<()> {
    response::expect(response, &[StatusCode::NO_CONTENT]).map(drop)
}

/// Reads the response to a delete-if-exists. Any other 404 is an error: it does not come from the service.
pub(crate) fn deleted_or_missing(response: Response<Bytes>, is_in_doubt: bool) -> Result<Deletion> {
    match deleted(response) {
        Ok(()) => Ok(Deletion::Deleted),
        Err(e) if is_missing(&e) => Ok(found_nothing(is_in_doubt)),
        Err(e) => Err(e),
    }
}

fn is_missing(error: &Error) -> bool {
    error.status() == Some(404) && matches!(error.code(), Some("ResourceNotFound" | "TableNotFound"))
}

/// Builds `GET /Tables('…')`.
pub(crate) fn get(endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
    let request = odata(endpoint, Method::GET, &path::table(table), MetadataLevel::None)?;
    Ok(OperationRequest::new(OperationKind::GetTable, request).in_table(table))
}

/// Returns `true` if the table exists.
pub(crate) fn is_there(response: Response<Bytes>) -> Result<bool> {
    match response::expect(response, &[StatusCode::OK]) {
        Ok(_) => Ok(true),
        Err(e) if is_missing(&e) => Ok(false),
        Err(e) => Err(e),
    }
}
