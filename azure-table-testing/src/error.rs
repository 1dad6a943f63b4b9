//! Errors for mocks: return values for a test double of a repository.
//!
//! Defines [`error`] and [`error_in_doubt`]. For errors as the service causes them, use the client over a
//! [`Script`](crate::Script) or [`Faults`](crate::Faults).

use azure_table_wire::error::{Error, ErrorKind};

/// Creates an error of any kind, for a mock to return.
///
/// It has the status and the code that the service usually sends for this kind.
///
/// ```
/// use azure_table::testing::error;
/// use azure_table::{ErrorKind, Result};
///
/// trait Blogs {
///     fn rename(&self, id: &str) -> Result<()>;
/// }
///
/// struct Changed;
///
/// impl Blogs for Changed {
///     fn rename(&self, _: &str) -> Result<()> {
///         Err(error(ErrorKind::ConditionNotMet))
///     }
/// }
///
/// assert_eq!(Changed.rename("1").unwrap_err().status(), Some(412));
/// ```
pub fn error(kind: ErrorKind) -> Error {
    let rejected = |status, code: &str| Error::of_response(status, Some(code.to_owned()), None, None).with_kind(kind);
    match kind {
        ErrorKind::NotFound => rejected(404, "ResourceNotFound"),
        ErrorKind::TableNotFound => rejected(404, "TableNotFound"),
        ErrorKind::AlreadyExists => rejected(409, "EntityAlreadyExists"),
        ErrorKind::Conflict => rejected(409, "TableBeingDeleted"),
        ErrorKind::ConditionNotMet => rejected(412, "UpdateConditionNotSatisfied"),
        ErrorKind::Contention => Error::contention("51 conflicting writes, more than the limit of 50"),
        ErrorKind::Unauthenticated => rejected(403, "AuthenticationFailed"),
        ErrorKind::Forbidden => rejected(403, "AuthorizationFailure"),
        ErrorKind::Throttled => rejected(503, "ServerBusy"),
        ErrorKind::Rejected => rejected(400, "InvalidInput"),
        ErrorKind::ServerFault => rejected(500, "InternalError"),
        ErrorKind::Timeout => Error::new(kind, "the `timeout` of the call has elapsed"),
        ErrorKind::Connection => Error::new(kind, "connection refused"),
        ErrorKind::InvalidResponse => Error::new(kind, "the response is not an entity in JSON"),
        ErrorKind::InDoubt => error_in_doubt(ErrorKind::Timeout),
        _ => Error::new(kind, "created by a test"),
    }
}

/// Creates the error of a write that may have been applied: its kind is [`InDoubt`](ErrorKind::InDoubt).
///
/// Its [`last_failure`](Error::last_failure) is the [`error`] of the kind `last`.
pub fn error_in_doubt(last: ErrorKind) -> Error {
    error(last).maybe_applied(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_a_kind_has_a_status_that_maps_to_it() {
        for kind in [
            ErrorKind::InvalidInput,
            ErrorKind::Unsupported,
            ErrorKind::NotFound,
            ErrorKind::TableNotFound,
            ErrorKind::AlreadyExists,
            ErrorKind::Conflict,
            ErrorKind::ConditionNotMet,
            ErrorKind::Contention,
            ErrorKind::Unauthenticated,
            ErrorKind::Forbidden,
            ErrorKind::Throttled,
            ErrorKind::Rejected,
            ErrorKind::ServerFault,
            ErrorKind::Timeout,
            ErrorKind::Connection,
            ErrorKind::InvalidResponse,
            ErrorKind::Other,
        ] {
            let lost = error_in_doubt(kind);
            assert_eq!(
                (lost.kind(), lost.status(), lost.code()),
                (ErrorKind::InDoubt, None, None)
            );
            assert!(lost.may_have_applied());
            let error = lost.last_failure().unwrap();
            assert_eq!(error.kind(), kind);
            if let Some(status) = error.status() {
                assert_eq!(
                    Error::of_response(status, error.code().map(str::to_owned), None, None).kind(),
                    kind
                );
            }
        }
        let lost = error(ErrorKind::InDoubt);
        assert_eq!((lost.kind(), lost.may_have_applied()), (ErrorKind::InDoubt, true));
    }
}
