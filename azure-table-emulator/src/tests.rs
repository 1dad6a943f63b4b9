//! The emulator through its transport: statuses, headers and bodies, byte by byte.
//!
//! The crate `tests` checks how a client handles these responses, on all backends. These tests check details that were
//! seen in the live service, and this file has the few functions that sign a request by hand.

mod addresses;
mod adverse;
mod any_request;
mod batches;
mod browsers;
mod cosmos;
#[cfg(feature = "durable")]
mod durable;
mod endpoints;
mod forms;
mod operations;
mod pages;
mod regions;
mod sas;
mod scans;
mod sdks;
mod settings;
mod signatures;
mod times;
mod tokens;
mod versions;

use std::time::Duration;

use ::http::{Request, Response};
use azure_table_wire::account::endpoint::DEVELOPMENT_ACCOUNT;
use azure_table_wire::account::signature::{DEVELOPMENT_KEY, SigningKey, canonicalized_resource, shared_key};
use azure_table_wire::transport::Transport as _;
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;

use super::in_process::Emulator;
use super::*;

const BASE: &str = "http://127.0.0.1:10002/devstoreaccount1";

fn unsigned(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Bytes> {
    unsigned_at(BASE, method, path, headers, body)
}

fn unsigned_at(base: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Bytes> {
    let mut request = Request::builder().method(method).uri(format!("{base}/{path}"));
    let date = httpdate::fmt_http_date(std::time::SystemTime::now());
    for (name, value) in [
        ("x-ms-version", "2019-02-02"),
        ("accept", "application/json;odata=nometadata"),
        ("x-ms-date", &date),
    ] {
        if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

fn sign(request: &mut Request<Bytes>, account: &str, key: &str) {
    let text = |name: &str| request.headers().get(name).map_or("", |value| value.to_str().unwrap());
    let resource = canonicalized_resource(account, request.uri().path(), request.uri().query());
    let string = shared_key(
        request.method().as_str(),
        "",
        text("content-type"),
        text("x-ms-date"),
        resource,
    )
    .concat();
    let signature = SigningKey::from_base64(key).unwrap().sign(&string);
    request.headers_mut().insert(
        "authorization",
        format!("SharedKey {account}:{signature}").parse().unwrap(),
    );
}

async fn send(emulator: &Emulator, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response<Bytes> {
    send_to(emulator, BASE, method, path, headers, body).await
}

async fn send_to(
    emulator: &Emulator,
    base: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Bytes> {
    let mut request = unsigned_at(base, method, path, headers, body);
    sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
    // Without a yield, so that a test can poll a request turn by turn.
    emulator.exchange(request).await.unwrap()
}

/// Returns the names of a response's headers, except the headers of the message's framing.
fn header_names(response: &Response<Bytes>) -> Vec<&str> {
    let mut names: Vec<&str> = response.headers().keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    names
}

fn body(response: &Response<Bytes>) -> &str {
    std::str::from_utf8(response.body()).unwrap()
}

fn header<'a>(response: &'a Response<Bytes>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Returns status, code and the first line of the text of an error, in either form.
fn error(response: &Response<Bytes>) -> (u16, String, String) {
    let (code, message) = match header(response, "content-type") {
        "application/xml" => {
            let (code, message) = azure_table_wire::codec::xml::error(body(response)).unwrap();
            (code, message.unwrap())
        }
        _ => {
            let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap_or_default();
            let text = |path: &str| {
                json.pointer(path)
                    .and_then(|v| v.as_str())
                    .unwrap_or_default()
                    .to_owned()
            };
            (text("/odata.error/code"), text("/odata.error/message/value"))
        }
    };
    assert!(
        message.contains("\nRequestId:") && message.contains("\nTime:"),
        "{message}"
    );
    let first = message.lines().next().unwrap_or_default().to_owned();
    (response.status().as_u16(), code, first)
}

fn rejected(status: u16, code: &str, text: &str) -> (u16, String, String) {
    (status, code.to_owned(), text.to_owned())
}

async fn with_table() -> Emulator {
    let emulator = Emulator::new();
    let created = send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#).await;
    assert_eq!(created.status(), 201);
    emulator
}
