//! Reading and replacing the stored access policies of a table: its ACL.
//!
//! Source: REST "Get Table ACL", "Set Table ACL".

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::require;
use azure_table_wire::codec::url;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::request::http_request::{DELEGATION_VERSION, xml};
use azure_table_wire::response;
use azure_table_wire::service::access_policy::{self, StoredAccessPolicy};
use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::request::service_operations::read;
use crate::write::operation_request::OperationRequest;

/// Builds `GET /table?comp=acl`.
pub(crate) fn get(endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
    request(OperationKind::GetAccessPolicies, endpoint, table, None)
}

pub(crate) fn policies(response: Response<Bytes>) -> Result<Vec<StoredAccessPolicy>> {
    read(response, access_policy::list_from_xml)
}

/// Builds `PUT /table?comp=acl` with all policies.
pub(crate) fn set(endpoint: &Endpoint, table: &str, policies: &[StoredAccessPolicy]) -> Result<OperationRequest> {
    access_policy::check_list(policies)?;
    let list = access_policy::list_to_request(policies);
    request(OperationKind::SetAccessPolicies, endpoint, table, Some(list))
}

pub(crate) fn were_set(response: Response<Bytes>) -> Result<()> {
    response::expect(response, &[StatusCode::NO_CONTENT]).map(drop)
}

fn request(kind: OperationKind, endpoint: &Endpoint, table: &str, list: Option<Bytes>) -> Result<OperationRequest> {
    require(endpoint.profile(), "stored access policies")?;
    let uri = endpoint.uri(&format!("{}?comp=acl", url::encode(table)))?;
    let method = if list.is_some() { Method::PUT } else { Method::GET };
    let mut operation = OperationRequest::new(kind, xml(uri, method, list)).in_table(table);
    operation.version_with_token = Some(DELEGATION_VERSION);
    Ok(operation)
}
