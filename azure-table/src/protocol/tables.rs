//! Create, delete and find tables. The list of them is `query.rs`.
//!
//! Source: REST "Create Table", "Delete Table", "Query Tables".

use bytes::Bytes;
use http::header::HeaderValue;
use http::{Method, Response, StatusCode};

use crate::codec::json::write::Object;
use crate::codec::url;
use crate::model::entity::MetadataLevel;
use crate::model::error::{Error, Result};
use crate::protocol::answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::{Call, PREFER, odata, set_json};

/// What a create-if-not-exists found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Creation {
    /// The table was made by this call.
    Created,
    /// It was there before.
    Existed,
}

/// What a delete-if-exists found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deletion {
    /// The table was removed by this call.
    Deleted,
    /// There was none.
    WasMissing,
}

pub(crate) const CREATE: &str = "create table";
pub(crate) const DELETE: &str = "delete table";
pub(crate) const GET: &str = "get table";

/// `POST /Tables`.
pub(crate) fn create(endpoint: &Endpoint, table: &str) -> Result<Call> {
    let mut request = odata(endpoint, Method::POST, "Tables", MetadataLevel::None.accept())?;
    request
        .headers_mut()
        .insert(PREFER, HeaderValue::from_static("return-no-content"));
    let mut body = Object::new();
    body.text("TableName", table);
    set_json(&mut request, body.finish());
    Ok(Call::write(CREATE, request).in_table(table))
}

/// The same, for who takes a table that is there.
pub(crate) fn create_if_not_exists(endpoint: &Endpoint, table: &str) -> Result<Call> {
    Ok(create(endpoint, table)?.expecting(409))
}

/// Created, or the error: `AlreadyExists` among them.
pub(crate) fn created(response: Response<Bytes>) -> Result<()> {
    answer::expect(response, &[StatusCode::CREATED, StatusCode::NO_CONTENT]).map(drop)
}

/// Created or there before. A table that is being deleted is neither.
pub(crate) fn created_or_existed(response: Response<Bytes>) -> Result<Creation> {
    match created(response) {
        Ok(()) => Ok(Creation::Created),
        Err(e) if e.code() == Some("TableAlreadyExists") => Ok(Creation::Existed),
        Err(e) => Err(e),
    }
}

/// `DELETE /Tables('…')`.
pub(crate) fn delete(endpoint: &Endpoint, table: &str) -> Result<Call> {
    let request = odata(
        endpoint,
        Method::DELETE,
        &url::table(table),
        MetadataLevel::None.accept(),
    )?;
    Ok(Call::write(DELETE, request).in_table(table))
}

/// The same, for who takes a table that is not there.
pub(crate) fn delete_if_exists(endpoint: &Endpoint, table: &str) -> Result<Call> {
    Ok(delete(endpoint, table)?.expecting(404))
}

/// Deleted.
pub(crate) fn deleted(response: Response<Bytes>) -> Result<()> {
    answer::expect(response, &[StatusCode::NO_CONTENT]).map(drop)
}

/// Deleted, or not there. Any other 404 is an error: it is not the service's.
pub(crate) fn deleted_or_missing(response: Response<Bytes>) -> Result<Deletion> {
    match deleted(response) {
        Ok(()) => Ok(Deletion::Deleted),
        Err(e) if is_missing(&e) => Ok(Deletion::WasMissing),
        Err(e) => Err(e),
    }
}

fn is_missing(error: &Error) -> bool {
    error.status() == Some(404) && matches!(error.code(), Some("ResourceNotFound" | "TableNotFound"))
}

/// `GET /Tables('…')`.
pub(crate) fn get(endpoint: &Endpoint, table: &str) -> Result<Call> {
    let request = odata(endpoint, Method::GET, &url::table(table), MetadataLevel::None.accept())?;
    Ok(Call::read(GET, request).in_table(table).expecting(404))
}

/// Whether it is there.
pub(crate) fn is_there(response: Response<Bytes>) -> Result<bool> {
    match answer::expect(response, &[StatusCode::OK]) {
        Ok(_) => Ok(true),
        Err(e) if is_missing(&e) => Ok(false),
        Err(e) => Err(e),
    }
}
