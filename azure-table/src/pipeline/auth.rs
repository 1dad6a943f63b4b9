//! The credential of a client, applied anew to each attempt.
//!
//! Defines [`Credential`], which other crates may implement, and the context it receives. The credentials are in
//! `shared_key.rs` (account keys), `sas.rs` (shared access signatures) and `entra.rs` (Entra ID tokens).
//! `renewing.rs` caches a fetched value until it expires. `account/signature.rs` builds the strings to sign.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::request::http_request::X_MS_VERSION;
use azure_table_wire::response;
use azure_table_wire::transport::BoxFuture;
use bytes::Bytes;
use http::{HeaderMap, Response};

#[cfg(feature = "azure-core-1")]
pub(crate) mod entra;
pub(crate) mod renewing;
pub(crate) mod sas;
pub(crate) mod sas_advice;
pub(crate) mod shared_key;

/// Authorizes each attempt with a signature or a token.
///
/// This crate has [`AccountKey`](crate::AccountKey) (SharedKey), [`SharedKeyLite`](crate::auth::SharedKeyLite),
/// [`SasToken`](crate::SasToken), [`SharedSas`](crate::auth::SharedSas), [`RenewableSas`](crate::auth::RenewableSas),
/// [`Anonymous`](crate::auth::Anonymous), and with the feature `azure-core-1` `EntraCredential`. Implement the trait for other
/// credentials:
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
pub trait Credential: Any + fmt::Debug + Send + Sync {
    /// Adds the authorization to `request`, which is otherwise complete.
    ///
    /// Called for each attempt, and again if the [`generation`](Self::generation) changes meanwhile.
    ///
    /// [`settings`](crate::TableServiceClient::settings) shows the credential's `Debug`, which must not show secrets.
    /// Mark headers that contain secrets with `HeaderValue::set_sensitive`.
    ///
    /// # Errors
    /// No authorization is available. The call fails with this error, and nothing was sent.
    fn authorize<'a>(
        &'a self,
        request: &'a mut http::Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Returns the protocol version that this credential needs, sent as `x-ms-version`.
    ///
    /// `2019-02-02` by default.
    fn version(&self) -> &'static str {
        X_MS_VERSION
    }

    /// Returns a number that changes whenever the authorization changes.
    ///
    /// It changes when a key is rotated, and when a token is renewed or discarded. If the service rejects an attempt
    /// (401, 403) and this number has changed since the attempt was authorized, the client sends the request once more.
    fn generation(&self) -> u64 {
        0
    }

    /// Called when the service rejects an attempt (401, 403).
    ///
    /// Returns advice for the error message.
    ///
    /// A credential that fetches its authorization discards a rejected one here, and its generation changes.
    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        let _ = failure;
        None
    }
}

/// A value that a client accepts as its credential: any [`Credential`], or a token source of `azure_core`.
///
/// With the feature `azure-core-1`, an `Arc<dyn TokenCredential>`, or an `Arc` of any of azure_identity's credentials,
/// becomes an `EntraCredential`.
pub trait IntoCredential {
    /// Returns the credential.
    fn into_credential(self) -> Arc<dyn Credential>;
}

impl<C: Credential> IntoCredential for C {
    fn into_credential(self) -> Arc<dyn Credential> {
        Arc::new(self)
    }
}

/// The target and time of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationContext<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) now: SystemTime,
}

impl AuthorizationContext<'_> {
    /// Returns the account name, or `None` if a custom domain does not show it.
    pub fn account(&self) -> Option<&str> {
        self.endpoint.account()
    }

    /// Returns the host of the account, without a port.
    pub fn host(&self) -> &str {
        self.endpoint.host()
    }

    /// Returns the service of the endpoint.
    pub fn profile(&self) -> Profile {
        self.endpoint.profile()
    }

    /// Returns the time of the attempt.
    pub fn now(&self) -> SystemTime {
        self.now
    }
}

/// A response that rejects the authorization of an attempt, or of an operation in a batch: status 401 or 403.
pub struct AuthorizationFailure<'a> {
    pub(crate) response: &'a Response<Bytes>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'a str>,
    pub(crate) context: AuthorizationContext<'a>,
    pub(crate) generation: u64,
    pub(crate) operation: OperationKind,
}

impl AuthorizationFailure<'_> {
    /// Returns the HTTP status, 401 or 403; for a batch, of the rejected operation.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the service's error code, such as `AuthenticationFailed`; for a batch, of the rejected operation.
    pub fn code(&self) -> Option<&str> {
        self.code
    }

    /// Returns `true` if the service rejects the credential itself, and not the operation.
    ///
    /// This is status 401, 403 `AuthenticationFailed`, or on Cosmos DB 403 `Forbidden` with its text about a wrong
    /// signature.
    pub fn is_unauthenticated(&self) -> bool {
        let is_of_cosmos = || {
            self.context.profile().is_cosmos() && response::error(self.response).kind() == ErrorKind::Unauthenticated
        };
        self.status == 401 || self.code == Some("AuthenticationFailed") || is_of_cosmos()
    }

    /// Returns the headers of the response.
    ///
    /// `WWW-Authenticate` contains a challenge.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Returns the name of the operation, such as `insert`.
    ///
    /// For a batch, this is `batch`, or the operation that all its parts have in common.
    pub fn operation(&self) -> &str {
        self.operation.name()
    }

    /// Returns the [`generation`](Credential::generation) that authorized the attempt.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the target and time of the attempt.
    pub fn context(&self) -> &AuthorizationContext<'_> {
        &self.context
    }

    /// Returns the service's time from the `Date` header of the response.
    pub fn service_time(&self) -> Option<SystemTime> {
        response::date(self.response.headers())
    }
}

/// Omits the response, which may repeat a signature.
impl fmt::Debug for AuthorizationFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationFailure")
            .field("operation", &self.operation.name())
            .field("status", &self.status())
            .field("code", &self.code())
            .finish_non_exhaustive()
    }
}

/// Sends requests without authorization, for services that need none, such as an emulator configured that way.
///
/// Azure responds with 401 or 403.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

impl Credential for Anonymous {
    fn authorize<'a>(
        &'a self,
        _: &'a mut http::Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Returns advice about a 403 that is due to the account's settings, not to the identity.
///
/// Source: "Prevent Shared Key authorization for an Azure Storage account"; "Use private endpoints for Azure Storage":
/// each service of an account needs an endpoint of its own.
pub(crate) fn account_advice(code: Option<&str>) -> Option<String> {
    let advice = match code? {
        "KeyBasedAuthenticationNotPermitted" => {
            "the account's settings do not permit keys, and so no signature made with one: use an Entra ID token \
             (`EntraCredential`), or a SAS made with a user delegation key"
        }
        "AuthorizationFailure" => {
            "the account's network rules may block this client: allow its network, or give the account a private \
             endpoint for tables (privatelink.table.core.windows.net; one for blobs does not cover them)"
        }
        _ => return None,
    };
    Some(advice.to_owned())
}

/// Rejects a request that would send a secret unencrypted.
pub(crate) fn demand_https(request: &http::Request<Bytes>, what: &str) -> Result<()> {
    if request.uri().scheme_str() == Some("https") {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "{what} is sent over HTTPS only, and the endpoint is an http address"
    )))
}
