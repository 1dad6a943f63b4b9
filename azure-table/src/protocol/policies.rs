//! Get and set the stored access policies of a table: its ACL.
//!
//! Source: REST "Get Table ACL", "Set Table ACL".

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::codec::url;
use crate::model::error::Result;
use crate::protocol::access_policy::StoredAccessPolicy;
use crate::protocol::answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::profile::Feature;
use crate::protocol::request::{Call, DELEGATION_VERSION, xml};
use crate::protocol::service::read;

pub(crate) const GET: &str = "get access policies";
pub(crate) const SET: &str = "set access policies";

/// `GET /table?comp=acl`.
pub(crate) fn get(endpoint: &Endpoint, table: &str) -> Result<Call> {
    call(endpoint, table, Method::GET, None)
}

pub(crate) fn policies(response: Response<Bytes>) -> Result<Vec<StoredAccessPolicy>> {
    read(response, StoredAccessPolicy::list_from_xml)
}

/// `PUT /table?comp=acl`: all of them.
pub(crate) fn set(endpoint: &Endpoint, table: &str, policies: &[StoredAccessPolicy]) -> Result<Call> {
    StoredAccessPolicy::check_list(policies)?;
    call(
        endpoint,
        table,
        Method::PUT,
        Some(StoredAccessPolicy::list_to_request(policies)),
    )
}

pub(crate) fn were_set(response: Response<Bytes>) -> Result<()> {
    answer::expect(response, &[StatusCode::NO_CONTENT]).map(drop)
}

fn call(endpoint: &Endpoint, table: &str, method: Method, body: Option<Bytes>) -> Result<Call> {
    endpoint.profile().require(Feature::AccessPolicies)?;
    let uri = endpoint.uri(&format!("{}?comp=acl", url::encode(table)))?;
    let request = xml(uri, method, body);
    let call = match request.method() {
        &Method::GET => Call::read(GET, request),
        _ => Call::write(SET, request),
    };
    Ok(call.in_table(table).with_token_version(DELEGATION_VERSION))
}
