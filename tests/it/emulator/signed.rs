//! Signatures for recorded requests without one: by the documented formulas, not by the client.
//!
//! Source: REST "Authorize with Shared Key", "Create a service SAS", "Create an account SAS".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use azure_table::Emulator;
use azure_table::transport::Transport as _;
use azure_table_tests::texts::percent_decoded;
use bytes::Bytes;
use http::{Request, Response};

/// The key of every account here.
pub(crate) const KEY: &str = "AAECAwQFBgcICQoLDA0ODw==";

fn sign(text: &str) -> String {
    let mut hmac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
    hmac.update(text.as_bytes());
    STANDARD.encode(hmac.finalize().into_bytes())
}

/// Returns the `Authorization` header of SharedKey.
pub(super) fn shared_key(account: &str, method: &str, content: [&str; 2], date: &str, path_and_query: &str) -> String {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let comp = parameter(query, "comp").map_or(String::new(), |comp| format!("?comp={comp}"));
    let [md5, media_type] = content;
    let to_sign = format!("{method}\n{md5}\n{media_type}\n{date}\n/{account}{path}{comp}");
    format!("SharedKey {account}:{}", sign(&to_sign))
}

/// Returns a parameter of a query, decoded.
fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| percent_decoded(value))
}

/// Returns the URL with a valid shared access signature in place of its own.
pub(super) fn with_signature(account: &str, url: &str) -> Option<String> {
    const PLACE: &str = "sig=Sanitized";
    url.contains(PLACE).then(|| {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let field = |name: &str| parameter(query, name).unwrap_or_default();
        let to_sign = match parameter(query, "tn") {
            Some(table) => {
                let resource = format!("/table/{account}/{}", table.to_ascii_lowercase());
                let before = ["sp", "st", "se"].map(field).join("\n");
                let behind = ["si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"].map(field);
                format!("{before}\n{resource}\n{}", behind.join("\n"))
            }
            None => {
                let fields = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"].map(field);
                format!("{account}\n{}\n", fields.join("\n"))
            }
        };
        let signature = sign(&to_sign).replace('+', "%2B").replace('/', "%2F");
        url.replace(PLACE, &format!("sig={}", signature.replace('=', "%3D")))
    })
}

/// An unknown account, on a separate emulator.
pub(crate) const ACCOUNT: &str = "contoso";

pub(crate) fn emulator() -> Emulator {
    Emulator::new().account(ACCOUNT, KEY).unwrap()
}

/// Sends a signed request to the emulator. `path` follows the host and its slash.
pub(crate) async fn ask(
    emulator: &Emulator,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    ask_at(emulator, "table.core.windows.net", method, path, headers, body).await
}

/// The same for a host with this suffix.
pub(super) async fn ask_at(
    emulator: &Emulator,
    host: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    let now = std::time::SystemTime::try_from(emulator.clock().now()).unwrap();
    let date = httpdate::fmt_http_date(now);
    let fields = std::collections::HashMap::<&str, &str>::from_iter(headers.iter().copied());
    let content = ["content-md5", "content-type"].map(|name| *fields.get(name).unwrap_or(&""));
    let authorization = shared_key(ACCOUNT, method, content, &date, &format!("/{path}"));
    let mut request = Request::builder()
        .method(method)
        .uri(format!("https://{ACCOUNT}.{host}/{path}"))
        .header("authorization", authorization)
        .header("x-ms-date", &date)
        .header("x-ms-version", "2019-02-02");
    if !fields.contains_key("accept") {
        request = request.header("accept", "application/json;odata=nometadata");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    emulator.send(request.body(body.into()).unwrap()).await.unwrap()
}

/// Returns status and code of a response, or of a part of a batch.
pub(super) fn outcome(response: &Response<Bytes>) -> (u16, String) {
    let body = String::from_utf8_lossy(response.body());
    let code = ["\"code\":\"", "<m:code>"]
        .into_iter()
        .find_map(|before| body.split_once(before));
    let code = code.and_then(|(_, rest)| rest.split(['"', '<']).next());
    (response.status().as_u16(), code.unwrap_or_default().to_owned())
}
