//! The two HTTP transports as one type, for tests that run on both.
//!
//! Without the feature `http` there is only `ReqwestTransport`, the default of such a build.

use std::time::Duration;

use azure_table::Result;
use azure_table::transport::{
    BoxFuture, ConnectionLimit, ReqwestTransport, ReqwestTransportBuilder, Transport, TransportError,
};
#[cfg(feature = "http")]
use azure_table::transport::{HttpTransport, HttpTransportBuilder};
use bytes::Bytes;
use http::{Request, Response};

/// An HTTP transport of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// `ReqwestTransport`.
    Reqwest,
    /// `HttpTransport`.
    #[cfg(feature = "http")]
    Hyper,
}

/// Defines a module with one test per function, for each transport. The functions take a [`Network`]; the text in
/// brackets after a name is for `tokio::test`.
#[macro_export]
macro_rules! on_both_networks {
    ($($test:ident $(($($argument:tt)+))?),+ $(,)?) => {
        $crate::on_both_networks! { over_reqwest, Reqwest; $($test $(($($argument)+))?),+ }
        #[cfg(feature = "http")]
        $crate::on_both_networks! { over_hyper, Hyper; $($test $(($($argument)+))?),+ }
    };
    ($name:ident, $network:ident; $($test:ident $(($($argument:tt)+))?),+) => {
        mod $name {
            $(#[tokio::test$(($($argument)+))?]
            async fn $test() {
                super::$test($crate::Network::$network).await;
            })+
        }
    };
}

impl Network {
    /// All transports of this build.
    pub const ALL: &[Self] = &[
        Self::Reqwest,
        #[cfg(feature = "http")]
        Self::Hyper,
    ];

    /// Returns the builder of its transport.
    pub fn builder(self) -> NetworkBuilder {
        match self {
            Self::Reqwest => NetworkBuilder::Reqwest(ReqwestTransport::builder()),
            #[cfg(feature = "http")]
            Self::Hyper => NetworkBuilder::Hyper(HttpTransport::builder()),
        }
    }

    /// Returns its transport with the default settings of a client.
    ///
    /// # Panics
    /// TLS cannot be set up.
    pub fn transport(self) -> NetworkTransport {
        self.builder().build().unwrap()
    }
}

/// The settings of both transports.
#[derive(Debug)]
#[cfg_attr(
    feature = "http",
    expect(clippy::large_enum_variant, reason = "a test has one of them")
)]
pub enum NetworkBuilder {
    /// Settings of `ReqwestTransport`.
    Reqwest(ReqwestTransportBuilder),
    /// Settings of `HttpTransport`.
    #[cfg(feature = "http")]
    Hyper(HttpTransportBuilder),
}

impl NetworkBuilder {
    /// Sets the setting of this name.
    #[must_use]
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.configure(move |client| client.connect_timeout(timeout))),
            #[cfg(feature = "http")]
            Self::Hyper(builder) => Self::Hyper(builder.connect_timeout(timeout)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn pool_idle_timeout(self, timeout: Duration) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.configure(move |client| client.pool_idle_timeout(timeout))),
            #[cfg(feature = "http")]
            Self::Hyper(builder) => Self::Hyper(builder.pool_idle_timeout(timeout)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn max_connections(self, connections: Option<usize>) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.max_connections(connections)),
            #[cfg(feature = "http")]
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
            #[cfg(feature = "http")]
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
            #[cfg(feature = "http")]
            Self::Hyper(builder) => Self::Hyper(builder.proxy(url)),
        }
    }

    /// Sets the setting of this name.
    #[must_use]
    pub fn root_certificates(self, pem: impl AsRef<[u8]>) -> Self {
        match self {
            Self::Reqwest(builder) => Self::Reqwest(builder.root_certificates(pem)),
            #[cfg(feature = "http")]
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
            #[cfg(feature = "http")]
            Self::Hyper(builder) => NetworkTransport::Hyper(Box::new(builder.build()?)),
        })
    }
}

/// One of the two transports.
#[derive(Clone, Debug)]
pub enum NetworkTransport {
    /// `ReqwestTransport`.
    Reqwest(ReqwestTransport),
    /// `HttpTransport`.
    #[cfg(feature = "http")]
    Hyper(Box<HttpTransport>),
}

impl Transport for NetworkTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        match self {
            Self::Reqwest(transport) => transport.send(request),
            #[cfg(feature = "http")]
            Self::Hyper(transport) => transport.send(request),
        }
    }

    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        match self {
            Self::Reqwest(transport) => transport.connection_limit(),
            #[cfg(feature = "http")]
            Self::Hyper(transport) => transport.connection_limit(),
        }
    }
}
