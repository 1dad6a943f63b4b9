//! The emulator on a port, over HTTP/1.1 or HTTPS.
//!
//! Contains the listener, its address and its shutdown. A connection and the framing of messages are in
//! `http/connection.rs`, the limits of all connections in `http/admission.rs`, TLS in `http/certificate.rs`. The
//! emulator receives only complete requests.

mod admission;
mod certificate;
mod connection;
mod observed;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use azure_table_wire::account::endpoint::DEVELOPMENT_ACCOUNT;
use azure_table_wire::account::signature::DEVELOPMENT_KEY;
use azure_table_wire::transport::Transport;
use azure_table_wire::value::clock;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, ToSocketAddrs, lookup_host};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::http::admission::Admission;
pub use crate::http::certificate::ServerCertificate;
use crate::http::connection::{Connection, Tls};
use crate::in_process::Emulator;

/// The pause after a failed accept, for example when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The time limit for the head of a request, and again for its body and for each piece of its response.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of open connections.
const MAX_CONNECTIONS: usize = 10_000;
/// The maximum total size of request bodies that are being read, in bytes: 64 of the largest.
const MAX_BODIES: usize = 256 << 20;
/// The maximum number of ports that are tried to find one that is free at several addresses.
const MAX_PORTS: usize = 10;
/// The time limit for requests in flight once the shutdown has begun.
const GRACE: Duration = Duration::from_secs(10);

/// An [`Emulator`] that listens on a port. Feature `emulator-http`.
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
    /// The transport between the connections and the emulator.
    front: Option<Arc<dyn Transport>>,
    /// One for each address, all of the same port.
    listeners: Vec<TcpListener>,
    address: SocketAddr,
    read_timeout: Duration,
    max_connections: usize,
    max_body_bytes: usize,
    tls: Tls,
}

impl EmulatorServer {
    /// Binds a port. With port 0 the system selects a free one.
    ///
    /// Connections wait until the server runs. If `address` resolves to several addresses, such as those of
    /// `localhost`, the server listens on each that this machine has, on the port of the first.
    ///
    /// # Errors
    /// - The port cannot be bound, for example with [`AddrInUse`](io::ErrorKind::AddrInUse).
    pub async fn bind(emulator: Emulator, address: impl ToSocketAddrs) -> io::Result<Self> {
        let addresses: Vec<SocketAddr> = lookup_host(address).await?.collect();
        let listeners = listen(&addresses).await?;
        let first = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let address = first.local_addr()?;
        Ok(Self {
            emulator,
            front: None,
            listeners,
            address,
            read_timeout: READ_TIMEOUT,
            max_connections: MAX_CONNECTIONS,
            max_body_bytes: MAX_BODIES,
            tls: Tls::None,
        })
    }

    /// Serves HTTPS with this certificate instead of HTTP. Feature `emulator-http`.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use azure_table::{Emulator, EmulatorServer, TableServiceClient};
    /// use azure_table::emulator::ServerCertificate;
    /// use azure_table::transport::HttpTransport;
    /// let pem = std::fs::read("certificate.pem")?; // of 127.0.0.1
    /// let certificate = ServerCertificate::from_pem(&pem, std::fs::read("key.pem")?)?;
    /// let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?.https(certificate);
    ///
    /// let transport = HttpTransport::builder().root_certificates(&pem).build()?;
    /// let service = TableServiceClient::from_connection_string(&server.connection_string())?.transport(transport);
    /// let running = server.spawn();
    /// service.table::<azure_table::DynamicEntity>("Blogs")?.create_table().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn https(mut self, certificate: ServerCertificate) -> Self {
        self.tls = Tls::By(certificate);
        self
    }

    /// Adds another transport in front of the emulator, such as `testing::Faults`.
    ///
    /// `wrap` receives the emulator without its observer: the server reports the responses that its clients receive. If
    /// the transport fails, the server closes the connection without a response, or in the middle of a truncated one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use azure_table::testing::{Fault, Faults};
    /// use azure_table::{Emulator, EmulatorServer, NoRetry, TableServiceClient};
    /// let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?;
    /// let connection_string = server.connection_string();
    /// let running = server.through(|emulator| {
    ///     let faults = Faults::new(emulator);
    ///     faults.add(Fault::LoseResponse);
    ///     faults
    /// });
    /// let running = running.spawn();
    /// let service = TableServiceClient::from_connection_string(&connection_string)?.retry(NoRetry);
    /// let lost = service.dynamic_table("Blogs")?.create_table().await.unwrap_err();
    /// assert!(lost.may_have_applied());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn through<T: Transport>(mut self, wrap: impl FnOnce(Emulator) -> T) -> Self {
        self.front = Some(Arc::new(wrap(self.emulator.clone().without_observer())));
        self
    }

    /// Sets the time in which a client must send the head of a request, then its body, and read each piece of the
    /// response; 30 s by default.
    ///
    /// After that, the server closes the connection. It also closes a connection that is idle for this long.
    #[must_use]
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Sets the maximum number of open connections, at least 1; 10,000 by default.
    ///
    /// A connection beyond the limit replaces the one that has waited longest for its client: for a complete request,
    /// for the next request, or for a response to be read. This also happens when the process runs out of file handles.
    /// If every connection has a complete request, none is replaced, and the limit is exceeded.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets the maximum total size of request bodies that are being read, in bytes; 256 MiB by default.
    ///
    /// Further bodies wait, within their time limit. Bodies of at most 16 KiB neither wait nor count.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Returns the address that the server listens on, the first one of several.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the connection string of the account `devstoreaccount1` at this address.
    ///
    /// For an unspecified address (`0.0.0.0`) it names the loopback address. For an emulator of [Cosmos
    /// DB](Emulator::cosmos) it names `localhost` instead, by which official clients recognize the service, and no
    /// account in the path.
    pub fn connection_string(&self) -> String {
        self.connection_string_of(DEVELOPMENT_ACCOUNT).unwrap_or_default()
    }

    /// Returns the connection string of an account, or `None` if no such account exists.
    pub fn connection_string_of(&self, account: &str) -> Option<String> {
        let key = &self.emulator.settings().accounts.get(account)?.key_text;
        let scheme = self.tls.scheme();
        let address = reachable(self.address);
        let endpoint = match self.emulator.settings().rules().has_storage_form {
            true => format!("{address}/{account}"),
            false if is_localhost(address.ip()) => format!("localhost:{}/", address.port()),
            false => format!("{address}/"),
        };
        Some(format!(
            "DefaultEndpointsProtocol={scheme};AccountName={account};AccountKey={key};\
             TableEndpoint={scheme}://{endpoint};"
        ))
    }

    /// Returns `true` if other machines can reach the account `devstoreaccount1` with the public key of all emulators.
    ///
    /// This is the case if the address is not a loopback address and the account has no [other
    /// key](Emulator::account). A program that lets its user choose the address should warn about it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use azure_table::{Emulator, EmulatorServer};
    /// let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?;
    /// assert!(!server.is_open_to_network());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_open_to_network(&self) -> bool {
        let addresses = self.listeners.iter().filter_map(|listener| listener.local_addr().ok());
        addresses
            .into_iter()
            .any(|address| is_open(address.ip(), &self.emulator))
    }

    /// Serves requests until `shutdown` completes.
    ///
    /// The server then answers the requests that it has received completely, for at most 10 s, and closes all
    /// connections.
    pub async fn serve_until(mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        // Dropping the set aborts its tasks: no connection outlives the server.
        let mut connections = JoinSet::new();
        let graceful = GracefulShutdown::new();
        let admission = Admission::new(self.max_connections, self.max_body_bytes);
        loop {
            let accepted = std::future::poll_fn(|cx| match shutdown.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => {
                    let mut accepted = self.listeners.iter().map(|listener| listener.poll_accept(cx));
                    accepted.find(Poll::is_ready).unwrap_or(Poll::Pending).map(Some)
                }
            });
            let accepted = accepted.await;
            // No address can keep the others waiting.
            self.listeners.rotate_left(1);
            match accepted {
                None => break,
                Some(Ok((stream, peer))) => {
                    let place = admission.admit();
                    let connection = Connection {
                        emulator: self.emulator.clone(),
                        front: self.front.clone(),
                        peer,
                        timeout: self.read_timeout,
                        place: Arc::clone(&place),
                        scheme: self.tls.scheme(),
                    };
                    place.of_task(connections.spawn(self.tls.clone().serve(connection, graceful.watcher(), stream)));
                }
                Some(Err(_)) => {
                    admission.make_room();
                    clock::sleep(ACCEPT_PAUSE).await;
                }
            }
            while connections.try_join_next().is_some() {}
        }
        drop(self.listeners);
        admission.close_receiving();
        let _ = clock::within(GRACE, graceful.shutdown()).await;
    }

    /// Runs the server on a spawned task until the returned value is dropped or [stopped](RunningEmulator::stop).
    ///
    /// Call it within a tokio runtime.
    pub fn spawn(self) -> RunningEmulator {
        let (address, connection_string) = (self.address, self.connection_string());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(self.serve_until(async {
            let _ = stopped.await;
        }));
        RunningEmulator {
            address,
            connection_string,
            stop: Some(stop),
            task,
        }
    }
}

/// Listens on all addresses, on the port of the first. Skips the further ones that this machine does not have.
async fn listen(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match listen_once(addresses).await {
            // The port that the system selected for one address is in use at another.
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && is_free_port(addresses) && attempts < MAX_PORTS => {}
            listeners => return listeners,
        }
    }
}

async fn listen_once(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut missing = io::ErrorKind::AddrNotAvailable.into();
    for address in addresses {
        let mut address = *address;
        if let Some(first) = listeners.first() {
            address.set_port(first.local_addr()?.port());
        }
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Err(e),
            Err(e) => missing = e,
        }
    }
    if listeners.is_empty() {
        Err(missing)
    } else {
        Ok(listeners)
    }
}

/// Returns `true` if the system selects the port.
fn is_free_port(addresses: &[SocketAddr]) -> bool {
    addresses.len() > 1 && addresses.first().is_some_and(|address| address.port() == 0)
}

/// Returns `true` if `localhost` leads to an address.
fn is_localhost(address: IpAddr) -> bool {
    [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()].contains(&address)
}

/// Returns `true` if other machines can reach the development account with the public key.
fn is_open(address: IpAddr, emulator: &Emulator) -> bool {
    let account = emulator.settings().accounts.get(DEVELOPMENT_ACCOUNT);
    let has_public_key = account.is_some_and(|account| account.key_text == DEVELOPMENT_KEY);
    has_public_key && !address.to_canonical().is_loopback()
}

/// Replaces an unspecified address with the loopback address, because not every system can connect to the former.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// A server on a spawned task. Dropping it stops the server immediately.
#[must_use = "dropping it stops the server"]
pub struct RunningEmulator {
    address: SocketAddr,
    connection_string: String,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl RunningEmulator {
    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the connection string of the account `devstoreaccount1`.
    pub fn connection_string(&self) -> &str {
        &self.connection_string
    }

    /// Stops the server after it has answered the requests received so far, for at most 10 s.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let _ = (&mut self.task).await;
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

#[cfg(test)]
mod tests {
    use ::http::{Request, Response};
    use azure_table_wire::transport::{BoxFuture, TransportError};
    use bytes::Bytes;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::time::Instant;

    use super::*;

    /// Answers after a while.
    #[derive(Debug)]
    struct Slow(Emulator);

    impl Transport for Slow {
        fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                self.0.send(request).await
            })
        }
    }

    #[tokio::test]
    async fn stop_answers_complete_requests_and_waits_for_no_others() {
        let complete = "GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\n\r\n";
        let half = "POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n{";
        for (sent, answers) in [("", 0), (&complete[..20], 0), (half, 0), (complete, 1)] {
            let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
            let running = server.through(Slow).spawn();
            let mut client = TcpStream::connect(running.address()).await.unwrap();
            client.write_all(sent.as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            // A shutdown that waited for a client would let the clock jump to its limit.
            tokio::time::pause();
            let started = Instant::now();
            running.stop().await;
            assert!(started.elapsed() < Duration::from_secs(1), "{sent}");
            tokio::time::resume();
            let mut received = Vec::new();
            let _ = client.read_to_end(&mut received).await;
            assert_eq!(
                String::from_utf8_lossy(&received).matches("HTTP/1.1 ").count(),
                answers,
                "{sent}"
            );
        }
    }

    #[test]
    fn development_account_is_reachable_from_other_machines_with_its_public_key() {
        let public = Emulator::new();
        let own = Emulator::new().account(DEVELOPMENT_ACCOUNT, "AAECAwQFBgc=").unwrap();
        let public_again = own.clone().account(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
        for (address, is_beyond) in [
            ("127.0.0.1", false),
            ("127.1.2.3", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("0.0.0.0", true),
            ("::", true),
            ("192.168.0.1", true),
            ("::ffff:192.168.0.1", true),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(is_open(address, &public), is_beyond, "{address}");
            assert_eq!(is_open(address, &public_again), is_beyond, "{address}");
            assert!(!is_open(address, &own), "{address}");
        }
    }
}
