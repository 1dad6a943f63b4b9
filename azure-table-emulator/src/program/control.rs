//! The control port: a small HTTP API for controlling the emulator, by a program in any language or by a person.
//!
//! This file has the listener and the time limits. The limit on connections is in `control/connections.rs`.
//! `control/access.rs` authorizes requests, the routes are in `control/routes.rs`, the page for people in
//! `control/page.rs`. The control port changes the emulator only through the library's public methods.

mod access;
mod connections;
mod fault_rules;
mod json;
mod page;
mod request;
mod request_log;
mod response;
mod routes;
mod steered;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use azure_table_emulator::{Emulator, EmulatorServer};
use azure_table_testing::Faults;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tower_service::Service as _;

use crate::control::access::Access;
use crate::control::connections::{Connections, Place};
use crate::control::fault_rules::FaultRules;
pub(crate) use crate::control::request_log::RequestLog;
use crate::control::steered::{Steered, TIMEOUT};
use crate::options::ControlOptions;

/// The maximum head of a request, in bytes.
const MAX_HEAD: usize = 16 << 10;
/// The pause after a failed accept, for example when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The control port, and the emulator that it controls.
pub(crate) struct Control {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
    log: RequestLog,
}

impl Control {
    /// Binds the port. Connections wait until the port is served.
    pub(crate) async fn bind(options: &ControlOptions, log: RequestLog) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::new(options.host, options.port)).await?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            access: Access::new(address, &options.names, options.token.clone()),
            log,
        })
    }

    /// Returns the URL that reaches the port from this machine.
    pub(crate) fn url(&self) -> String {
        let mut address = self.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("http://{address}")
    }

    /// Puts faults in front of a server's emulator, and returns the service of the port.
    pub(crate) fn steer(
        self,
        emulator: Emulator,
        server: EmulatorServer,
    ) -> (EmulatorServer, impl Future<Output = Infallible> + Send + 'static) {
        let mut faults = Faults::new(emulator.clone());
        let server = server.through(|behind| {
            faults = Faults::new(behind);
            faults.clone()
        });
        let steered = Steered {
            access: self.access,
            faults: FaultRules::new(faults, emulator.clone()),
            emulator,
            log: self.log,
            bodies: Semaphore::new(steered::MAX_BODIES as usize),
        };
        (server, serve(self.listener, routes::router(Arc::new(steered))))
    }
}

async fn serve(listener: TcpListener, routes: Router) -> Infallible {
    let mut open = Connections::default();
    // Dropping the set aborts its tasks: no connection outlives the port.
    let mut tasks = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let place = Place::new();
                let task = tasks.spawn(connection(stream, place.clone(), routes.clone()));
                open.admit(task, place);
            }
            Err(_) => {
                open.make_room();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, place: Place, routes: Router) {
    let _ = stream.set_nodelay(true);
    let mut stream = Box::pin(TimeoutStream::new(stream));
    stream.as_mut().set_write_timeout_pinned(Some(TIMEOUT));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (mut routes, place) = (routes.clone(), place.clone());
        async move {
            let busy = place.busy();
            request.extensions_mut().insert(place);
            let response = routes.call(request).await?;
            Ok::<_, Infallible>(busy.until_end(response))
        }
    });
    // A failure affects only its client.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
