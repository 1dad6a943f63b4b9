//! One connection pool for each tokio runtime.
//!
//! The runtime that opens a connection also drives it. A program may share a client between runtimes and run one of
//! them at a time, for example to wait for a call in synchronous code. A connection that another runtime opened would
//! then never respond.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Handle, Id};

use crate::pipeline::transport::http_transport::connector::Connector;
use crate::pipeline::transport::http_transport::pool::{Pool, PoolLimits};

/// The maximum number of pools. The oldest one then closes its idle connections. A server may have a runtime per core.
const MAX_POOLS: usize = 256;

pub(super) struct Pools {
    connector: Connector,
    limits: PoolLimits,
    /// The oldest first, by runtime.
    pools: Mutex<Vec<(Option<Id>, Arc<Pool>)>>,
}

impl Pools {
    pub(super) fn new(connector: Connector, limits: PoolLimits) -> Self {
        Self {
            connector,
            limits,
            pools: Mutex::default(),
        }
    }

    /// Returns the pool of the current runtime.
    pub(super) fn current(&self) -> Arc<Pool> {
        let runtime = Handle::try_current().ok().map(|handle| handle.id());
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = pools.iter().find(|(of, _)| *of == runtime) {
            return Arc::clone(pool);
        }
        if pools.len() >= MAX_POOLS {
            pools.remove(0);
        }
        let pool = Arc::new(Pool::new(self.connector.clone(), self.limits));
        pools.push((runtime, Arc::clone(&pool)));
        pool
    }
}
