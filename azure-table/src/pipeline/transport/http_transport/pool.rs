//! The connections of one tokio runtime, on hyper's HTTP/1.1.
//!
//! It chooses the connection for a request, and knows whether a byte of the request was sent. `connector` opens the
//! connections.
//!
//! A connection returns to the pool when its response is read to the end and hyper accepts another request. After an
//! error, or if the caller drops the future earlier, the connection is closed: nobody reads the rest of a response.
//!
//! A request that finds no idle connection opens one, and uses the first that is available: its own, or one whose
//! response was just read. In the second case a connection that is being opened is kept for the next request.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::mem;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::transport::{BoxFuture, Delivery, TransportError};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::client::legacy::connect::Connection as _;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use crate::pipeline::transport::http_transport::connector::Connector;
use crate::pipeline::transport::http_transport::secure::BoxError;
use crate::pipeline::transport::rejected_certificate::is_certificate_rejected;
use crate::pipeline::transport::response_body::{ResponseBody, cut};

/// The maximum wait for a connection: less than the default timeout of an attempt, after which a write is in doubt.
///
/// Requests wait here only if the client does not see the transport's limit of requests.
const PATIENCE: Duration = Duration::from_secs(30);

/// The limits of the connections to one host.
#[derive(Clone, Copy)]
pub(super) struct PoolLimits {
    /// The maximum number of open connections.
    pub(super) open: Option<usize>,
    /// The maximum number of idle connections.
    pub(super) idle: usize,
    /// The time after which an idle connection is closed.
    pub(super) idle_timeout: Option<Duration>,
}

pub(super) struct Pool {
    connector: Connector,
    limits: PoolLimits,
    /// Sorted by their address as it is written. A program may have many accounts.
    hosts: Mutex<Vec<Arc<Host>>>,
}

/// The connections to one host. Its limits are its own, so that idle connections to one host do not reduce the limit of
/// another.
struct Host {
    scheme: Scheme,
    authority: Authority,
    /// The value of the header `Host`.
    header: HeaderValue,
    limits: PoolLimits,
    /// One permit for each connection that may still be opened.
    slots: Option<Arc<Semaphore>>,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    /// The latest last: it is used first, and the others expire.
    idle: Vec<Idle>,
    /// The requests that wait for a connection, the first one first.
    waiting: VecDeque<oneshot::Sender<Lease>>,
    /// Ends the task that closes idle connections when their time is over.
    watch: Option<oneshot::Sender<Infallible>>,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// The other side is a proxy that accepts requests with absolute URLs.
    forwards_requests: bool,
}

/// A connection in use. It returns to the pool when it is dropped, unless a response on it is not read to the end.
struct Lease {
    host: Arc<Host>,
    /// `None` only while it is dropped.
    connection: Option<Connection>,
    /// It was opened for this request.
    is_new: bool,
    /// The response to its request is not read to the end.
    is_busy: bool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| !self.is_busy) {
            self.host.put(connection);
        }
    }
}

impl Pool {
    pub(super) fn new(connector: Connector, limits: PoolLimits) -> Self {
        Self {
            connector,
            limits,
            hosts: Mutex::default(),
        }
    }

    /// Sends a request and reads its response. A connection that was closed while it was idle is noticed before the
    /// first byte is written: the request is then sent on another one.
    pub(super) async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Bytes>, TransportError> {
        let host = self.host(request.uri()).map_err(not_sent)?;
        request.headers_mut().entry(HOST).or_insert_with(|| host.header.clone());
        loop {
            let idle = host.idle(&mut host.free());
            let mut lease = match idle {
                Some(connection) => host.lease(connection, false),
                None => Box::pin(Arc::clone(&host).wait_or_open(&self.connector))
                    .await
                    .map_err(not_sent)?,
            };
            let Some(connection) = &mut lease.connection else {
                continue;
            };
            if !connection.forwards_requests
                && let Some(path) = mem::take(request.uri_mut()).into_parts().path_and_query
            {
                *request.uri_mut() = path.into();
            }
            lease.is_busy = true;
            let mut failed = match connection.sender.try_send_request(request).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    let body = read(body).await?;
                    lease.is_busy = false;
                    return Ok(Response::from_parts(head, body));
                }
                Err(failed) => failed,
            };
            match failed.take_message() {
                Some(unsent) if !lease.is_new => request = unsent,
                Some(_) => return Err(not_sent(failed.into_error())),
                None => return Err(maybe_sent(failed.into_error())),
            }
        }
    }

    fn host(&self, uri: &Uri) -> Result<Arc<Host>, BoxError> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err("the URL has no host".into());
        };
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let place = |host: &Arc<Host>| {
            let of = host.authority.as_str().cmp(authority.as_str());
            of.then_with(|| host.scheme.as_str().cmp(scheme.as_str()))
        };
        let at = match hosts.binary_search_by(place) {
            Ok(at) => return Ok(Arc::clone(&hosts[at])),
            Err(at) => at,
        };
        let host = Arc::new(Host::new(scheme, authority, self.limits)?);
        hosts.insert(at, Arc::clone(&host));
        Ok(host)
    }
}

impl Host {
    fn new(scheme: &Scheme, authority: &Authority, limits: PoolLimits) -> Result<Self, BoxError> {
        let default = if *scheme == Scheme::HTTPS { 443 } else { 80 };
        let header = match authority.port_u16() {
            Some(port) if port != default => format!("{}:{port}", authority.host()),
            _ => authority.host().to_owned(),
        };
        Ok(Self {
            scheme: scheme.clone(),
            authority: authority.clone(),
            header: HeaderValue::try_from(header)?,
            limits,
            slots: limits.open.map(|open| Arc::new(Semaphore::new(open))),
            free: Mutex::default(),
        })
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease(self: &Arc<Self>, connection: Connection, is_new: bool) -> Lease {
        Lease {
            host: Arc::clone(self),
            connection: Some(connection),
            is_new,
            is_busy: false,
        }
    }

    /// Returns an idle connection that is still open.
    fn idle(&self, free: &mut Free) -> Option<Connection> {
        while let Some(Idle { connection, since }) = free.idle.pop() {
            if self.is_expired(since) {
                // The others are older.
                free.idle.clear();
            } else if connection.sender.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    fn is_expired(&self, since: Instant) -> bool {
        self.limits
            .idle_timeout
            .is_some_and(|timeout| since.elapsed() >= timeout)
    }

    /// Returns the first connection that is available: one that another request no longer needs, or a new one.
    async fn wait_or_open(self: Arc<Self>, connector: &Connector) -> Result<Lease, BoxError> {
        let (hand_over, handed_over) = oneshot::channel();
        {
            let mut free = self.free();
            // One may have returned since the caller looked: nobody would hand it over.
            if let Some(connection) = self.idle(&mut free) {
                return Ok(self.lease(connection, false));
            }
            free.waiting.retain(|waiting| !waiting.is_closed());
            free.waiting.push_back(hand_over);
        }
        let mut waiting = pin!(async move {
            match handed_over.await {
                Ok(lease) => lease,
                Err(_) => pending().await,
            }
        });
        let slot = match select(waiting.as_mut(), pin!(self.slot())).await {
            Either::Left((lease, _)) => return Ok(lease),
            Either::Right((slot, _)) => slot?,
        };
        match select(waiting, self.open(connector, slot)).await {
            Either::Left((lease, opening)) => {
                let host = Arc::clone(&self);
                tokio::spawn(opening.map(move |opened| drop(opened.map(|connection| host.lease(connection, true)))));
                Ok(lease)
            }
            Either::Right((opened, _)) => Ok(self.lease(opened?, true)),
        }
    }

    /// Waits until one more connection may be opened.
    async fn slot(&self) -> Result<Option<OwnedSemaphorePermit>, BoxError> {
        let Some(slots) = &self.slots else { return Ok(None) };
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(slots).acquire_owned()).await;
        turn.map(|slot| slot.ok()).map_err(|_| {
            let limit = self.limits.open.unwrap_or_default();
            let why = format!(
                "none of {limit} connections was free within {PATIENCE:?}: raise `max_connections`, run fewer calls \
                 concurrently, or implement `behind` in the transport that wraps this one"
            );
            io::Error::new(io::ErrorKind::TimedOut, why).into()
        })
    }

    fn open(
        &self,
        connector: &Connector,
        slot: Option<OwnedSemaphorePermit>,
    ) -> BoxFuture<'static, Result<Connection, BoxError>> {
        let endpoint = Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query("/")
            .build();
        let connector = connector.clone();
        Box::pin(async move {
            let stream = connector.connect(endpoint?, slot).await?;
            let forwards_requests = stream.connected().is_proxied();
            let (mut sender, driving) = handshake(stream).await?;
            let driving = tokio::spawn(driving);
            // The server may have closed it already, or sent something that is not a response.
            if let Err(closed) = sender.ready().await {
                return Err(driving.await.ok().and_then(Result::err).unwrap_or(closed).into());
            }
            Ok(Connection {
                sender,
                forwards_requests,
            })
        })
    }

    /// Takes back a connection without a request, once hyper is ready for the next one.
    fn put(self: &Arc<Self>, mut connection: Connection) {
        if connection.sender.is_ready() {
            self.put_ready(connection);
        } else if !connection.sender.is_closed()
            && let Ok(runtime) = Handle::try_current()
        {
            let host = Arc::clone(self);
            runtime.spawn(async move {
                if connection.sender.ready().await.is_ok() {
                    host.put_ready(connection);
                }
            });
        }
    }

    fn put_ready(self: &Arc<Self>, mut connection: Connection) {
        if self.limits.idle == 0 {
            return;
        }
        let mut free = self.free();
        while let Some(waiting) = free.waiting.pop_front() {
            let Err(mut unwanted) = waiting.send(self.lease(connection, false)) else {
                return;
            };
            // Without its connection the lease is dropped without effect.
            let Some(own) = unwanted.connection.take() else { return };
            connection = own;
        }
        if free.idle.len() < self.limits.idle {
            let since = Instant::now();
            free.idle.push(Idle { connection, since });
            self.watch(&mut free);
        }
    }

    /// Starts the task that closes idle connections when their time is over, unless it runs.
    fn watch(self: &Arc<Self>, free: &mut Free) {
        let (Some(timeout), Ok(runtime)) = (self.limits.idle_timeout, Handle::try_current()) else {
            return;
        };
        if free.watch.as_ref().is_some_and(|watch| !watch.is_closed()) {
            return;
        }
        let (watch, mut end) = oneshot::channel();
        free.watch = Some(watch);
        let host = Arc::downgrade(self);
        runtime.spawn(async move {
            let mut wait = timeout;
            while tokio::time::timeout(wait, &mut end).await.is_err() {
                let Some(host) = host.upgrade() else { return };
                let mut free = host.free();
                free.idle
                    .retain(|idle| !idle.connection.sender.is_closed() && !host.is_expired(idle.since));
                let Some(oldest) = free.idle.first() else {
                    free.watch = None;
                    return;
                };
                wait = timeout.saturating_sub(oldest.since.elapsed());
            }
        });
    }
}

async fn read(mut pieces: Incoming) -> Result<Bytes, TransportError> {
    let mut body = ResponseBody::new(pieces.size_hint().exact())?;
    while let Some(frame) = pieces.frame().await {
        // Trailers are not part of the body.
        if let Ok(piece) = frame.map_err(cut)?.into_data() {
            body.push(piece)?;
        }
    }
    Ok(body.into_bytes())
}

/// Returns the error of a request of which no byte was written.
fn not_sent(error: impl Into<BoxError>) -> TransportError {
    TransportError::new(Delivery::NothingSent, error)
}

/// Returns the error of a request that may have reached the service.
fn maybe_sent(error: hyper::Error) -> TransportError {
    let reached = if is_certificate_rejected(&error) {
        Delivery::NothingSent
    } else {
        Delivery::MaybeSent
    };
    TransportError::new(reached, error)
}

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::pipeline::transport::http_transport::HttpTransport;

    /// A future that is kept, as by `select!`, holds its place. The requests after it must not leave theirs.
    #[tokio::test]
    async fn requests_behind_one_that_nobody_polls_leave_the_queue() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await?);
                    }
                    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await
                });
            }
        });
        let transport = HttpTransport::builder().pool_max_idle_per_host(0).build().unwrap();
        let pool = transport.pools.current();
        let request = || Request::get(&url).body(Full::default()).unwrap();
        let mut kept = Box::pin(pool.send(request()));
        assert!(poll!(&mut kept).is_pending());
        for _ in 0..20 {
            pool.send(request()).await.unwrap();
        }
        let host = pool.host(&url.parse().unwrap()).unwrap();
        assert!(host.free().waiting.len() <= 2, "{}", host.free().waiting.len());
    }
}
