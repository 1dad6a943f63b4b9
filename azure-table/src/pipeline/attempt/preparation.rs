//! The request of a call, prepared for all its attempts, and the same request as text.

use std::fmt::Write as _;
use std::sync::Arc;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::request::http_request::{TOKEN_VERSION, header_value};
use azure_table_wire::value::guid::{self, Guid};
use bytes::Bytes;
use http::header::{HeaderName, USER_AGENT};
use http::{HeaderMap, Request};

use crate::pipeline::Pipeline;
use crate::pipeline::location::LocationMode;
use crate::pipeline::options::CallOptions;
use crate::write::operation_request::OperationRequest;
use crate::write::via_batch;

const X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub(super) const X_MS_CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");

/// The maximum length of a call's id, in characters.
///
/// Source: REST "Delete Entity", header `x-ms-client-request-id`.
const MAX_CLIENT_REQUEST_ID: usize = 1_024;

impl Pipeline {
    /// Completes the request of a call, except for its authorization. Returns the id of the call.
    pub(crate) fn prepare(&self, call: &mut OperationRequest, options: &CallOptions) -> Result<Arc<str>> {
        if options.get().via_batch {
            if call.entity.is_some() && self.mode(call, options) == LocationMode::SecondaryOnly {
                let why =
                    "`via_batch` and `location_mode` `SecondaryOnly`: reads in a batch go to the primary; remove one";
                return Err(Error::invalid_input(why));
            }
            via_batch::enclose(call, &self.endpoint)?;
        }
        let id = match &options.get().client_request_id {
            Some(id) => checked(id)?.into(),
            None => guid::shared_text(Guid::random()),
        };
        let version = version(self.credential.version(), call.version_with_token);
        let headers = call.request.headers_mut();
        headers.insert(X_MS_VERSION, self.settings.version_value(version)?);
        headers.insert(X_MS_CLIENT_REQUEST_ID, header_value("client request id", &*id)?);
        if let Some(agent) = self.settings.user_agent_value()? {
            headers.insert(USER_AGENT, agent);
        }
        options.get().headers.add_to(headers)?;
        Ok(id)
    }

    /// Returns `true` if the credential sends tokens, which its version shows.
    pub(crate) fn sends_tokens(&self) -> bool {
        is_of_tokens(self.credential.version())
    }

    /// Returns the request of a call as text, without its authorization.
    pub(crate) fn show(&self, mut call: OperationRequest, options: &CallOptions) -> Result<String> {
        self.prepare(&mut call, options)?;
        let credential = format!("{:?}", self.credential);
        Ok(text(&call.request, &credential))
    }
}

/// Returns the version to send. Credentials without tokens keep their own.
fn version(of_credential: &'static str, with_token: Option<&'static str>) -> &'static str {
    match with_token {
        Some(newer) if is_of_tokens(of_credential) => newer.max(of_credential),
        _ => of_credential,
    }
}

/// Returns `true` if a version supports tokens. Versions are dates and compare as text.
fn is_of_tokens(version: &str) -> bool {
    version >= TOKEN_VERSION
}

fn checked(id: &str) -> Result<&str> {
    let invalid = |why: String| Err(Error::invalid_input(format!("client request id: {why}")));
    if id.is_empty() || !id.bytes().all(|b| b.is_ascii_graphic()) {
        return invalid("it must have visible ASCII characters only".to_owned());
    }
    if id.len() > MAX_CLIENT_REQUEST_ID {
        return invalid(format!(
            "it has {} characters, more than the limit of {MAX_CLIENT_REQUEST_ID}",
            id.len()
        ));
    }
    Ok(id)
}

/// Formats a request: method and URL, the headers by name, an empty line, the body. Hides values that may be secrets.
fn text(request: &Request<Bytes>, credential: &str) -> String {
    let mut out = format!("{} {}\n", request.method(), request.uri());
    // Writing to a String cannot fail.
    let _ = write!(out, "authorization: by {credential}\n{}", lines(request.headers()));
    if !request.body().is_empty() {
        let _ = write!(out, "\n{}", String::from_utf8_lossy(request.body()));
    }
    out
}

fn lines(headers: &HeaderMap) -> String {
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| {
            let value = if value.is_sensitive() {
                "(hidden)".into()
            } else {
                String::from_utf8_lossy(value.as_bytes())
            };
            format!("{name}: {value}\n")
        })
        .collect();
    lines.sort_unstable();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_request_newer_versions() {
        assert_eq!(version("2019-02-02", Some("2025-07-05")), "2019-02-02");
        assert_eq!(version("2020-12-06", Some("2025-07-05")), "2025-07-05");
        assert_eq!(version("2020-12-06", None), "2020-12-06");
        assert_eq!(version("2026-06-06", Some("2025-07-05")), "2026-06-06");
    }
}
