//! Checks of all parsers of foreign input. Any bytes result in a value or an error, without a panic, and a parsed value
//! has its meaning.
//!
//! A function takes one text and panics if the crate handles it wrongly. `tests/raw_bytes` calls them with damaged
//! samples, `tests/fuzz` with any text that reaches new code. [`KINDS`] is their list, with the samples.

pub mod batch;
pub mod credentials;
pub mod filter;
pub mod json;
mod oracle;
pub mod snapshot;
pub mod xml;

use azure_table::{DynamicEntity, Error, TableClient, TableServiceClient};
use http::Response;
use tokio::runtime::{Builder, Runtime};

use crate::canned::{Canned, Step};

/// A kind of text.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name of its module, and of its fuzz target.
    pub name: &'static str,
    /// Checks one text.
    pub check: fn(&[u8]),
    /// Valid texts.
    pub samples: &'static [&'static [&'static str]],
    /// Parts of its grammar.
    pub pieces: &'static [&'static str],
}

/// Every kind of foreign text.
pub const KINDS: [Kind; 6] = [
    json::KIND,
    batch::KIND,
    xml::KIND,
    filter::KIND,
    credentials::KIND,
    snapshot::KIND,
];

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().unwrap();
}

/// Runs a future that never waits for a network.
pub fn on_runtime<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Returns a client with these responses to its next requests.
pub fn responded(responses: impl IntoIterator<Item = Step>) -> TableServiceClient {
    Canned::new(responses).service()
}

/// Returns a client of the table `Things`.
///
/// # Panics
/// Never: the name is valid.
pub fn things(service: &TableServiceClient) -> TableClient<DynamicEntity> {
    service.dynamic_table("Things").unwrap()
}

/// Returns a response with any bytes.
///
/// # Panics
/// A header is invalid.
pub fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Step {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    Step::Received(response.body(body.to_vec().into()).unwrap())
}

/// Checks a rule for every error: one line that fits a log.
///
/// # Errors
/// The reason why the error breaks it.
pub fn is_presentable(error: &Error) -> Result<(), String> {
    let text = error.to_string();
    if text.len() > 8_000 {
        return Err(format!("{} bytes: {text:.200}…", text.len()));
    }
    if text.is_empty() || text.contains(char::is_control) {
        return Err(format!("not one line: {text:?}"));
    }
    Ok(())
}

#[track_caller]
fn assert_presentable(error: &Error) {
    assert_eq!(is_presentable(error), Ok(()));
}
