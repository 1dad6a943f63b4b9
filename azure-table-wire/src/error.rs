//! The one error type of all crates.
//!
//! Defines [`Error`], [`ErrorKind`] and their texts. `error/in_doubt.rs` has writes in doubt, `error/value_error.rs`
//! has [`ValueError`], `error/response_headers.rs` the headers of a response. The file of each operation decides when
//! it fails; `response.rs` parses error responses.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::time::Duration;

use crate::error::diagnostics::Diagnostics;
pub use crate::error::internals::ErrorParts;
use crate::error::operation_kind::OperationKind;
pub use crate::error::response_headers::ResponseHeaders;
pub use crate::error::value_error::ValueError;
#[doc(hidden)]
pub use crate::error::value_error::expected;

pub mod diagnostics;
pub mod error_code;
#[doc(hidden)]
pub mod error_text;
mod in_doubt;
pub mod in_doubt_write;
mod internals;
pub mod operation_kind;
#[doc(hidden)]
pub mod response_headers;
mod text;
pub mod value_error;

/// The end of the text of an error in doubt.
#[doc(hidden)]
pub const MAY_HAVE_APPLIED: &str = "; the write may have been applied, so read what is stored before you repeat it";

/// The result of every operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of a failure, to branch on.
///
/// The last attempt decides the kind, unless the write may have been applied: then it is [`InDoubt`](Self::InDoubt). A
/// write that fails with any other kind was not applied. [`Error::code`] returns the service's own error code.
///
/// A kind that names what the service found, such as [`NotFound`](Self::NotFound) or
/// [`ConditionNotMet`](Self::ConditionNotMet), needs that code: a proxy's 404, 409 or 412 is an
/// [`InvalidResponse`](Self::InvalidResponse).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The client rejected a key, name, value, size or option. Nothing was sent.
    InvalidInput,
    /// The endpoint does not offer this operation, or the service returned 501, for example for a function in a filter.
    Unsupported,
    /// 404: the entity, policy or other resource does not exist.
    NotFound,
    /// 404: the table does not exist.
    ///
    /// Cosmos DB does not say whether the table or only the row is missing. There, an update or delete of one entity
    /// fails with [`NotFound`](Self::NotFound), and a `get` returns `None`.
    TableNotFound,
    /// 409: the table or the entity already exists.
    AlreadyExists,
    /// Any other 409, such as `TableBeingDeleted`.
    Conflict,
    /// 412: the ETag of the stored entity differs.
    ConditionNotMet,
    /// Other writers came first more often than `max_conflicts` allows. The change was not applied. Reduce concurrent
    /// writers, spread them over several rows, or raise the limit.
    Contention,
    /// The service does not accept the credential: 401 (except an exceeded token limit), 403 `AuthenticationFailed`, or
    /// Cosmos DB's 403 for a wrong signature.
    Unauthenticated,
    /// Any other 403: the credential does not permit the operation.
    Forbidden,
    /// 429, 503 `ServerBusy`, or Cosmos DB's 401 for too many tokens. Nothing was applied.
    Throttled,
    /// Any other 4xx: the service rejects the request.
    Rejected,
    /// Any other 5xx: the service failed.
    ServerFault,
    /// The timeout of the attempt or of the call has elapsed, or the service timed out (408, `OperationTimedOut`).
    Timeout,
    /// No response arrived: the connection was refused or broke, or the host name is unknown.
    Connection,
    /// The response is not from a Table service, such as a 404, 409 or 412 without an error code. Or it is too long, or
    /// does not fit the type to read.
    InvalidResponse,
    /// The write may have been applied: a response was lost, or the service failed while it processed the write. Or a
    /// call that writes several rows failed after it had written some; then [`Error::in_doubt_write`] returns `None`.
    ///
    /// An earlier attempt may be why a later one was rejected, so an error in doubt has no status and no code.
    /// [`Error::last_failure`] returns the rejection.
    ///
    /// Read the entity before you repeat the write. One that is unchanged or missing shows nothing for 180 s, because the
    /// lost request may still arrive. If it was applied, the stored ETag has changed, and repeating it
    /// under the old one fails with a false `ConditionNotMet`. Store [`Error::in_doubt_write`] to find out later.
    InDoubt,
    /// An error of your own code: see [`Error::other`].
    Other,
}

impl ErrorKind {
    /// Returns the kind for a response with this status and service code.
    pub(crate) fn of_response(status: u16, code: Option<&str>) -> Self {
        match (status, code) {
            // Only the service says what it found, and it names a code: this is a response of a server in between.
            (404 | 409 | 412, None) => Self::InvalidResponse,
            (404, Some("TableNotFound")) => Self::TableNotFound,
            (404, _) => Self::NotFound,
            (409, Some("EntityAlreadyExists" | "TableAlreadyExists" | "ResourceAlreadyExists")) => Self::AlreadyExists,
            (409, _) => Self::Conflict,
            (412, _) => Self::ConditionNotMet,
            (401, _) | (403, Some("AuthenticationFailed")) => Self::Unauthenticated,
            (403, _) => Self::Forbidden,
            (429, _) | (503, Some("ServerBusy")) => Self::Throttled,
            (408, _) | (_, Some("OperationTimedOut")) => Self::Timeout,
            (501, _) => Self::Unsupported,
            (400..=499, _) => Self::Rejected,
            (500..=599, _) => Self::ServerFault,
            _ => Self::InvalidResponse,
        }
    }
}

/// The error of an operation.
///
/// Branch on its [`kind`](Self::kind). Log its `Display` text: one line that begins with the operation and the table
/// and never repeats its [`source`](StdError::source). The text names the entity's keys, but contains no account key,
/// signature or token. The type is one pointer in size.
///
/// ```
/// use azure_table::{ErrorKind, TableName};
/// let error = TableName::new("a/b").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidInput);
/// assert!(error.to_string().contains("a/b"));
/// ```
#[doc(alias("RequestFailedException", "StorageException"))]
pub struct Error {
    inner: Box<ErrorParts>,
}

impl Error {
    /// Creates an [`InvalidInput`](ErrorKind::InvalidInput) error, for checks in code that extends the client: property
    /// types, credentials, closures.
    ///
    /// ```
    /// use azure_table::{Error, ErrorKind};
    /// let error = Error::invalid_input("rating 11 exceeds the limit of 10");
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput);
    /// assert_eq!(error.to_string(), "rating 11 exceeds the limit of 10");
    /// ```
    pub fn invalid_input(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Creates a [`ConditionNotMet`](ErrorKind::ConditionNotMet) error, for code that compares ETags.
    ///
    /// ```
    /// use azure_table::{Error, ErrorKind};
    /// let error = Error::condition_not_met("the order was shipped since it was read");
    /// assert_eq!((error.kind(), error.status()), (ErrorKind::ConditionNotMet, None));
    /// ```
    pub fn condition_not_met(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::ConditionNotMet, message)
    }

    /// Creates a [`Contention`](ErrorKind::Contention) error, for code that reads and writes again after a conflict.
    ///
    /// ```
    /// use azure_table::{Error, ErrorKind};
    /// let error = Error::contention("the header changed during 3 reads, more than the limit of 2");
    /// assert_eq!((error.kind(), error.status()), (ErrorKind::Contention, None));
    /// ```
    pub fn contention(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Contention, message)
    }

    /// Creates an [`Other`](ErrorKind::Other) error from an error of your own.
    ///
    /// As with [`std::io::Error::other`], `Display` and [`source`](StdError::source) come from `error`, and
    /// [`get_ref`](Self::get_ref) returns `error` itself. An [`Error`] from this crate is returned unchanged.
    ///
    /// ```
    /// use azure_table::{Error, ErrorKind};
    /// let error = "1,5".parse::<f64>().map_err(Error::other).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Other);
    /// assert_eq!(error.to_string(), "invalid float literal");
    /// assert!(error.get_ref().unwrap().is::<std::num::ParseFloatError>());
    /// ```
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync + 'static>>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(error) => *error,
            Err(error) => Self::new(ErrorKind::Other, error.to_string()).with_source(error),
        }
    }

    /// Returns the error passed to [`other`](Self::other), or `None` for an error of the client or the service.
    pub fn get_ref(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        match self.inner.kind {
            ErrorKind::Other => self.inner.source.as_deref(),
            _ => None,
        }
    }

    /// Returns the kind of the failure: [`InDoubt`](ErrorKind::InDoubt) if and only if
    /// [`may_have_applied`](Self::may_have_applied) returns `true`.
    pub fn kind(&self) -> ErrorKind {
        self.definite().map_or(ErrorKind::InDoubt, |inner| inner.kind)
    }

    /// Returns the HTTP status, or `None` if no response arrived or the write is [in doubt](Self::last_failure).
    ///
    /// For a failed batch, this is the status of the failed operation.
    pub fn status(&self) -> Option<u16> {
        self.definite()?.status
    }

    /// Returns the service's error code, such as `EntityAlreadyExists`; [`ErrorCode`](error_code::ErrorCode) has
    /// constants. `None` if the write is [in doubt](Self::last_failure).
    #[doc(alias("ErrorCode", "TableErrorCode"))]
    pub fn code(&self) -> Option<&str> {
        self.definite()?.code.as_deref()
    }

    /// Returns the service's message, without its `RequestId` and `Time` lines and without a batch's index.
    ///
    /// `None` if the write is [in doubt](Self::last_failure).
    pub fn service_message(&self) -> Option<&str> {
        self.definite()?.service_message.as_deref()
    }

    /// Returns the service's request ID (`x-ms-request-id`), for a support ticket.
    pub fn request_id(&self) -> Option<&str> {
        self.inner.request_id.as_deref()
    }

    /// Returns the client request ID (`x-ms-client-request-id`), which the service logs.
    ///
    /// It is the same for all attempts of a call.
    pub fn client_request_id(&self) -> Option<&str> {
        self.inner.client_request_id.as_deref()
    }

    /// Returns the operation that failed, such as `insert`.
    pub fn operation(&self) -> Option<&str> {
        self.inner.operation.map(OperationKind::name)
    }

    /// Returns the table of the operation.
    pub fn table(&self) -> Option<&str> {
        self.inner.table.as_deref()
    }

    /// Returns the PartitionKey and RowKey of the entity that caused the error, if known.
    pub fn entity(&self) -> Option<(&str, &str)> {
        let (partition_key, row_key) = self.inner.entity.as_ref()?;
        Some((partition_key, row_key))
    }

    /// Returns the zero-based position of the failed operation in its batch, if the service reports it.
    #[doc(alias = "FailedTransactionActionIndex")]
    pub fn batch_index(&self) -> Option<usize> {
        self.inner.batch_index
    }

    /// Returns the number of attempts, or 0 if the client rejected the call before sending anything.
    pub fn attempts(&self) -> u32 {
        self.inner.attempts
    }

    /// Returns the minimum wait before a retry, if the last response set one (`Retry-After`, `x-ms-retry-after-ms`).
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// Returns a header of the response, or `None` if it is missing or may hold a key or a secret.
    ///
    /// Names are case-insensitive. The error keeps `Date`, `Server`, `Via`, `Content-Type`, `Retry-After`,
    /// `x-ms-version`, `x-ms-error-code`, `x-ms-request-id`, `x-ms-client-request-id`, `x-ms-retry-after-ms`,
    /// `x-ms-substatus`, `x-ms-activity-id` and `x-ms-request-charge`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers.get(name)
    }

    /// Returns how far the service's clock is ahead of this machine's, in seconds, by the response's `Date` header.
    ///
    /// Returns `None` if no response with this header arrived.
    ///
    /// The service rejects requests whose time differs by more than 15 minutes.
    /// Source: REST "Authorize with Shared Key".
    pub fn clock_skew_seconds(&self) -> Option<i64> {
        self.inner.headers.clock_skew_seconds
    }

    /// Returns the attempts of the call, including the reads that check whether a write in doubt was applied.
    ///
    /// Empty if nothing was sent.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.inner.diagnostics
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.inner.source.as_deref()?;
        match self.inner.kind {
            // The error's own text already contains the source's text.
            ErrorKind::Other => source.source(),
            _ => Some(source),
        }
    }
}

impl From<ValueError> for Error {
    fn from(error: ValueError) -> Self {
        Self::invalid_input(error.to_string())
    }
}

/// Converts an error of your own, as [`Error::other`] does.
impl From<Box<dyn StdError + Send + Sync + 'static>> for Error {
    fn from(error: Box<dyn StdError + Send + Sync + 'static>) -> Self {
        Self::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn kinds_follow_status_and_code() {
        assert_eq!(
            ErrorKind::of_response(409, Some("TableBeingDeleted")),
            ErrorKind::Conflict
        );
        assert_eq!(
            ErrorKind::of_response(403, Some("AuthenticationFailed")),
            ErrorKind::Unauthenticated
        );
        for status in [404, 409, 412] {
            assert_eq!(ErrorKind::of_response(status, None), ErrorKind::InvalidResponse);
        }
        assert_eq!(ErrorKind::of_response(503, None), ErrorKind::ServerFault);
        assert_eq!(ErrorKind::of_response(503, Some("ServerBusy")), ErrorKind::Throttled);
    }
}
