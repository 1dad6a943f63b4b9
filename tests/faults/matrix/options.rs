//! The options of a case: set by the client, the table and the call, of which the nearest is effective.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::telemetry::OperationContext;
use azure_table::testing::Faults;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{CallOptions, ExponentialRetry, LocationMode, NoRetry};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};

use super::check::{Broken, MAX_ATTEMPTS, MAX_ATTEMPTS_WITHOUT_RETRIES};
use super::operation::Entry;

/// The timeout of a call.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout that a nearer option overrides.
const OVERRIDDEN: Duration = Duration::from_secs(300);
const LEVELS: [&str; 3] = ["client", "table", "call"];

#[derive(Debug)]
pub(crate) struct Options {
    /// The options of the client, the table and the call.
    levels: [CallOptions; 3],
    /// The request id of the call.
    id: Option<String>,
    /// The levels whose options are effective.
    holds: [bool; 3],
    /// The maximum of attempts per call.
    pub(crate) max_attempts: u32,
}

impl Options {
    /// Options with one effective value each, and others that are overridden.
    pub(crate) fn choose(entry: &Entry, location: LocationMode, seed: u64, context: &OperationContext) -> Self {
        let holds = [true, entry.has_table, true];
        let options = CallOptions::new;
        let mut levels = LEVELS.map(|level| {
            let options = options().header(format!("x-of-{level}"), level);
            options.header("x-nearest", level)
        });
        let mut set = |holds: [bool; 3], nearest: CallOptions, other: CallOptions| {
            let possible: Vec<usize> = (0..3).filter(|level| holds[*level]).collect();
            let chosen = *fastrand::choice(&possible).unwrap();
            for (level, held) in levels.iter_mut().enumerate().take(chosen + 1) {
                if level == chosen {
                    *held = held.clone().with(&nearest);
                } else if fastrand::bool() {
                    *held = held.clone().with(&other);
                }
            }
        };
        // A timeout of the call itself would apply to the whole.
        let may_be_timed = [true, entry.has_table, entry.within.is_none()];
        set(may_be_timed, options().timeout(TIMEOUT), options().timeout(OVERRIDDEN));
        let other = match location {
            LocationMode::PrimaryOnly => LocationMode::SecondaryThenPrimary,
            _ => LocationMode::PrimaryOnly,
        };
        set(holds, options().location_mode(location), options().location_mode(other));
        let retries = fastrand::u8(..8) > 0;
        let (retrying, once) = (options().retry(ExponentialRetry::default()), options().retry(NoRetry));
        match retries {
            true => set(holds, retrying, once),
            false => set(holds, once, retrying),
        }
        let id = fastrand::bool().then(|| format!("case-{seed}"));
        if let Some(id) = &id {
            let overridden = options().client_request_id("overridden");
            set(holds, options().client_request_id(id), overridden);
        }
        let unread = options().context(&OperationContext::new());
        set(holds, options().context(context), unread);
        Self {
            levels,
            id,
            holds,
            max_attempts: if retries {
                MAX_ATTEMPTS
            } else {
                MAX_ATTEMPTS_WITHOUT_RETRIES
            },
        }
    }

    pub(crate) fn of_client(&self) -> &CallOptions {
        &self.levels[0]
    }

    pub(crate) fn of_table(&self) -> &CallOptions {
        &self.levels[1]
    }

    pub(crate) fn of_call(&self) -> &CallOptions {
        &self.levels[2]
    }

    /// Checks that a request has the effective options, each once.
    pub(crate) fn check(&self, sent: &Sent) -> Result<(), Broken> {
        let has = |name: &str, wanted: &[&str]| {
            let has_all = sent.headers.get_all(name).iter().eq(wanted.iter());
            has_all.then_some(()).ok_or(Broken::WrongHeaders)
        };
        for (level, holds) in LEVELS.iter().zip(self.holds) {
            let values = if holds { std::slice::from_ref(level) } else { &[] };
            has(&format!("x-of-{level}"), values)?;
        }
        has("x-nearest", &["call"])?;
        let ids = sent.headers.get_all("x-ms-client-request-id").iter();
        let is_own = |id: &str| self.id.as_ref().is_none_or(|wanted| wanted == id);
        match ids.collect::<Vec<_>>()[..] {
            [id] if id.to_str().is_ok_and(is_own) => Ok(()),
            _ => Err(Broken::WrongHeaders),
        }
    }
}

/// A request as the client sent it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    /// It reads rows: a GET, alone or in a batch.
    pub(crate) reads: bool,
    pub(crate) is_secondary: bool,
    pub(crate) headers: HeaderMap,
}

impl Sent {
    pub(crate) fn id(&self) -> &str {
        let id = self.headers.get("x-ms-client-request-id");
        id.and_then(|id| id.to_str().ok()).unwrap_or_default()
    }
}

/// The first transport behind the client. It records what the client sends.
#[derive(Clone, Debug)]
pub(crate) struct Inspector {
    behind: Arc<dyn Transport>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Inspector {
    pub(crate) fn new(behind: Arc<dyn Transport>) -> Self {
        Self {
            behind,
            sent: Arc::default(),
        }
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

impl Transport for Inspector {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        self.sent.lock().unwrap().push(Sent {
            method: request.method().clone(),
            reads: request.method() == Method::GET || request.body().windows(5).any(|text| text == b"\nGET "),
            is_secondary: request.uri().to_string().contains("-secondary"),
            headers: request.headers().clone(),
        });
        self.behind.send(request)
    }
}

/// The transport between the client and the faults.
pub(crate) type Between = fn(Faults) -> Arc<dyn Transport>;
