//! TLS around a connector, in builds with `rustls`; otherwise the plain connector.

pub(super) use imp::{Config, Secure, SecureStream, plain, secure, tls};

#[cfg(feature = "rustls")]
mod imp {
    use std::sync::Arc;

    use azure_table_core::model::error::Result;
    use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
    use rustls::ClientConfig;

    use crate::pipeline::tls::client_config;

    pub(in super::super) type Config = Arc<ClientConfig>;
    pub(in super::super) type Secure<C> = HttpsConnector<C>;
    pub(in super::super) type SecureStream<S> = MaybeHttpsStream<S>;

    pub(in super::super) fn tls(https: bool, root_certificates: &[u8]) -> Result<Config> {
        client_config(https, root_certificates).map(Arc::new)
    }

    /// Adds TLS to the connections for `https` addresses.
    pub(in super::super) fn secure<C>(connector: C, config: &Config) -> Secure<C> {
        HttpsConnector::from((connector, Arc::clone(config)))
    }

    /// Returns a connection without TLS.
    pub(in super::super) fn plain<S>(stream: S) -> SecureStream<S> {
        MaybeHttpsStream::Http(stream)
    }
}

#[cfg(not(feature = "rustls"))]
mod imp {
    use azure_table_core::model::error::{Error, ErrorInternals, ErrorKind, Result};

    pub(in super::super) struct Config;

    pub(in super::super) type Secure<C> = C;
    pub(in super::super) type SecureStream<S> = S;

    pub(in super::super) fn tls(https: bool, _: &[u8]) -> Result<Config> {
        match https {
            true => Err(Error::new(
                ErrorKind::Unsupported,
                "an https endpoint needs the feature `rustls` of azure-table; `native-tls` is for `reqwest` alone",
            )),
            false => Ok(Config),
        }
    }

    pub(in super::super) fn secure<C>(connector: C, _: &Config) -> Secure<C> {
        connector
    }

    pub(in super::super) fn plain<S>(stream: S) -> SecureStream<S> {
        stream
    }
}
