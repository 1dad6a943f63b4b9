//! A transport that answers from a script and keeps what it was sent: no socket, no clock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use azure_table::TableServiceClient;
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

/// A connection string whose account exists nowhere.
pub const CONTOSO: &str = "AccountName=contoso;\
    AccountKey=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

/// What the script does with a request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Answers.
    Answer(Response<Bytes>),
    /// Fails after the request got this far.
    Fail(Delivery),
    /// Never answers.
    Hang,
}

impl Step {
    /// An answer without headers and body.
    ///
    /// # Panics
    /// This is no status.
    pub fn status(status: u16) -> Self {
        Self::answer(status, &[], "")
    }

    /// An answer.
    ///
    /// # Panics
    /// A header cannot be one.
    pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        Self::Answer(response.body(Bytes::copy_from_slice(body.as_bytes())).unwrap())
    }
}

/// The scripted transport. Clones share script and memory.
#[derive(Clone, Debug, Default)]
pub struct Canned {
    steps: Arc<Mutex<VecDeque<Step>>>,
    sent: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Canned {
    /// One step per request, in order; a request after the last is a failure of the test.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: Arc::new(Mutex::new(steps.into_iter().collect())),
            sent: Arc::default(),
        }
    }

    /// A client that talks to it, and thinks it is Storage.
    ///
    /// # Panics
    /// Never.
    pub fn service(&self) -> TableServiceClient {
        TableServiceClient::from_connection_string(CONTOSO)
            .unwrap()
            .transport(self.clone())
    }

    /// What was sent so far.
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
                Some(Step::Answer(response)) => Ok(response),
                Some(Step::Fail(reached)) => Err(TransportError::new(reached, "scripted")),
                Some(Step::Hang) => std::future::pending().await,
                None => panic!("the script has no step for this request"),
            }
        })
    }
}
