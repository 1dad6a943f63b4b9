//! TLS in front of a plain server.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

/// A host that no DNS knows.
pub const HOST: &str = "tables.test";

/// A self-signed certificate of [`HOST`] and 127.0.0.1, and its key.
#[derive(Debug)]
pub struct Identity {
    /// In PEM.
    pub certificate: String,
    /// In PEM.
    pub key: String,
}

impl Identity {
    /// Creates one that is valid for centuries.
    ///
    /// # Panics
    /// No key can be generated.
    pub fn of(usage: ExtendedKeyUsagePurpose) -> Self {
        Self::until(usage, 4096)
    }

    /// Creates one that is valid until the end of this year.
    ///
    /// # Panics
    /// No key can be generated.
    pub fn until(usage: ExtendedKeyUsagePurpose, year: i32) -> Self {
        let mut params = CertificateParams::new(vec![HOST.to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        params.not_after = rcgen::date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().unwrap();
        Self {
            certificate: params.self_signed(&key).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }

    /// Returns the store that trusts it alone.
    ///
    /// # Panics
    /// The certificate is damaged.
    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).unwrap();
        roots
    }

    fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }
}

/// A server that removes TLS and passes the bytes on. With `clients` it requires their certificate.
#[derive(Debug)]
pub struct TlsFront {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its own certificate.
    pub identity: Identity,
    /// The protocol that each connection negotiated.
    pub protocols: mpsc::UnboundedReceiver<Option<Vec<u8>>>,
}

impl TlsFront {
    /// Starts a server with a new identity.
    ///
    /// # Panics
    /// No port is free.
    pub async fn to(service: SocketAddr, clients: Option<&Identity>) -> Self {
        Self::with(Identity::of(ExtendedKeyUsagePurpose::ServerAuth), service, clients).await
    }

    /// Starts a server with this identity.
    ///
    /// # Panics
    /// No port is free.
    pub async fn with(identity: Identity, service: SocketAddr, clients: Option<&Identity>) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = match clients {
            Some(clients) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(clients.roots()), provider);
                config.with_client_cert_verifier(verifier.build().unwrap())
            }
            None => config.with_no_client_auth(),
        };
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let mut config = config.with_single_cert(vec![identity.der()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, protocols) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                tokio::spawn(async move {
                    match acceptor.accept(stream).into_fallible().await {
                        Ok(mut client) => {
                            let _ = sender.send(client.get_ref().1.alpn_protocol().map(<[u8]>::to_vec));
                            let mut service = TcpStream::connect(service).await.unwrap();
                            let _ = copy_bidirectional(&mut client, &mut service).await;
                        }
                        // A reset would discard the alert, since unread bytes are left.
                        Err((_, mut stream)) => drop(tokio::io::copy(&mut stream, &mut tokio::io::sink()).await),
                    }
                });
            }
        });
        Self {
            address,
            identity,
            protocols,
        }
    }
}
