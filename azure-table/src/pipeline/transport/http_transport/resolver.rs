//! The addresses of a host: fixed, from a function, or from the operating system.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use azure_table_wire::transport::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tokio::net::lookup_host;
use tower_service::Service;

type Function = dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

#[derive(Default)]
pub(super) struct Resolver {
    /// By host, in lowercase.
    pub(super) fixed: HashMap<String, Vec<SocketAddr>>,
    pub(super) function: Option<Box<Function>>,
}

impl Resolver {
    pub(super) async fn addresses(self: Arc<Self>, host: String) -> io::Result<Vec<SocketAddr>> {
        let host = host.to_ascii_lowercase();
        if let Some(addresses) = self.fixed.get(&host) {
            return Ok(addresses.clone());
        }
        match &self.function {
            Some(function) => function(host).await,
            None => Ok(lookup_host((host, 0)).await?.collect()),
        }
    }
}

/// The resolver of hyper-util's connector, which sets the port of the URL, or its default in place of 0.
#[derive(Clone)]
pub(super) struct Resolving(pub(super) Arc<Resolver>);

impl Service<Name> for Resolving {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, host: Name) -> Self::Future {
        let addresses = Arc::clone(&self.0).addresses(host.as_str().to_owned());
        Box::pin(async move { Ok(addresses.await?.into_iter()) })
    }
}
