//! Reading and replacing the stored access policies of a table: its ACL.
//!
//! Source: REST "Get Table ACL", "Set Table ACL".

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::codec::url;
use crate::model::error::Result;
use crate::model::operation_kind::OperationKind;
use crate::protocol::access_policy::{self, StoredAccessPolicy};
use crate::protocol::endpoint::Endpoint;
use crate::protocol::http_request::{DELEGATION_VERSION, xml};
use crate::protocol::profile::Feature;
use crate::protocol::request::Call;
use crate::protocol::response;
use crate::protocol::service_operations::read;

/// Builds `GET /table?comp=acl`.
pub fn get(endpoint: &Endpoint, table: &str) -> Result<Call> {
    call(OperationKind::GetAccessPolicies, endpoint, table, None)
}

pub fn policies(response: Response<Bytes>) -> Result<Vec<StoredAccessPolicy>> {
    read(response, access_policy::list_from_xml)
}

/// Builds `PUT /table?comp=acl` with all policies.
pub fn set(endpoint: &Endpoint, table: &str, policies: &[StoredAccessPolicy]) -> Result<Call> {
    access_policy::check_list(policies)?;
    let list = StoredAccessPolicy::list_to_request(policies);
    call(OperationKind::SetAccessPolicies, endpoint, table, Some(list))
}

pub fn were_set(response: Response<Bytes>) -> Result<()> {
    response::expect(response, &[StatusCode::NO_CONTENT]).map(drop)
}

fn call(operation: OperationKind, endpoint: &Endpoint, table: &str, list: Option<Bytes>) -> Result<Call> {
    endpoint.profile().require(Feature::AccessPolicies)?;
    let uri = endpoint.uri(&format!("{}?comp=acl", url::encode(table)))?;
    let method = if list.is_some() { Method::PUT } else { Method::GET };
    let mut call = Call::new(operation, xml(uri, method, list)).in_table(table);
    call.version_with_token = Some(DELEGATION_VERSION);
    Ok(call)
}
