//! TLS for the connections to `https` addresses, in builds with rustls.

use std::pin::Pin;
use std::task::{Context, Poll};

use azure_table_wire::error::{Error, ErrorKind, Result};
use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::Connection;
pub(super) use imp::{SecureStream, Tls, TlsSettings, plain, tls};
use tower_service::Service;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(super) type Connecting<S> = Pin<Box<dyn Future<Output = Result<S, BoxError>> + Send>>;

/// A connector that adds TLS to the connections for `https` addresses.
#[derive(Clone)]
pub(super) struct Secure<C> {
    connector: C,
    tls: Tls,
}

impl<C> Secure<C> {
    pub(super) fn new(connector: C, tls: &Tls) -> Self {
        Self {
            connector,
            tls: tls.clone(),
        }
    }
}

impl<C> Service<Uri> for Secure<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
{
    type Response = SecureStream<C::Response>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        if address.scheme() == Some(&Scheme::HTTPS) {
            return imp::connect(self.connector.clone(), &self.tls, address);
        }
        let connecting = self.connector.call(address);
        Box::pin(async move { connecting.await.map(plain).map_err(Into::into) })
    }
}

#[cfg(feature = "rustls-no-provider")]
mod imp {
    use std::future::ready;
    use std::sync::Arc;

    use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
    use rustls::ClientConfig;

    use super::*;
    pub(in super::super) use crate::pipeline::transport::tls::TlsSettings;

    /// `None` if no address needs TLS: then nothing is loaded.
    pub(in super::super) type Tls = Option<Result<Arc<ClientConfig>, Arc<Error>>>;
    pub(in super::super) type SecureStream<S> = MaybeHttpsStream<S>;

    pub(in super::super) fn tls(https: bool, settings: TlsSettings) -> Result<Tls> {
        if !https {
            return Ok(None);
        }
        match settings.into_config() {
            Ok(config) => Ok(Some(Ok(Arc::new(config)))),
            // A machine without certificates can still reach an emulator.
            Err(error) if error.kind() == ErrorKind::Connection => Ok(Some(Err(Arc::new(error)))),
            Err(error) => Err(error),
        }
    }

    /// Returns a connection without TLS.
    pub(in super::super) fn plain<S>(stream: S) -> SecureStream<S> {
        MaybeHttpsStream::Http(stream)
    }

    pub(super) fn connect<C>(connector: C, tls: &Tls, address: Uri) -> Connecting<SecureStream<C::Response>>
    where
        C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static>,
        C::Response: Connection + Read + Write + Send + Unpin + 'static,
    {
        match tls {
            Some(Ok(config)) => HttpsConnector::from((connector, Arc::clone(config))).call(address),
            Some(Err(error)) => Box::pin(ready(Err(Arc::clone(error).into()))),
            None => Box::pin(ready(Err("the transport was created for `http` endpoints".into()))),
        }
    }
}

#[cfg(not(feature = "rustls-no-provider"))]
mod imp {

    use super::*;

    const NO_TLS: &str = "an https endpoint needs the feature `rustls` of azure-table";

    #[derive(Clone)]
    pub(in super::super) struct Tls;

    #[derive(Default)]
    pub(in super::super) struct TlsSettings {}

    pub(in super::super) type SecureStream<S> = S;

    pub(in super::super) fn tls(https: bool, _: TlsSettings) -> Result<Tls> {
        if https {
            Err(Error::new(ErrorKind::Unsupported, NO_TLS))
        } else {
            Ok(Tls)
        }
    }

    pub(in super::super) fn plain<S>(stream: S) -> SecureStream<S> {
        stream
    }

    pub(super) fn connect<C: Service<Uri>>(_: C, _: &Tls, _: Uri) -> Connecting<SecureStream<C::Response>> {
        Box::pin(async { Err(NO_TLS.into()) })
    }
}
