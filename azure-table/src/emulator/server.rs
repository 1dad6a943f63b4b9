//! The emulator on a port: the same answers over HTTP/1.1.
//!
//! Owns the listener, the connections and the framing of messages. Everything else is the emulator's, which gets each
//! request whole.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::{Parts, Scheme, Uri};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::task::{JoinHandle, JoinSet};

use crate::codec::json::write::MAX_BODY_BYTES;
use crate::emulator::refusal::Refusal;
use crate::emulator::{Emulator, service};
use crate::model::clock;
use crate::protocol::endpoint::DEVELOPMENT_ACCOUNT;

/// What a body may have beyond the service's limit and still be read to its end, so that the client gets the service's
/// refusal and not a broken connection.
const BODY_MARGIN: usize = 1 << 20;
/// The pause after a connection could not be accepted, when the process has no more files to open, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// An [`Emulator`] that listens on a port.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use azure_table::{Emulator, EmulatorServer};
/// let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?;
/// let running = server.spawn();
/// assert!(running.connection_string().contains("AccountName=devstoreaccount1"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct EmulatorServer {
    emulator: Emulator,
    listener: TcpListener,
    address: SocketAddr,
}

impl EmulatorServer {
    /// Takes a port; port 0 is any that is free. Connections wait until the server is run.
    ///
    /// # Errors
    /// The port cannot be had, [`AddrInUse`](io::ErrorKind::AddrInUse) for example.
    pub async fn bind(emulator: Emulator, address: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self {
            emulator,
            listener,
            address,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connection string of the account `devstoreaccount1` at this address.
    pub fn connection_string(&self) -> String {
        self.connection_string_of(DEVELOPMENT_ACCOUNT).unwrap_or_default()
    }

    /// The connection string of an account; `None` if there is no such account.
    pub fn connection_string_of(&self, account: &str) -> Option<String> {
        let key = &self.emulator.settings.accounts.get(account)?.key_text;
        let address = self.address;
        Some(format!(
            "DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};\
             TableEndpoint=http://{address}/{account};"
        ))
    }

    /// Answers requests until `shutdown` is ready; connections that are open then are closed.
    pub async fn serve_until(self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        // Dropping the set ends its tasks: no connection outlives the server.
        let mut connections = JoinSet::new();
        loop {
            let accepted = std::future::poll_fn(|cx| match shutdown.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => self.listener.poll_accept(cx).map(Some),
            });
            match accepted.await {
                None => return,
                Some(Ok((stream, peer))) => {
                    connections.spawn(connection(self.emulator.clone(), stream, peer));
                }
                Some(Err(_)) => clock::sleep(ACCEPT_PAUSE).await,
            }
            while connections.try_join_next().is_some() {}
        }
    }

    /// Runs the server in a task of its own, until the returned value is dropped.
    ///
    /// Call it within a tokio runtime.
    pub fn spawn(self) -> RunningEmulator {
        let (address, connection_string) = (self.address, self.connection_string());
        let task = tokio::spawn(self.serve_until(std::future::pending()));
        RunningEmulator {
            address,
            connection_string,
            task,
        }
    }
}

/// A server in a task of its own. Dropping it stops the server.
#[must_use = "dropping it stops the server"]
pub struct RunningEmulator {
    address: SocketAddr,
    connection_string: String,
    task: JoinHandle<()>,
}

impl RunningEmulator {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connection string of the account `devstoreaccount1`.
    pub fn connection_string(&self) -> &str {
        &self.connection_string
    }
}

impl fmt::Debug for RunningEmulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningEmulator")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for RunningEmulator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connection(emulator: Emulator, stream: TcpStream, peer: SocketAddr) {
    // Answers are small and whole: waiting for more to send only costs time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let emulator = emulator.clone();
        async move { Ok::<_, Infallible>(answer(&emulator, request, peer).await) }
    });
    // A broken connection concerns its client alone.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(emulator: &Emulator, request: Request<Incoming>, peer: SocketAddr) -> Response<Full<Bytes>> {
    let (mut head, body) = request.into_parts();
    // For signatures that name addresses.
    head.extensions.insert(peer);
    let Ok(body) = Limited::new(body, MAX_BODY_BYTES + BODY_MARGIN).collect().await else {
        // Too large by far, or broken off: the rest of it is not awaited.
        return service::refuse(emulator, &head.headers, &Refusal::BODY_TOO_LARGE).map(Full::new);
    };
    if let Some(uri) = absolute(&head.uri, head.headers.get(HOST).and_then(|host| host.to_str().ok())) {
        head.uri = uri;
    }
    let request = Request::from_parts(head, body.to_bytes());
    emulator.answer(request).await.map(Full::new)
}

/// The address with the host that the client asked for; `None` where it is whole already, or no host is named.
fn absolute(uri: &Uri, host: Option<&str>) -> Option<Uri> {
    let mut parts = Parts::default();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(host.filter(|_| uri.authority().is_none())?.parse().ok()?);
    parts.path_and_query = uri.path_and_query().cloned();
    Uri::from_parts(parts).ok()
}
