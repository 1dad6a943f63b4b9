//! A transport that answers from a script and records the requests: no socket, no clock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use azure_table::auth::AuthorizationContext;
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use azure_table::{CallOptions, Credential, NoRetry, Result as ClientResult, TableClient, TableServiceClient};
use bytes::Bytes;
use http::{Request, Response};

pub mod closures;
pub mod intercept;

/// A connection string of an account that does not exist.
pub const CONTOSO: &str = "AccountName=contoso;\
    AccountKey=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

/// The reaction of the script to a request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Answers.
    Received(Response<Bytes>),
    /// Fails after the request reached this stage.
    Fail(Delivery),
    /// Never answers.
    Hang,
}

impl Step {
    /// Returns a response without headers and body.
    ///
    /// # Panics
    /// The status is invalid.
    pub fn status(status: u16) -> Self {
        Self::response(status, &[], "")
    }

    /// Returns a response.
    ///
    /// # Panics
    /// A header is invalid.
    pub fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        Self::Received(response.body(Bytes::copy_from_slice(body.as_bytes())).unwrap())
    }
}

/// The scripted transport. Clones share script and record.
#[derive(Clone, Debug, Default)]
pub struct Canned {
    steps: Arc<Mutex<VecDeque<Step>>>,
    sent: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Canned {
    /// Creates it with one step per request, in order; a request after the last step fails the test.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: Arc::new(Mutex::new(steps.into_iter().collect())),
            sent: Arc::default(),
        }
    }

    /// Returns a client with this transport and the profile of Storage.
    ///
    /// # Panics
    /// Never.
    pub fn service(&self) -> TableServiceClient {
        TableServiceClient::from_connection_string(CONTOSO)
            .unwrap()
            .transport(self.clone())
    }

    /// Returns a client of the table `Things`.
    ///
    /// # Panics
    /// Never.
    pub fn table(&self) -> TableClient {
        self.service().dynamic_table("Things").unwrap()
    }

    /// Returns the requests so far.
    ///
    /// # Panics
    /// A test panicked while it sent.
    pub fn sent(&self) -> Vec<Request<Bytes>> {
        self.sent.lock().unwrap().clone()
    }
}

impl Transport for Canned {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        self.sent.lock().unwrap().push(request);
        let step = self.steps.lock().unwrap().pop_front();
        Box::pin(async move {
            match step {
                Some(Step::Received(response)) => Ok(response),
                Some(Step::Fail(reached)) => Err(TransportError::new(reached, "scripted")),
                Some(Step::Hang) => std::future::pending().await,
                None => panic!("the script has no step for this request"),
            }
        })
    }
}

/// Returns the options of a call with a single attempt.
pub fn no_retry() -> CallOptions {
    CallOptions::new().retry(NoRetry)
}

/// Sends this token, for example to an emulator that accepts it.
#[derive(Clone, Copy, Debug)]
pub struct BearerToken(pub &'static str);

impl Credential for BearerToken {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, ClientResult<()>> {
        let value = format!("Bearer {}", self.0).parse().unwrap();
        request.headers_mut().insert("authorization", value);
        Box::pin(std::future::ready(Ok(())))
    }

    fn version(&self) -> &'static str {
        "2020-12-06"
    }
}
