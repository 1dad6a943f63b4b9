//! Heads: the facts of a request that its response repeats, and the limit of its URL.
//!
//! Not confirmed: the effect of a missing `x-ms-version` (the client's own version is assumed); that the header takes
//! precedence over the query's versions for a shared access signature.
//!
//! Source: REST "Versioning for Azure Storage".

use azure_table_wire::request::http_request::X_MS_VERSION;
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, Response, StatusCode, Uri};

use crate::access::sas;
use crate::response::Trace;
use crate::response::observer::{Note, SenderRejected};
use crate::rules::version::ECHOES_CLIENT_REQUEST_ID;
use crate::rules::{MAX_URL, url_too_long};
use crate::settings::Settings;

/// The maximum length of a client request id that is echoed.
///
/// Source: REST "Delete Entity", header `x-ms-client-request-id`.
const MAX_CLIENT_REQUEST_ID: usize = 1_024;

/// Returns the response to a request whose URL is too long, which the server in front of the service sends.
pub(crate) fn fault(uri: &Uri) -> Option<Response<Bytes>> {
    let scheme = uri.scheme_str().map_or(0, |scheme| scheme.len() + "://".len());
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let path_and_query = uri.path_and_query().map_or(0, |below| below.as_str().len());
    let length = scheme + authority + path_and_query;
    if length <= MAX_URL {
        return None;
    }
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::URI_TOO_LONG;
    response.extensions_mut().insert(Note::because(url_too_long(length)));
    response.extensions_mut().insert(SenderRejected);
    Some(response)
}

/// Returns the version of a request with a shared access signature, from its query: `api-version`, else `sv`.
///
/// Source: REST "Versioning for Azure Storage".
fn version_of_signature(query: Option<&str>) -> Option<String> {
    let sas = sas::of(query)?;
    let versions = ["api-version", "sv"].map(|name| sas.get(name));
    versions.into_iter().find(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the trace of a request, which its response repeats.
pub(crate) fn trace(headers: &HeaderMap, query: Option<&str>, settings: &Settings) -> Trace {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let version = text("x-ms-version")
        .map(str::to_owned)
        .or_else(|| version_of_signature(query))
        .unwrap_or_else(|| X_MS_VERSION.to_owned());
    let is_wanted = version.as_str() >= ECHOES_CLIENT_REQUEST_ID
        || text("x-ms-return-client-request-id").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let is_echoed = |value: &&HeaderValue| {
        value.len() <= MAX_CLIENT_REQUEST_ID && value.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    let client_request_id = headers
        .get("x-ms-client-request-id")
        .filter(|_| is_wanted)
        .filter(is_echoed)
        .cloned();
    Trace {
        id: Guid::random(),
        time: settings.clock.now(),
        version,
        client_request_id,
        rules: settings.rules(),
    }
}
