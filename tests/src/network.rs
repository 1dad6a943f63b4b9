//! The HTTP transports as one type, for tests that run on several.

pub mod tls_front;

use std::sync::Arc;
use std::time::Duration;

use azure_table::transport::{
    AzureCoreTransport, BoxFuture, ConnectionLimit, HttpTransport, HttpTransportBuilder, ReqwestTransport,
    ReqwestTransportBuilder, Transport, TransportError,
};
use azure_table::{Emulator, EmulatorServer, Result, RunningEmulator, TableServiceClient};
use bytes::Bytes;
use http::{Request, Response};

/// Serves an emulator on a port, and returns a client of its account.
///
/// # Panics
/// No port is free.
pub async fn serve(emulator: Emulator) -> (RunningEmulator, TableServiceClient) {
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap().spawn();
    let service = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
    (server, service)
}

/// An HTTP transport of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// `ReqwestTransport`.
    Reqwest,
    /// `HttpTransport`.
    Hyper,
    /// `AzureCoreTransport` on azure_core's own client.
    AzureCore,
    /// The same on a client that the program has built, which follows redirects.
    AzureCoreShared,
}

/// Does the same as `on_both_networks!`, and on `AzureCoreTransport` too.
#[macro_export]
macro_rules! on_all_networks {
    ($($tests:tt)+) => {
        $crate::on_both_networks! { $($tests)+ }
        $crate::on_both_networks! { over_azure_core, AzureCore; $($tests)+ }
        $crate::on_both_networks! { over_azure_core_shared, AzureCoreShared; $($tests)+ }
    };
}

/// Defines a module with one test per function, for each transport that has settings. The functions take a [`Network`]; the text in
/// brackets after a name is for `tokio::test`.
#[macro_export]
macro_rules! on_both_networks {
    ($($test:ident $(($($argument:tt)+))?),+ $(,)?) => {
        $crate::on_both_networks! { over_reqwest, Reqwest; $($test $(($($argument)+))?),+ }
        $crate::on_both_networks! { over_hyper, Hyper; $($test $(($($argument)+))?),+ }
    };
    ($name:ident, $network:ident; $($test:ident $(($($argument:tt)+))?),+ $(,)?) => {
        mod $name {
            $(#[tokio::test$(($($argument)+))?]
            async fn $test() {
                super::$test($crate::Network::$network).await;
            })+
        }
    };
}

impl Network {
    /// Those that have settings.
    pub const ALL: &[Self] = &[Self::Reqwest, Self::Hyper];

    /// Returns the builder of its transport.
    ///
    /// # Panics
    /// The transport has no settings.
    pub fn builder(self) -> NetworkBuilder {
        match self {
            Self::Reqwest => NetworkBuilder::Reqwest(ReqwestTransport::builder()),
            Self::Hyper => NetworkBuilder::Hyper(HttpTransport::builder()),
            Self::AzureCore | Self::AzureCoreShared => panic!("{self:?} has no settings"),
        }
    }

    /// Returns its transport with the default settings of a client.
    ///
    /// # Panics
    /// TLS cannot be set up.
    pub fn transport(self) -> NetworkTransport {
        // The reqwest of azure_core has no crypto provider of its own here.
        drop(rustls::crypto::ring::default_provider().install_default());
        match self {
            Self::AzureCore => NetworkTransport::AzureCore(AzureCoreTransport::new()),
            Self::AzureCoreShared => {
                let client = reqwest::Client::builder().no_proxy().build().unwrap();
                NetworkTransport::AzureCore(AzureCoreTransport::from_client(Arc::new(client)))
            }
            _ => self.builder().build().unwrap(),
        }
    }
}

/// The settings of a transport.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a test has one of them")]
pub enum NetworkBuilder {
    /// Settings of `ReqwestTransport`.
    Reqwest(ReqwestTransportBuilder),
    /// Settings of `HttpTransport`.
    Hyper(HttpTransportBuilder),
}

impl NetworkBuilder {
    /// Sets the setting of this name.
    #[must_use]
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.configure(move |client| client.connect_timeout(timeout))),
            Self::Hyper(builder) => Self::Hyper(builder.connect_timeout(timeout)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn pool_idle_timeout(self, timeout: Duration) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.configure(move |client| client.pool_idle_timeout(timeout))),
            Self::Hyper(builder) => Self::Hyper(builder.pool_idle_timeout(timeout)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn max_connections(self, connections: Option<usize>) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.max_connections(connections)),
            Self::Hyper(builder) => Self::Hyper(builder.max_connections(connections)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn pool_max_idle_per_host(self, connections: usize) -> Self {
        match self {
            Self::Reqwest(builder) => {
                Self::Reqwest(builder.configure(move |client| client.pool_max_idle_per_host(connections)))
            }
            Self::Hyper(builder) => Self::Hyper(builder.pool_max_idle_per_host(connections)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn proxy(self, url: impl Into<String>) -> Self {
        match self {
            Self::Reqwest(builder) => {
                let proxy = reqwest::Proxy::all(url.into()).unwrap();
                Self::Reqwest(builder.configure(|client| client.proxy(proxy)))
            }
            Self::Hyper(builder) => Self::Hyper(builder.proxy(url)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn root_certificates(self, pem: impl AsRef<[u8]>) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.root_certificates(pem)),
            Self::Hyper(builder) => Self::Hyper(builder.root_certificates(pem)),
        }
    }

    /// Builds the transport.
    ///
    /// # Errors
    /// The errors of the transport's builder.
    pub fn build(self) -> Result<NetworkTransport> {
        Ok(match self {
            Self::Reqwest(builder) => NetworkTransport::Reqwest(builder.build()?),
            Self::Hyper(builder) => NetworkTransport::Hyper(Box::new(builder.build()?)),
        })
    }
}

/// One of the transports.
#[derive(Clone, Debug)]
pub enum NetworkTransport {
    /// `ReqwestTransport`.
    Reqwest(ReqwestTransport),
    /// `HttpTransport`.
    Hyper(Box<HttpTransport>),
    /// `AzureCoreTransport`.
    AzureCore(AzureCoreTransport),
}

impl Transport for NetworkTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        match self {
            Self::Reqwest(transport) => transport.send(request),
            Self::Hyper(transport) => transport.send(request),
            Self::AzureCore(transport) => transport.send(request),
        }
    }

    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        match self {
            Self::Reqwest(transport) => transport.connection_limit(),
            Self::Hyper(transport) => transport.connection_limit(),
            Self::AzureCore(transport) => transport.connection_limit(),
        }
    }
}
