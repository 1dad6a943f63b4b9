//! Assertions about errors, and rejections that every backend returns.

#[cfg(feature = "suite")]
use std::fmt::Debug;
use std::fmt::Display;

#[cfg(feature = "suite")]
use azure_core::error::ErrorResponse;
#[cfg(feature = "suite")]
use azure_table::{DynamicEntity, Profile};
use azure_table::{Error, ErrorKind};

#[cfg(feature = "suite")]
use crate::Backend;

/// A wrong key in valid base64.
#[cfg(feature = "suite")]
const WRONG_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

/// The error of a call of the suite.
#[cfg(feature = "suite")]
pub trait Rejected {
    /// Returns the error, after a check that a program with azure_core can read its response.
    fn rejected(self) -> Error;
}

#[cfg(feature = "suite")]
impl<T: Debug> Rejected for Result<T, Error> {
    #[track_caller]
    fn rejected(self) -> Error {
        let error = self.unwrap_err();
        let converted = azure_core::Error::from(error.copy());
        assert_eq!(converted.http_status().map(u16::from), error.status(), "{error}");
        if error.status().is_some() {
            let response = ErrorResponse::try_from(converted).unwrap();
            let detail = response.error.unwrap();
            let read = (detail.code.as_deref(), detail.message.as_deref());
            assert_eq!(read, (error.code(), error.service_message()), "{error}");
        }
        error
    }
}

/// Asserts the kind of an error, whether its write is in doubt, and a part of its message.
///
/// # Panics
/// The error is another one.
#[track_caller]
pub fn assert_error(error: &Error, kind: ErrorKind, part: &str) {
    let is_in_doubt = kind == ErrorKind::InDoubt;
    assert_eq!((error.kind(), error.may_have_applied()), (kind, is_in_doubt), "{error}");
    assert_contains(error, part);
}

/// Asserts that a message contains this part.
///
/// # Panics
/// It does not.
#[track_caller]
pub fn assert_contains(message: impl Display, part: &str) {
    let message = message.to_string();
    assert!(message.contains(part), "{part:?} is not in:\n{message}");
}

/// Returns the kind of the last failure of a write in doubt, after checking that the error shows nothing of it.
pub fn kind_in_doubt(error: &Error) -> Option<ErrorKind> {
    let last = error.last_failure()?;
    assert!(error.may_have_applied() && !last.may_have_applied(), "{error}");
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(
        (error.status(), error.code(), error.service_message()),
        (None, None, None),
        "{error}"
    );
    Some(last.kind())
}

/// The error of a wrong account key is one clear line without any part of the key.
#[cfg(feature = "suite")]
pub async fn a_wrong_key_is_unauthenticated(backend: &Backend) {
    let service = backend.service();
    let connection_string = format!(
        "AccountName={};AccountKey={WRONG_KEY};TableEndpoint={}",
        service.account().unwrap(),
        service.endpoint()
    );
    let table = backend.connect(&connection_string).dynamic_table("abc").unwrap();
    for error in [
        table.get(("p", "r")).await.rejected(),
        table.insert(&DynamicEntity::new("p", "r")).await.rejected(),
        table.query().all().await.rejected(),
    ] {
        // Azurite has its own code for it.
        let expected = match backend.name() {
            "Azurite" => (ErrorKind::Forbidden, Some("AuthorizationFailure")),
            _ if service.profile() == Profile::Cosmos => (ErrorKind::Unauthenticated, Some("Forbidden")),
            _ => (ErrorKind::Unauthenticated, Some("AuthenticationFailed")),
        };
        assert_eq!((error.kind(), error.code()), expected, "{error}");
        assert_eq!(error.status(), Some(403));
        assert!(!error.may_have_applied());
        let text = format!("{error} {error:?}");
        assert!(!text.contains("AAECAwQ") && !text.contains("SharedKey "), "{text}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}
