//! The request of a user delegation key, and its response.
//!
//! The key is a value of the wire: `sas/user_delegation_key.rs` of azure-table-wire.

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::require;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::request::http_request::{DELEGATION_VERSION, xml};
use azure_table_wire::response;
use azure_table_wire::sas::user_delegation_key::{KeyInfo, UserDelegationKey, from_xml};
use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::write::operation_request::OperationRequest;

/// Builds `POST /?restype=service&comp=userdelegationkey`. It returns a key and changes nothing.
pub(crate) fn get(endpoint: &Endpoint, info: &KeyInfo) -> Result<OperationRequest> {
    require(endpoint.profile(), "user delegation keys")?;
    info.check()?;
    let uri = endpoint.uri("?restype=service&comp=userdelegationkey")?;
    let request = xml(uri, Method::POST, Some(info.to_xml()));
    let mut operation = OperationRequest::new(OperationKind::GetUserDelegationKey, request);
    operation.version_with_token = Some(DELEGATION_VERSION);
    Ok(operation)
}

/// Reads the key from a response.
pub(crate) fn got(response: Response<Bytes>) -> Result<UserDelegationKey> {
    let response = response::expect(response, &[StatusCode::OK])?;
    from_xml(response.body())
        .map_err(|e| Error::invalid_response(e.to_string()).with_request_id(response::request_id(&response)))
}
