//! What comes from outside is bytes: whatever they are, reading them ends soon, without a panic, in a value or an error.
//!
//! Each module takes one kind of text that others write, as arbitrary bytes, as pieces of its grammar in any order, and as
//! good samples that were damaged (`document.rs`). All go through the public client, whose transport answers from a
//! script. `bounds.rs` has what is too large or too deep on purpose.
//!
//! `PROPTEST_CASES` says how often each property is tried, 256 times where it is not set; CONTRIBUTING names the number
//! for a longer run.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod batch;
mod bounds;
mod credentials;
mod document;
mod error;
mod filter;
mod json;
mod request;
mod snapshot;
mod xml;

use azure_table::{DynamicEntity, Error, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use http::Response;

/// Runs to its end what never waits for a network.
fn on_runtime<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(future)
}

/// A client whose next answers these are.
fn answered(answers: impl IntoIterator<Item = Step>) -> TableServiceClient {
    Canned::new(answers).service()
}

fn things(service: &TableServiceClient) -> TableClient<DynamicEntity> {
    service.dynamic_table("Things").unwrap()
}

/// An answer of any bytes.
fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Step {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    Step::Answer(response.body(body.to_vec().into()).unwrap())
}

/// What holds for every error, whatever it is about: one line that fits a log.
fn is_presentable(error: &Error) -> Result<(), String> {
    let text = error.to_string();
    if text.len() > 8_000 {
        return Err(format!("{} bytes: {text:.200}…", text.len()));
    }
    if text.is_empty() || text.contains(char::is_control) {
        return Err(format!("not one line: {text:?}"));
    }
    Ok(())
}
