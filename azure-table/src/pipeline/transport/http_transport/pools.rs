//! One connection pool for each tokio runtime.
//!
//! The runtime that opens a connection also drives it. A program may share a client between runtimes and run one of
//! them at a time, for example to wait for a call in synchronous code. A connection of another one would then never
//! respond.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_util::client::legacy::{Builder, Client, ResponseFuture};
use tokio::runtime::{Handle, Id};

use crate::pipeline::transport::http_transport::connector::Connector;

/// The maximum number of pools. The oldest one then closes its idle connections. A server may have a runtime per core.
const MAX_POOLS: usize = 256;

type Pool = Client<Connector, Full<Bytes>>;

pub(super) struct Pools {
    settings: Builder,
    connector: Connector,
    /// The oldest first, by runtime.
    pools: Mutex<Vec<(Option<Id>, Pool)>>,
}

impl Pools {
    pub(super) fn new(settings: Builder, connector: Connector) -> Self {
        Self {
            settings,
            connector,
            pools: Mutex::default(),
        }
    }

    /// Sends a request in the pool of the current runtime.
    pub(super) fn request(&self, request: Request<Full<Bytes>>) -> ResponseFuture {
        let runtime = Handle::try_current().ok().map(|handle| handle.id());
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = pools.iter().find(|(of, _)| *of == runtime) {
            return pool.request(request);
        }
        if pools.len() >= MAX_POOLS {
            pools.remove(0);
        }
        let pool = self.settings.build(self.connector.with_own_limit());
        let response = pool.request(request);
        pools.push((runtime, pool));
        response
    }
}
