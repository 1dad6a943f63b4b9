//! The certificate of an HTTPS server.
//!
//! Defines [`ServerCertificate`] and the TLS settings: rustls with the ring provider, set here and not for the process,
//! and HTTP/1.1 only.

use std::fmt;
use std::io;
use std::sync::Arc;

use azure_table_wire::error::{Error, Result};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate with its key, for [`EmulatorServer::https`](crate::EmulatorServer::https). Feature `emulator-http`.
///
/// `Debug` does not show the key. [`EmulatorServer::https`](crate::EmulatorServer::https) has an example.
#[derive(Clone)]
pub struct ServerCertificate {
    acceptor: TlsAcceptor,
    fingerprint: String,
}

impl ServerCertificate {
    /// Creates a certificate from PEM: the certificate chain and the private key.
    ///
    /// The server's own certificate comes first, then the certificates of its authorities, if any. The key is
    /// unencrypted PKCS #8, PKCS #1 or SEC1. One text may hold both: pass it twice.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table_wire::error::ErrorKind::InvalidInput): a text is not PEM or lacks the
    ///   certificate or the key, a certificate is X.509 version 1, or the key does not belong to the certificate.
    pub fn from_pem(certificates: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Result<Self> {
        let wrong = |what: &str| {
            let what = what.to_owned();
            move |e: pem::Error| Error::invalid_input(format!("{what}: {}", fault(&e)))
        };
        let (text, key) = (certificates.as_ref(), key.as_ref());
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(text)
            .collect::<std::result::Result<_, _>>()
            .map_err(wrong("the certificate"))?;
        if certificates.is_empty() {
            return Err(Error::invalid_input(if has(text, "PRIVATE KEY") {
                "the certificate: the text has a private key and no certificate"
            } else {
                "the certificate: the text has none in PEM"
            }));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| match e {
            _ if is_encrypted(key) => {
                Error::invalid_input("the certificate's key: it is encrypted, which is not supported")
            }
            pem::Error::NoItemsFound if has(key, "CERTIFICATE") => {
                Error::invalid_input("the certificate's key: the text has a certificate and no private key")
            }
            e => wrong("the certificate's key")(e),
        })?;
        if let Some(at) = certificates.iter().position(|certificate| !has_version(certificate)) {
            return Err(Error::invalid_input(format!(
                "the certificate: number {} of the text is X.509 version 1, TLS here needs version 3: create one with \
                 `openssl req -x509 -addext subjectAltName=IP:127.0.0.1`",
                at + 1
            )));
        }
        let fingerprint = certificates.first().map(|own| hex(&Sha256::digest(own)));
        let fingerprint = fingerprint.unwrap_or_default();
        let unusable =
            |e: rustls::Error| Error::invalid_input("the certificate and its key cannot be used").with_source(e);
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            fingerprint,
        })
    }

    /// Returns the fingerprint of the server's own certificate: its SHA-256 in 64 hexadecimal digits.
    ///
    /// A client can trust the certificate by its fingerprint. `openssl x509 -fingerprint -sha256` prints the same with
    /// colons.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `true` if a certificate contains its version, which version 1 omits. rustls rejects text that is not a
/// certificate, but its error for version 1 does not help a user.
///
/// Source: RFC 5280 §4.1: `version [0] EXPLICIT Version DEFAULT v1` is the first field of the signed part.
fn has_version(certificate: &[u8]) -> bool {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    let signed = contents(certificate, SEQUENCE).and_then(|certificate| contents(certificate, SEQUENCE));
    signed.is_none_or(|signed| signed.first() == Some(&VERSION))
}

/// Returns the contents after the tag and the length of a DER value, or `None` if it has another tag.
fn contents(der: &[u8], tag: u8) -> Option<&[u8]> {
    /// The bit that marks a length of more than one byte.
    const LONG: u8 = 0x80;
    let (&[found, length], rest) = der.split_first_chunk()?;
    let more = if length & LONG == 0 {
        0
    } else {
        usize::from(length & !LONG)
    };
    (found == tag).then(|| rest.get(more..))?
}

/// Returns `true` if the text has a PEM section whose label ends with `name`.
fn has(text: &[u8], name: &str) -> bool {
    let end = format!("{name}-----");
    let lines = text.split(|b| matches!(b, b'\n' | b'\r'));
    lines
        .map(<[u8]>::trim_ascii)
        .any(|line| line.starts_with(b"-----BEGIN ") && line.ends_with(end.as_bytes()))
}

/// Returns `true` if a key is encrypted. PKCS #8 marks that in the label, the older forms in a header.
fn is_encrypted(key: &[u8]) -> bool {
    has(key, "ENCRYPTED PRIVATE KEY") || key.windows(11).any(|part| part == b"4,ENCRYPTED")
}

/// Describes an error without quoting the text, which may be a key.
fn fault(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::NoItemsFound => "the text has none in PEM",
        pem::Error::MissingSectionEnd { .. } => "a section of the PEM has no end",
        pem::Error::Base64Decode(_) => "a section of the PEM is not base64",
        _ => "the text is not PEM",
    }
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate").finish_non_exhaustive()
    }
}
