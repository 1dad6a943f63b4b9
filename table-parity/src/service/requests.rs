//! Requests beside those of facts and probes: built, and repeated where an account depends on them.

use std::time::Duration;

use bytes::Bytes;
use http::Request;

use crate::service::signer::Signer;

/// The time for a response.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
pub(crate) const PROPERTIES: &str = "?restype=service&comp=properties";

/// Builds a request without a signature.
pub(crate) fn request(
    base: &str,
    signer: &Signer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Request<Bytes>, String> {
    let is_xml = path.contains("comp=");
    let [accept, content_type] = if is_xml {
        ["application/xml", "application/xml"]
    } else {
        ["application/json;odata=nometadata", "application/json"]
    };
    let mut builder = Request::builder()
        .method(method)
        .uri(format!("{base}/{path}"))
        .header("accept", accept)
        .header("x-ms-version", signer.version());
    if !body.is_empty() {
        builder = builder.header("content-type", content_type);
    }
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body).map_err(|e| e.to_string())
}

/// Sends a request that the account depends on up to four times. Returns the status that is final, or the last failure.
pub(crate) async fn repeated(
    mut send: impl AsyncFnMut() -> Result<u16, String>,
    is_final: impl Fn(u16) -> bool,
) -> Result<u16, String> {
    let mut last = String::new();
    for attempt in 0..4 {
        if attempt > 0 {
            tokio::time::sleep(Duration::from_millis(500 << attempt)).await;
        }
        last = match send().await {
            Ok(status) if is_final(status) => return Ok(status),
            Ok(status) => status.to_string(),
            Err(why) => why,
        };
    }
    Err(last)
}
