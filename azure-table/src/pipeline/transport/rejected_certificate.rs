//! TLS errors that a retry does not change: one side rejects the certificate of the other.

use std::error::Error as StdError;

/// Returns `true` if one side of a connection rejected the certificate of the other.
///
/// The server has then processed nothing. With TLS 1.3, the client may have sent its request before it receives the
/// alert about its certificate, but the alert belongs to the handshake: rustls takes part in no later authentication.
///
/// Source: RFC 8446, sections 4.6.2 and 6.2.
#[cfg(feature = "rustls-no-provider")]
pub(crate) fn is_certificate_rejected(error: &(dyn StdError + 'static)) -> bool {
    use std::io;

    use rustls::AlertDescription as Alert;

    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref() {
            Some(rustls::Error::InvalidCertificate(_)) => return true,
            Some(rustls::Error::AlertReceived(alert)) => {
                return matches!(
                    alert,
                    Alert::BadCertificate
                        | Alert::UnsupportedCertificate
                        | Alert::CertificateRevoked
                        | Alert::CertificateExpired
                        | Alert::CertificateUnknown
                        | Alert::UnknownCA
                        | Alert::AccessDenied
                        | Alert::CertificateRequired
                );
            }
            _ => {}
        }
        cause = match error.downcast_ref::<io::Error>() {
            // Its `source` is the source of the error inside.
            Some(error) => error.get_ref().map(|inner| inner as _),
            None => error.source(),
        };
    }
    false
}

/// Without TLS there are no certificates.
#[cfg(not(feature = "rustls-no-provider"))]
pub(crate) fn is_certificate_rejected(_: &(dyn StdError + 'static)) -> bool {
    false
}
