//! The transport of a run: counts its requests up to the cap, notes its tables, and keeps its exchanges.
//!
//! A table is noted before the request that creates it is sent. That request is not canceled with the run, so that the
//! cleanup after it finds the table.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::{Method, Request, Response};
use tokio::sync::Notify;

use crate::service::record::Exchange;
use crate::service::tables::Tables;

/// The time that the cleanup gives pending creations.
const PENDING: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(crate) struct Guard {
    behind: Arc<dyn Transport>,
    state: Arc<State>,
}

struct State {
    sent: AtomicU64,
    created: AtomicU64,
    cap: u64,
    /// Notified by the first request beyond the cap.
    capped: Notify,
    tables: Option<Tables>,
    prefix: String,
    /// Other names that may be created, because no table has them.
    free: Mutex<BTreeSet<String>>,
    creating: AtomicUsize,
    session: Mutex<Option<Vec<Exchange>>>,
}

impl Guard {
    pub(crate) fn new(behind: Arc<dyn Transport>, prefix: &str, cap: u64, tables: Option<Tables>) -> Self {
        let state = State {
            sent: AtomicU64::new(0),
            created: AtomicU64::new(0),
            cap,
            capped: Notify::new(),
            tables,
            prefix: prefix.to_owned(),
            free: Mutex::default(),
            creating: AtomicUsize::new(0),
            session: Mutex::new(None),
        };
        Self {
            behind,
            state: Arc::new(state),
        }
    }

    pub(crate) fn tables(&self) -> Option<&Tables> {
        self.state.tables.as_ref()
    }

    /// Returns the number of requests so far.
    pub(crate) fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::SeqCst).min(self.state.cap)
    }

    /// Returns the number of requests so far that create a table.
    pub(crate) fn created(&self) -> u64 {
        self.state.created.load(Ordering::SeqCst)
    }

    /// Waits until a request exceeds the cap.
    pub(crate) async fn capped(&self) {
        self.state.capped.notified().await;
    }

    /// Allows a table without the prefix.
    pub(crate) fn allow(&self, name: &str) {
        lock(&self.state.free).insert(name.to_owned());
    }

    /// Waits for the requests that create tables.
    pub(crate) async fn settle(&self) {
        let settled = async {
            while self.state.creating.load(Ordering::SeqCst) > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Beyond this time the names stay in the file.
        let _ = tokio::time::timeout(PENDING, settled).await;
    }

    /// Keeps the exchanges from now on.
    pub(crate) fn start_session(&self) {
        *lock(&self.state.session) = Some(Vec::new());
    }

    /// Returns the exchanges since the start.
    pub(crate) fn end_session(&self) -> Vec<Exchange> {
        lock(&self.state.session).take().unwrap_or_default()
    }

    /// Notes a table. Returns `true` if it was not noted yet.
    fn note(&self, name: &str) -> Result<bool, TransportError> {
        let failed = |why: String| TransportError::new(Delivery::NothingSent, why);
        if !name.starts_with(&self.state.prefix) && !lock(&self.state.free).contains(name) {
            return Err(failed(
                "a table without the prefix of this run is not created".to_owned(),
            ));
        }
        match &self.state.tables {
            None => Ok(true),
            Some(tables) => tables.add(name).map_err(|e| failed(format!("the file of tables: {e}"))),
        }
    }

    async fn exchange(self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let deleted = deleted_table(&request);
        let kept = lock(&self.state.session).is_some().then(|| request.clone());
        let outcome = self.behind.send(request).await;
        if let (Ok(response), Some(request)) = (&outcome, kept)
            && let Some(session) = lock(&self.state.session).as_mut()
        {
            session.push(Exchange::of(&request, response));
        }
        if let (Ok(response), Some(name), Some(tables)) = (&outcome, deleted, &self.state.tables)
            && response.status() == 204
        {
            // If this fails, the cleanup deletes the table again.
            let _ = tables.remove(&name);
        }
        outcome
    }

    /// Creates a table, whatever becomes of the caller.
    async fn create(self, name: String, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let is_new = self.note(&name)?;
        self.state.creating.fetch_add(1, Ordering::SeqCst);
        self.state.created.fetch_add(1, Ordering::SeqCst);
        let guard = self.clone();
        let creation = tokio::spawn(async move {
            let outcome = guard.clone().exchange(request).await;
            // 409 is a table that exists, and 408 and 429 may hide a creation.
            let is_rejected = |status: u16| (400..500).contains(&status) && ![408, 409, 429].contains(&status);
            let is_not_created = match &outcome {
                Ok(response) => is_rejected(response.status().as_u16()),
                Err(e) => e.delivery() == Delivery::NothingSent,
            };
            // An earlier request for the same table may have created it.
            if let (true, true, Some(tables)) = (is_new, is_not_created, &guard.state.tables) {
                let _ = tables.remove(&name);
            }
            guard.state.creating.fetch_sub(1, Ordering::SeqCst);
            outcome
        });
        creation
            .await
            .unwrap_or_else(|_| Err(TransportError::new(Delivery::MaybeSent, "the creation was aborted")))
    }
}

/// Returns the table that a request creates.
fn created_table(request: &Request<Bytes>) -> Option<String> {
    let (_, resource) = request.uri().path().rsplit_once('/')?;
    let may_create = request.method() == Method::POST && resource.starts_with("Tables");
    let body: serde_json::Value = may_create.then(|| serde_json::from_slice(request.body()).ok())??;
    Some(body.get("TableName")?.as_str()?.to_owned())
}

fn deleted_table(request: &Request<Bytes>) -> Option<String> {
    let path = (request.method() == Method::DELETE).then(|| crate::service::mask::decoded(request.uri().path()))?;
    let (_, name) = path.split_once("/Tables('")?;
    Some(name.strip_suffix("')")?.replace("''", "'"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transport for Guard {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let number = self.state.sent.fetch_add(1, Ordering::SeqCst) + 1;
        if number > self.state.cap {
            self.state.capped.notify_one();
            // The run is canceled. An error would only be retried.
            return Box::pin(std::future::pending());
        }
        match created_table(&request) {
            Some(name) => Box::pin(self.clone().create(name, request)),
            None => Box::pin(self.clone().exchange(request)),
        }
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&*self.behind)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("sent", &self.sent())
            .finish_non_exhaustive()
    }
}
