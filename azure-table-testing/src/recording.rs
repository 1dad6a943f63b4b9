//! The file of a recording.
//!
//! Defines [`Recorded`]: one exchange as one line of JSON, to a file and from it. The line does not name the account:
//! its URL is `https://account.invalid` in requests and responses, and rejections that repeat its name contain
//! `account`. Only rows may contain the name. The compared parts of a request are in `fingerprint.rs`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use azure_table_wire::transport::Delivery;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, Response};
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::exchange::{Exchange, Outcome};
use crate::redaction::Redaction;
use crate::secrets::in_texts;

/// The replacement of the account's URL.
const BASE: &str = "https://account.invalid";
const HOST: &str = "account.invalid";
/// The replacement of the account's name as a separate word.
const NAME: &str = "account";
const SECONDARY_BASE: &str = "https://account-secondary.invalid";

/// One exchange in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recorded {
    pub(crate) number: u64,
    /// Set if the service is Cosmos DB.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cosmos: bool,
    pub(crate) request: RecordedRequest,
    /// If both `response` and `failed` are missing, no response arrived, and the client stopped waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<RecordedResponse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<RecordedFailure>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    /// Absolute, at [`BASE`].
    url: String,
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(flatten)]
    body: RecordedBody,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RecordedResponse {
    status: u16,
    headers: BTreeMap<String, String>,
    #[serde(flatten)]
    body: RecordedBody,
}

/// A body: text if it is UTF-8, otherwise base64.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RecordedBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

/// A [`Delivery`] by its name.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum RecordedFailure {
    NothingSent,
    MaybeSent,
    ResponseCut,
    ResponseTooLong { bytes: u64, limit: u64 },
}

impl Recorded {
    /// Records an exchange without the account, the boundaries of its batches, and the texts that the test hides.
    pub(crate) fn of(exchange: &Exchange, cosmos: bool, hidden: &Redaction) -> Self {
        let clean = |text: &str| hidden.hide(&without_account(text, &exchange.address));
        let address = &exchange.address;
        let base = if address.is_secondary { SECONDARY_BASE } else { BASE };
        let query = if address.query.is_empty() { "" } else { "?" };
        let mut headers = texts(&exchange.headers, clean);
        let mut body = RecordedBody::of(&exchange.body, clean);
        if let (Some(content_type), Some(text)) = (headers.get_mut(CONTENT_TYPE.as_str()), body.body.as_mut()) {
            name_boundaries(content_type, text);
        }
        let request = RecordedRequest {
            method: exchange.method.to_string(),
            url: format!("{base}{}{query}{}", clean(&address.path), clean(&address.query)),
            headers,
            body,
        };
        let (response, failed) = match &exchange.outcome {
            Outcome::NoResponse => (None, None),
            Outcome::Failed(reached) => (None, Some(RecordedFailure::of(*reached))),
            Outcome::Responded(response) => {
                // A rejection may repeat the string to sign, `/contoso/Blogs`. Elsewhere the word may be part of a row.
                let is_rejection = !response.status().is_success();
                let clean = |text: &str| {
                    if is_rejection {
                        clean(&without_name(&without_account(text, address), address))
                    } else {
                        clean(text)
                    }
                };
                let mut headers = response.headers().clone();
                // The length includes the account's URL.
                headers.remove(CONTENT_LENGTH);
                headers.remove(TRANSFER_ENCODING);
                let response = RecordedResponse {
                    status: response.status().as_u16(),
                    headers: texts(&headers, clean),
                    body: RecordedBody::of(response.body(), clean),
                };
                (Some(response), None)
            }
        };
        Self {
            number: exchange.number,
            cosmos,
            request,
            response,
            failed,
        }
    }

    /// Returns the recorded outcome for a client at this URL, or the reason why it cannot be restored.
    pub(crate) fn outcome(&self, address: &Address) -> Result<Outcome, String> {
        if let Some(failure) = self.failed {
            return Ok(Outcome::Failed(failure.delivery()));
        }
        let Some(recorded) = &self.response else {
            return Ok(Outcome::NoResponse);
        };
        let mut response = Response::builder().status(recorded.status);
        for (name, value) in &recorded.headers {
            response = response.header(name, with_account(value, address));
        }
        let body = recorded.body.bytes(|text| with_account(text, address))?;
        response.body(body).map(Outcome::Responded).map_err(|e| e.to_string())
    }
}

/// Adds the file's path to an error.
pub(crate) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl RecordedRequest {
    /// Returns path and query.
    pub(crate) fn target(&self) -> (&str, &str) {
        let below = self.url.splitn(4, '/').nth(3).unwrap_or_default();
        below.split_once('?').unwrap_or((below, ""))
    }

    pub(crate) fn is_secondary(&self) -> bool {
        self.url.starts_with(SECONDARY_BASE)
    }

    pub(crate) fn body(&self) -> &str {
        let RecordedBody { body, body_base64 } = &self.body;
        body.as_deref().or(body_base64.as_deref()).unwrap_or_default()
    }
}

impl RecordedBody {
    fn of(body: &Bytes, clean: impl Fn(&str) -> String) -> Self {
        match std::str::from_utf8(body) {
            Ok("") => Self::default(),
            Ok(text) => Self {
                body: Some(clean(text)),
                body_base64: None,
            },
            Err(_) => Self {
                body: None,
                body_base64: Some(STANDARD.encode(in_texts(body, clean))),
            },
        }
    }

    fn bytes(&self, restore: impl Fn(&str) -> String) -> Result<Bytes, String> {
        match self {
            Self { body: Some(text), .. } => Ok(restore(text).into()),
            Self {
                body_base64: Some(text),
                ..
            } => STANDARD.decode(text).map(Bytes::from).map_err(|e| e.to_string()),
            _ => Ok(Bytes::new()),
        }
    }
}

impl RecordedFailure {
    fn of(reached: Delivery) -> Self {
        match reached {
            Delivery::NothingSent => Self::NothingSent,
            Delivery::ResponseCut => Self::ResponseCut,
            Delivery::ResponseTooLong { bytes, limit } => Self::ResponseTooLong { bytes, limit },
            _ => Self::MaybeSent,
        }
    }

    fn delivery(self) -> Delivery {
        match self {
            Self::NothingSent => Delivery::NothingSent,
            Self::MaybeSent => Delivery::MaybeSent,
            Self::ResponseCut => Delivery::ResponseCut,
            Self::ResponseTooLong { bytes, limit } => Delivery::ResponseTooLong { bytes, limit },
        }
    }
}

/// Returns headers as text. Several headers of the same name become one.
fn texts(headers: &HeaderMap, clean: impl Fn(&str) -> String) -> BTreeMap<String, String> {
    let text = |name: &HeaderName| {
        let values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
        let values: Vec<_> = values.map(String::from_utf8_lossy).collect();
        clean(&values.join(", "))
    };
    headers.keys().map(|name| (name.to_string(), text(name))).collect()
}

fn without_account(text: &str, address: &Address) -> String {
    let Address { base, authority, .. } = address;
    // Responses name the host without the default port, even if the endpoint has it.
    let port = if base.starts_with("https:") { ":443" } else { ":80" };
    let host = authority.strip_suffix(port).unwrap_or(authority);
    if !text.contains(host) {
        return text.to_owned();
    }
    let short = base.replacen(authority, host, 1);
    text.replace(base, BASE)
        .replace(&short, BASE)
        .replace(authority, HOST)
        .replace(host, HOST)
}

/// Replaces the account's name with [`NAME`] unless a letter or digit is next to it.
fn without_name(text: &str, address: &Address) -> String {
    let Some(name) = address.account.as_deref().filter(|name| text.contains(name)) else {
        return text.to_owned();
    };
    let is_of_name = |c: char| c.is_ascii_alphanumeric();
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (begin, _) in text.match_indices(name) {
        let (before, behind) = (&text[..begin], &text[begin + name.len()..]);
        if !before.ends_with(is_of_name) && !behind.starts_with(is_of_name) {
            out.push_str(&text[copied..begin]);
            out.push_str(NAME);
            copied = begin + name.len();
        }
    }
    out.push_str(&text[copied..]);
    out
}

fn with_account(text: &str, address: &Address) -> String {
    if !text.contains(HOST) {
        return text.to_owned();
    }
    text.replace(BASE, &address.base).replace(HOST, &address.authority)
}

/// Replaces the random boundaries of a batch with fixed names.
fn name_boundaries(content_type: &mut String, body: &mut String) {
    const NAMES: [&str; 2] = ["batch", "changeset"];
    let Some(outer) = boundary(content_type) else { return };
    *content_type = content_type.replace(&outer, NAMES[0]);
    *body = body.replace(&outer, NAMES[0]);
    if let Some(inner) = boundary(body) {
        *body = body.replace(&inner, NAMES[1]);
    }
}

fn boundary(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("boundary=")?;
    let end = rest.find(['\r', '\n', ';']).unwrap_or(rest.len());
    let boundary = rest[..end].trim_matches('"');
    (!boundary.is_empty()).then(|| boundary.to_owned())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn recorded(outcome: Outcome) -> Recorded {
        let request = Request::builder()
            .method("POST")
            .uri("https://contoso.table.core.windows.net/$batch?timeout=3")
            .header("content-type", "multipart/mixed; boundary=batch_1-2")
            .body(Bytes::from_static(
                b"--batch_1-2\r\nContent-Type: multipart/mixed; boundary=changeset_3-4\r\n\r\n--changeset_3-4\r\n\r\n\
                  POST https://contoso.table.core.windows.net/Orders HTTP/1.1\r\n--changeset_3-4--\r\n--batch_1-2--\r\n",
            ))
            .unwrap();
        let (mut exchange, _) = Exchange::of(1, &request);
        exchange.outcome = outcome;
        let mut hidden = Redaction::default();
        hidden.add("Orders".into());
        let line = serde_json::to_string(&Recorded::of(&exchange, false, &hidden));
        serde_json::from_str(&line.unwrap()).unwrap()
    }

    #[test]
    fn account_and_boundaries_have_the_same_names_in_every_recording() {
        let body = "see https://contoso.table.core.windows.net/$metadata";
        let recorded = recorded(Outcome::Responded(Response::new(body.into())));
        assert_eq!(recorded.request.target(), ("$batch", "timeout=3"));
        assert_eq!(
            recorded.request.body(),
            "--batch\r\nContent-Type: multipart/mixed; boundary=changeset\r\n\r\n--changeset\r\n\r\n\
             POST https://account.invalid/(hidden) HTTP/1.1\r\n--changeset--\r\n--batch--\r\n"
        );
        let here = Address::of(&"http://127.0.0.1:10002/devstoreaccount1/$batch".parse().unwrap());
        let Ok(Outcome::Responded(response)) = recorded.outcome(&here) else {
            panic!()
        };
        assert_eq!(response.body(), "see http://127.0.0.1:10002/devstoreaccount1/$metadata");
    }

    #[test]
    fn account_is_hidden_with_and_without_the_default_port_and_in_binary_bodies() {
        let address = Address::of(&"https://contoso.table.cosmos.azure.com:443/T".parse().unwrap());
        for url in [
            "https://contoso.table.cosmos.azure.com:443/T",
            "https://contoso.table.cosmos.azure.com/T",
        ] {
            assert_eq!(without_account(url, &address), "https://account.invalid/T");
        }
        let page = Bytes::from_static(b"caf\xe9 https://contoso.table.core.windows.net/Orders");
        let recorded = recorded(Outcome::Responded(Response::new(page)));
        let here = Address::of(&"http://h/a/T".parse().unwrap());
        let Ok(Outcome::Responded(response)) = recorded.outcome(&here) else {
            panic!()
        };
        assert_eq!(response.body().as_ref(), b"caf\xe9 https://account.invalid/(hidden)");
    }

    #[test]
    fn rejection_does_not_repeat_the_name_of_the_account() {
        let message = "to sign: 'GET\n/contoso/Orders' of contoso. at contoso.table.core.windows.net, not contosos";
        for (status, kept) in [
            (
                200,
                "'GET\n/contoso/(hidden)' of contoso. at account.invalid, not contosos",
            ),
            (
                403,
                "'GET\n/account/(hidden)' of account. at account.invalid, not contosos",
            ),
        ] {
            let response = Response::builder().status(status).body(message.into()).unwrap();
            let recorded = recorded(Outcome::Responded(response));
            let body = recorded.response.and_then(|response| response.body.body).unwrap();
            assert_eq!(body, format!("to sign: {kept}"));
        }
    }

    #[test]
    fn binary_bodies_and_missing_responses_are_kept() {
        let here = Address::of(&"http://h/a/T".parse().unwrap());
        let responded = recorded(Outcome::Responded(Response::new(Bytes::from_static(b"\xff\x00"))));
        assert!(
            matches!(responded.outcome(&here), Ok(Outcome::Responded(response)) if response.body().as_ref() == b"\xff\x00")
        );
        let cut = recorded(Outcome::Failed(Delivery::ResponseCut));
        assert!(matches!(cut.outcome(&here), Ok(Outcome::Failed(Delivery::ResponseCut))));
        assert!(matches!(
            recorded(Outcome::NoResponse).outcome(&here),
            Ok(Outcome::NoResponse)
        ));
    }
}
