//! TLS by rustls with the ring provider, for both HTTP transports.
//!
//! The settings belong to the client. The process shares only the certificates that the platform trusts.

use std::sync::{Arc, OnceLock};

use azure_table_core::model::error::{Error, ErrorInternals, ErrorKind, Result};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::pipeline::connection_settings::not_pem;

/// Returns a configuration that trusts the certificates of the platform, and additional ones in PEM.
///
/// Without HTTPS nothing is loaded, so that a machine without certificates can still use an emulator.
pub(super) fn client_config(https: bool, more: &[u8]) -> Result<ClientConfig> {
    let unusable = |e: rustls::Error| Error::new(ErrorKind::Connection, "TLS cannot be set up").with_source(e);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    if !https {
        let config = config.with_root_certificates(RootCertStore::empty());
        return Ok(config.with_no_client_auth());
    }
    let more: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(more)
        .collect::<std::result::Result<_, _>>()
        .map_err(not_pem)?;
    let verifier = if more.is_empty() {
        platform_verifier(provider)
    } else {
        Verifier::new_with_extra_roots(more, provider).map(Arc::new)
    };
    Ok(config
        .dangerous()
        .with_custom_certificate_verifier(verifier.map_err(unusable)?)
        .with_no_client_auth())
}

/// Reads the platform's certificates once per process: it takes up to some milliseconds, and a program may create a
/// client per tenant.
fn platform_verifier(provider: Arc<CryptoProvider>) -> std::result::Result<Arc<Verifier>, rustls::Error> {
    static SHARED: OnceLock<Arc<Verifier>> = OnceLock::new();

    if let Some(verifier) = SHARED.get() {
        return Ok(Arc::clone(verifier));
    }
    let verifier = Arc::new(Verifier::new(provider)?);
    Ok(Arc::clone(SHARED.get_or_init(|| verifier)))
}
