//! Who asks: the credential of a client, applied to each attempt anew.
//!
//! Owns [`Credential`], which may be implemented outside of the crate, and what it is told. Account keys are
//! `shared_key.rs`, shared access signatures `sas.rs`, tokens of Entra ID `entra.rs`, none at all `anonymous.rs`; what
//! is fetched and kept until it expires is `renewing.rs`. The strings to sign are `protocol/signature.rs`.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, Response};

use crate::model::error::{Error, Result};
use crate::model::operation_kind::OperationKind;
use crate::pipeline::transport::BoxFuture;
use crate::protocol::answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::http_request::X_MS_VERSION;
use crate::protocol::profile::Profile;

pub(crate) mod anonymous;
#[cfg(feature = "entra")]
mod azure_core_error;
#[cfg(feature = "entra")]
pub(crate) mod entra;
pub(crate) mod renewing;
pub(crate) mod sas;
pub(crate) mod sas_advice;
pub(crate) mod shared_key;

/// Proves to the service who asks: puts a signature or a token on each attempt.
///
/// This crate has [`AccountKey`](crate::AccountKey) (SharedKey), [`SharedKeyLite`](crate::auth::SharedKeyLite),
/// [`SasToken`](crate::SasToken), [`RenewableSas`](crate::auth::RenewableSas), [`Anonymous`](crate::auth::Anonymous),
/// and with the feature `entra` `EntraCredential`. Others can be made outside:
///
/// ```
/// use azure_table::{Credential, Result, TableServiceClient};
/// use azure_table::auth::AuthorizationContext;
/// use azure_table::transport::BoxFuture;
/// use bytes::Bytes;
///
/// /// A gateway in front of the account that knows its callers by a header.
/// #[derive(Debug)]
/// struct Gateway;
///
/// impl Credential for Gateway {
///     fn authorize<'a>(
///         &'a self,
///         request: &'a mut http::Request<Bytes>,
///         _: &'a AuthorizationContext<'a>,
///     ) -> BoxFuture<'a, Result<()>> {
///         let caller = http::HeaderValue::from_static("orders");
///         request.headers_mut().insert("x-caller", caller);
///         Box::pin(std::future::ready(Ok(())))
///     }
/// }
///
/// let service = TableServiceClient::new("https://tables.contoso.com", Gateway)?;
/// assert_eq!(service.settings().credential(), "Gateway");
/// # Ok::<(), azure_table::Error>(())
/// ```
pub trait Credential: fmt::Debug + Send + Sync + 'static {
    /// Puts the proof on `request`, which is otherwise complete. Called once per attempt.
    ///
    /// Its `Debug` is shown by [`settings`](crate::TableServiceClient::settings): it must not show secrets. Headers
    /// that hold some should be marked by `HeaderValue::set_sensitive`.
    ///
    /// # Errors
    /// There is no proof to be had. The call ends with this error; nothing was sent.
    fn authorize<'a>(
        &'a self,
        request: &'a mut http::Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>>;

    /// The protocol's version to ask for with this credential, `x-ms-version`; `2019-02-02` unless it needs a newer
    /// one.
    fn version(&self) -> &'static str {
        X_MS_VERSION
    }

    /// Changes whenever the proof does: after a key was rotated, a token renewed or found to be worthless. An attempt
    /// that the service refused (401, 403) is made once more if this has changed since it was authorized.
    fn generation(&self) -> u64 {
        0
    }

    /// Hears that the service refused an attempt (401, 403), and says what a person may do about it: it stands in the
    /// error. What was fetched and turned out to be worthless is forgotten here, and the generation changes.
    fn rejected(&self, refusal: &AuthorizationFailure<'_>) -> Option<String> {
        let _ = refusal;
        None
    }
}

/// Where and when an attempt is made.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationContext<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) now: SystemTime,
}

impl AuthorizationContext<'_> {
    /// The account's name; `None` if a custom domain does not show it.
    pub fn account(&self) -> Option<&str> {
        self.endpoint.account()
    }

    /// The host of the account, without a port.
    pub fn host(&self) -> &str {
        self.endpoint.host()
    }

    /// Which service it is.
    pub fn profile(&self) -> Profile {
        self.endpoint.profile()
    }

    /// The time of the attempt.
    pub fn now(&self) -> SystemTime {
        self.now
    }
}

/// An answer that refuses an attempt, or an operation of a batch, for who asks: status 401 or 403.
pub struct AuthorizationFailure<'a> {
    pub(crate) response: &'a Response<Bytes>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'a str>,
    pub(crate) context: AuthorizationContext<'a>,
    pub(crate) generation: u64,
    pub(crate) operation: OperationKind,
}

impl AuthorizationFailure<'_> {
    /// 401 or 403; of a batch the status of the operation that was refused.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The service's code, such as `AuthenticationFailed`; of a batch that of the operation that was refused.
    pub fn code(&self) -> Option<&str> {
        self.code
    }

    /// Whether the proof itself is refused, and not what is asked with it: 401, as Cosmos DB says it, or 403
    /// `AuthenticationFailed`.
    pub fn is_unauthenticated(&self) -> bool {
        self.status == 401 || self.code == Some("AuthenticationFailed")
    }

    /// The headers of the answer: a challenge stands in `WWW-Authenticate`.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The operation, such as `insert`; of a batch `batch`, or what all of its operations are.
    pub fn operation(&self) -> &str {
        self.operation.name()
    }

    /// The [`generation`](Credential::generation) with which the attempt was authorized.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Where and when the attempt was made.
    pub fn context(&self) -> &AuthorizationContext<'_> {
        &self.context
    }

    /// The service's time, by the answer's `Date`.
    pub fn service_time(&self) -> Option<SystemTime> {
        answer::date(self.response.headers())
    }
}

/// The answer itself may repeat a signature.
impl fmt::Debug for AuthorizationFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationFailure")
            .field("operation", &self.operation.name())
            .field("status", &self.status())
            .field("code", &self.code())
            .finish_non_exhaustive()
    }
}

/// A secret that may only travel encrypted.
pub(crate) fn demand_https(request: &http::Request<Bytes>, what: &str) -> Result<()> {
    if request.uri().scheme_str() == Some("https") {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "{what} is sent over HTTPS only, and the endpoint is an http address"
    )))
}
