//! Conversion of the client's errors to errors of `azure_core`, for programs that use both.
//!
//! It maps the kinds. The client's error is kept inside and can be downcast.

use azure_core::error::ErrorKind as CoreKind;
use azure_core::http::StatusCode;

use crate::error::{Error, ErrorKind};

/// Converts the error. `error.downcast_ref::<azure_table::Error>()` returns the original. Feature `entra`.
///
/// An error with a status becomes `HttpResponse` with the service's code. Other errors become `Connection`, `Io`,
/// `Credential`, `DataConversion` or `Other`. Every write in doubt becomes `Io`: `azure_core` considers `Connection`
/// safe to repeat, and a status would look like a conflict.
impl From<Error> for azure_core::Error {
    fn from(error: Error) -> Self {
        let kind = match (error.status(), error.kind()) {
            (Some(status), _) => CoreKind::HttpResponse {
                status: StatusCode::from(status),
                error_code: error.code().map(str::to_owned),
                raw_response: None,
            },
            (None, ErrorKind::Connection) => CoreKind::Connection,
            (None, ErrorKind::InDoubt | ErrorKind::Timeout) => CoreKind::Io,
            (None, ErrorKind::Unauthenticated) => CoreKind::Credential,
            (None, ErrorKind::InvalidResponse) => CoreKind::DataConversion,
            (None, _) => CoreKind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_azure_core_keeps_kind_status_code_and_source() {
        let busy = Error::of_response(503, Some("ServerBusy".into()), None, None);
        let core = azure_core::Error::from(busy);
        assert_eq!(core.http_status(), Some(StatusCode::ServiceUnavailable));
        assert!(matches!(core.kind(), CoreKind::HttpResponse { error_code: Some(code), .. } if code == "ServerBusy"));
        let inside = core.downcast_ref::<Error>().unwrap();
        assert_eq!(inside.kind(), ErrorKind::Throttled);
        for (kind, in_doubt, expected) in [
            (ErrorKind::Connection, false, "Connection"),
            (ErrorKind::Connection, true, "Io"),
            (ErrorKind::Timeout, false, "Io"),
            (ErrorKind::Unauthenticated, true, "Io"),
            (ErrorKind::Unauthenticated, false, "Credential"),
            (ErrorKind::InvalidResponse, false, "DataConversion"),
            (ErrorKind::InvalidInput, false, "Other"),
        ] {
            let error = Error::new(kind, "").maybe_applied(in_doubt);
            assert_eq!(format!("{:?}", azure_core::Error::from(error).kind()), expected);
        }
        let changed = || Error::of_response(412, Some("UpdateConditionNotSatisfied".into()), None, None);
        let of_its_own = azure_core::Error::from(changed().maybe_applied(true));
        assert_eq!(
            of_its_own.http_status(),
            None,
            "no arm for a conflict handles a write in doubt"
        );
        assert_eq!(
            azure_core::Error::from(changed()).http_status(),
            Some(StatusCode::PreconditionFailed)
        );
    }
}
