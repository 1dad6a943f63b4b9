//! Conversions between the client's errors and errors of `azure_core`, for programs that use both.
//!
//! They map the kinds, and keep the other error inside. An error of ours returns unchanged, even below a context.

use std::error::Error as StdError;
use std::iter::successors;

use azure_core::error::{ErrorDetail, ErrorKind as CoreKind, ErrorResponse};
use azure_core::http::headers::Headers;
use azure_core::http::{RawResponse, StatusCode};

use crate::error::{Error, ErrorKind};
use crate::response;

/// Converts the error. `error.downcast_ref::<azure_table::Error>()` returns the original. Feature `azure-core-1`.
///
/// An error with a status becomes `HttpResponse` with the service's code, and a response that
/// `azure_core::error::ErrorResponse::try_from` reads. Other errors become `Connection`, `Io`, `Credential`,
/// `DataConversion` or `Other`. Every write in doubt becomes `Io`: `Connection` would say that
/// nothing was sent, and a status would look like a conflict.
impl From<Error> for azure_core::Error {
    fn from(error: Error) -> Self {
        let kind = match (error.status(), error.kind()) {
            (Some(status), _) => CoreKind::HttpResponse {
                status: StatusCode::from(status),
                error_code: error.code().map(str::to_owned),
                raw_response: raw_response(&error, StatusCode::from(status)).map(Box::new),
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

/// Returns the response of an error as far as the error keeps it: status, headers that hold no secret, code, message.
///
/// The service names the document `odata.error`, `azure_core` reads `error`.
fn raw_response(error: &Error, status: StatusCode) -> Option<RawResponse> {
    let detail = ErrorDetail {
        code: error.code().map(str::to_owned),
        message: error.service_message().map(str::to_owned),
        target: None,
        details: Vec::new(),
        inner_error: None,
        additional_properties: Default::default(),
    };
    let body = serde_json::to_vec(&ErrorResponse { error: Some(detail) }).ok()?;
    let mut headers = Headers::new();
    for (name, value) in error.parts().headers.iter() {
        headers.insert(name.to_owned(), value.to_owned());
    }
    Some(RawResponse::from_bytes(status, headers, body))
}

/// Converts an error of another Azure client. Feature `azure-core-1`.
///
/// An [`Error`] inside, even below contexts of `azure_core`, returns unchanged. Otherwise the error becomes the source of
/// the new one:
///
/// | `azure_core` | kind |
/// |---|---|
/// | `HttpResponse` | as for a response of the Table service, with status, code and message |
/// | `Connection` | [`Connection`](ErrorKind::Connection): nothing was sent |
/// | `Io` | [`InDoubt`](ErrorKind::InDoubt): `azure_core` doesn't say whether the request was a write, and a write may have been applied |
/// | `Credential` | [`Unauthenticated`](ErrorKind::Unauthenticated) |
/// | `DataConversion` | [`InvalidResponse`](ErrorKind::InvalidResponse) |
/// | `Other` | [`Other`](ErrorKind::Other) |
impl From<azure_core::Error> for Error {
    fn from(error: azure_core::Error) -> Self {
        let mut causes = successors(Some(&error as &(dyn StdError + 'static)), |error| (*error).source());
        if let Some(own) = causes.find_map(|error| error.downcast_ref::<Self>()) {
            return own.copy();
        }
        let converted = match error.kind() {
            CoreKind::HttpResponse {
                status,
                error_code,
                raw_response,
            } => {
                let (status, body) = ((*status).into(), raw_response.as_ref().map(|raw| raw.body().as_ref()));
                // A Table service names its document `odata.error`, which `azure_core` does not read.
                let of_tables = response::error_of(status, None, None, body.unwrap_or_default(), None);
                match of_tables.code() {
                    Some(_) => of_tables,
                    None => {
                        let document = body.and_then(|body| serde_json::from_slice::<ErrorResponse>(body).ok());
                        let message = document.and_then(|document| document.error?.message);
                        Self::of_response(status, error_code.clone(), message, None)
                    }
                }
            }
            CoreKind::Connection => Self::new(ErrorKind::Connection, "no connection to the service"),
            CoreKind::Io => {
                Self::new(ErrorKind::Connection, "the request of another client failed").maybe_applied(true)
            }
            CoreKind::Credential => Self::new(ErrorKind::Unauthenticated, "no token"),
            CoreKind::DataConversion => Self::invalid_response("a value of another client could not be converted"),
            CoreKind::Other => return Self::other(error),
        };
        converted.with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_another_client_keeps_kind_and_response() {
        let raw = |body: &'static str| Box::new(RawResponse::from_bytes(StatusCode::NotFound, Headers::new(), body));
        let http = |body| CoreKind::HttpResponse {
            status: StatusCode::NotFound,
            error_code: Some("BlobNotFound".to_owned()),
            raw_response: Some(raw(body)),
        };
        let error = Error::from(azure_core::Error::from(http(
            r#"{"error":{"code":"c","message":"no blob"}}"#,
        )));
        assert_eq!((error.kind(), error.status()), (ErrorKind::NotFound, Some(404)));
        assert_eq!(
            (error.code(), error.service_message()),
            (Some("BlobNotFound"), Some("no blob"))
        );
        assert_eq!(
            Error::from(azure_core::Error::from(http("<Error/>"))).service_message(),
            None
        );
        let of_tables = r#"{"odata.error":{"code":"TableNotFound","message":{"lang":"en-US","value":"no table"}}}"#;
        let error = Error::from(azure_core::Error::from(http(of_tables)));
        assert_eq!(
            (error.kind(), error.service_message()),
            (ErrorKind::TableNotFound, Some("no table"))
        );
        for (kind, expected) in [
            (CoreKind::Connection, ErrorKind::Connection),
            (CoreKind::Io, ErrorKind::InDoubt),
            (CoreKind::Credential, ErrorKind::Unauthenticated),
            (CoreKind::DataConversion, ErrorKind::InvalidResponse),
            (CoreKind::Other, ErrorKind::Other),
        ] {
            let error = Error::from(azure_core::Error::new(kind.clone(), "why"));
            assert_eq!(error.kind(), expected, "{kind}");
            let source = successors(Some(&error as &dyn StdError), |error| (*error).source());
            assert!(
                source.map(ToString::to_string).any(|text| text.contains("why")),
                "{error:?}"
            );
        }
    }

    #[test]
    fn error_returns_unchanged() {
        for in_doubt in [false, true] {
            let error = Error::of_response(503, Some("ServerBusy".into()), None, None).maybe_applied(in_doubt);
            let text = error.to_string();
            let below = azure_core::Error::from(error).with_context("while saving");
            let again = Error::from(below.with_context("while ordering"));
            assert_eq!((again.to_string(), again.may_have_applied()), (text, in_doubt));
        }
    }

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
