//! TLS by rustls, for both HTTP transports: certificates, keys and the crypto provider.
//!
//! The settings belong to a transport. The process shares only the certificates that the platform trusts.

use std::sync::{Arc, OnceLock};

use azure_table_wire::error::{Error, ErrorKind, Result};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};
use rustls_platform_verifier::Verifier;

/// The TLS settings of a transport. Texts are in PEM.
#[derive(Default)]
pub(super) struct TlsSettings {
    pub(super) root_certificates: Vec<Vec<u8>>,
    /// A chain of certificates and its private key.
    pub(super) client_certificate: Option<Vec<u8>>,
    /// Replaces the other settings.
    pub(super) config: Option<ClientConfig>,
}

impl TlsSettings {
    /// Returns the configuration, for HTTP/1.1 only.
    ///
    /// # Errors
    /// - `InvalidInput`: a certificate is not X.509 in PEM, or `config` was combined with another setting.
    /// - `Unsupported`: no crypto provider is installed.
    /// - `Connection`: the certificates of the platform cannot be read.
    pub(super) fn into_config(self) -> Result<ClientConfig> {
        let roots = certificates(&self.root_certificates)?;
        if let Some(mut config) = self.config {
            if !roots.is_empty() || self.client_certificate.is_some() {
                return Err(Error::invalid_input(
                    "`tls_config` replaces `root_certificates` and `client_certificate`: set both in the configuration",
                ));
            }
            config.alpn_protocols.clear();
            return Ok(config);
        }
        let provider = provider()?;
        let verifier = if roots.is_empty() {
            platform_verifier(&provider)?
        } else {
            verifier_with(roots, &provider)?
        };
        let config = builder(provider)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let Some(pem) = self.client_certificate else {
            return Ok(config.with_no_client_auth());
        };
        // Attaches no source: its errors quote lines of the text, and so the key.
        let key = PrivateKeyDer::from_pem_slice(&pem)
            .map_err(|_| Error::invalid_input("the client certificate has no private key in PEM beside it"))?;
        config.with_client_auth_cert(certificates(&[pem])?, key).map_err(|e| {
            Error::invalid_input("the client certificate and its private key cannot be used").with_source(e)
        })
    }
}

fn builder(provider: Arc<CryptoProvider>) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)
}

fn unusable(error: rustls::Error) -> Error {
    Error::new(ErrorKind::Connection, "TLS cannot be set up").with_source(error)
}

/// Returns the certificates of these texts, each of which must have one.
///
/// A PEM parser skips everything that is not PEM: a certificate in DER would be ignored without an error.
fn certificates(texts: &[Vec<u8>]) -> Result<Vec<CertificateDer<'static>>> {
    let mut certificates = Vec::new();
    for pem in texts {
        let before = certificates.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            // Attaches no source: its errors quote lines of the text, which may have a private key.
            let broken = "a certificate is not in PEM: it has a section without an end, or base64 with an error";
            certificates.push(certificate.map_err(|_| Error::invalid_input(broken))?);
        }
        if certificates.len() == before {
            return Err(Error::invalid_input(
                "a certificate is not in PEM: it has no `-----BEGIN CERTIFICATE-----`",
            ));
        }
    }
    Ok(certificates)
}

/// Returns the provider that the process has installed, otherwise ring.
#[cfg(feature = "rustls")]
fn provider() -> Result<Arc<CryptoProvider>> {
    static RING: OnceLock<Arc<CryptoProvider>> = OnceLock::new();

    let ring = || RING.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider()));
    Ok(Arc::clone(CryptoProvider::get_default().unwrap_or_else(ring)))
}

/// Returns the provider that the process has installed.
#[cfg(not(feature = "rustls"))]
fn provider() -> Result<Arc<CryptoProvider>> {
    CryptoProvider::get_default().cloned().ok_or_else(|| {
        let why = "TLS has no crypto provider: call `CryptoProvider::install_default` of rustls before the client is created, \
                   or enable the feature `rustls` of azure-table";
        Error::new(ErrorKind::Unsupported, why)
    })
}

#[cfg(not(target_os = "android"))]
fn verifier_with(roots: Vec<CertificateDer<'static>>, provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>> {
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(provider));
    verifier.map(Arc::new).map_err(|e| match e {
        rustls::Error::InvalidCertificate(_) => {
            Error::invalid_input("a root certificate is PEM, but no certificate of X.509").with_source(e)
        }
        e => unusable(e),
    })
}

#[cfg(target_os = "android")]
fn verifier_with(_: Vec<CertificateDer<'static>>, _: &Arc<CryptoProvider>) -> Result<Arc<Verifier>> {
    let why = "the platform verifier of Android takes no further root certificates: use `tls_config`";
    Err(Error::new(ErrorKind::Unsupported, why))
}

/// Reads the platform's certificates once per process: it takes up to some milliseconds, and a program may create a
/// client per tenant.
fn platform_verifier(provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>> {
    static SHARED: OnceLock<(Arc<CryptoProvider>, Arc<Verifier>)> = OnceLock::new();

    // A provider that was installed in the meantime needs a verifier of its own.
    if let Some((_, verifier)) = SHARED.get().filter(|(shared, _)| Arc::ptr_eq(shared, provider)) {
        return Ok(Arc::clone(verifier));
    }
    let verifier = Arc::new(Verifier::new(Arc::clone(provider)).map_err(unusable)?);
    let _ = SHARED.set((Arc::clone(provider), Arc::clone(&verifier)));
    Ok(verifier)
}

#[cfg(all(test, not(feature = "rustls")))]
mod tests {
    use super::*;

    /// No other test of the process may install a provider, so `.ci/run` runs it alone.
    #[test]
    fn provider_is_that_of_the_process() {
        let error = TlsSettings::default().into_config().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(
            error.to_string().contains("`CryptoProvider::install_default`"),
            "{error}"
        );

        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().unwrap();
        let config = TlsSettings::default().into_config().unwrap();
        assert!(Arc::ptr_eq(
            config.crypto_provider(),
            CryptoProvider::get_default().unwrap()
        ));
    }
}
