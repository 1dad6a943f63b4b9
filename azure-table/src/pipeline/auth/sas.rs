//! Shared access signatures as credentials: a fixed one, or one that is renewed.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::SystemTime;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::BoxFuture;
use bytes::Bytes;
use http::{Request, Uri};

use crate::account::sas_token::{self, SasToken};
use crate::pipeline::auth::renewing::{Fetched, Renewing};
use crate::pipeline::auth::sas_advice::advice;
use crate::pipeline::auth::{AuthorizationContext, AuthorizationFailure, Credential, demand_https};

/// Appends the signature's parameters to the query of the request.
impl Credential for SasToken {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(put(self, request)))
    }

    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        advice(self, failure)
    }
}

fn put(token: &SasToken, request: &mut Request<Bytes>) -> Result<()> {
    if sas_token::is_https_only(token) {
        demand_https(request, "this shared access signature")?;
    }
    let uri = request.uri();
    let separator = if uri.query().is_some() { '&' } else { '?' };
    let signed = format!("{uri}{separator}{}", token.expose());
    *request.uri_mut() = Uri::try_from(signed)
        .map_err(|_| Error::invalid_input("the request's URL with its shared access signature is too long"))?;
    Ok(())
}

/// A shared access signature that the program can replace while clients use it. Clones share it.
///
/// Each attempt uses the current signature. If the service rejects an attempt that still used an earlier one, the
/// client sends it once more. Use [`RenewableSas`] for signatures that the client fetches itself.
///
/// ```
/// use azure_table::auth::SharedSas;
/// use azure_table::{SasToken, TableServiceClient};
/// # fn main() -> azure_table::Result<()> {
/// let sas = SharedSas::new(SasToken::new("sv=2019-02-02&se=2030-01-01&sp=r&tn=blogs&sig=AAECAw%3D%3D")?);
/// let service = TableServiceClient::new("https://contoso.table.core.windows.net", sas.clone())?;
/// // Later, when another one arrives:
/// sas.update(SasToken::new("sv=2019-02-02&se=2031-01-01&sp=r&tn=blogs&sig=BAUGBw%3D%3D")?);
/// # Ok(())
/// # }
/// ```
#[doc(alias("AzureSasCredential"))]
#[derive(Clone)]
pub struct SharedSas(Arc<RwLock<(SasToken, u64)>>);

impl SharedSas {
    /// Creates a credential with its first signature.
    pub fn new(token: SasToken) -> Self {
        Self(Arc::new(RwLock::new((token, 0))))
    }

    /// Replaces the signature for all clones.
    #[doc(alias("Update"))]
    pub fn update(&self, token: SasToken) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = (token, current.1 + 1);
    }

    fn current(&self) -> RwLockReadGuard<'_, (SasToken, u64)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Credential for SharedSas {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(put(&self.current().0, request)))
    }

    fn generation(&self) -> u64 {
        self.current().1
    }

    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        let current = self.current();
        // Gives advice about the rejected signature, not about a later one.
        let rejected = (current.1 == failure.generation()).then_some(&current.0);
        advice(rejected?, failure)
    }
}

impl fmt::Debug for SharedSas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSas(hidden)")
    }
}

type Source = dyn Fn() -> BoxFuture<'static, Result<SasToken>> + Send + Sync;

/// A shared access signature that is fetched from a source and renewed before it expires.
///
/// The client keeps it until five minutes before it expires (`se`), and fetches a new one when the service rejects it.
/// Clones share it. Concurrent calls share one fetch and its error; the fetch runs on a task.
///
/// ```
/// use azure_table::{AccountKey, DateTime, TableName, TablePermissions, TableSas, TableServiceClient};
/// use azure_table::auth::RenewableSas;
/// # fn main() -> azure_table::Result<()> {
/// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
/// let orders = TableName::new("Orders")?;
/// // Stands for a request to the service that holds the key.
/// let sas = RenewableSas::new(move || {
///     let sas = TableSas::new(&orders)
///         .permissions(TablePermissions::READ)
///         .expiry(DateTime::now() + std::time::Duration::from_secs(3_600))
///         .sign(&key);
///     async { sas }
/// });
/// let service = TableServiceClient::new("https://contoso.table.core.windows.net", sas)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RenewableSas {
    source: Arc<Source>,
    token: Arc<Renewing<SasToken>>,
}

impl RenewableSas {
    /// Creates a credential that fetches its signature from `source`.
    ///
    /// An error of the source fails the calls that wait for a signature, unless the previous signature is still valid.
    pub fn new<F>(source: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<SasToken>> + Send + 'static,
    {
        Self {
            source: Arc::new(move || Box::pin(source())),
            token: Arc::new(Renewing::new()),
        }
    }

    async fn put(&self, request: &mut Request<Bytes>, now: SystemTime) -> Result<()> {
        let source = Arc::clone(&self.source);
        let fetch = move || {
            let signature = source();
            async move {
                let value = signature.await?;
                let expires = value.expiry().and_then(|end| SystemTime::try_from(end).ok());
                Ok(Fetched { value, expires })
            }
        };
        let token = self.token.get(now, fetch).await?;
        put(&token, request)
    }
}

impl Credential for RenewableSas {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.put(request, context.now))
    }

    fn generation(&self) -> u64 {
        self.token.generation()
    }

    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        let token = self.token.peek()?;
        if failure.is_unauthenticated() {
            self.token.forget(failure.generation());
        }
        advice(&token, failure)
    }
}

impl fmt::Debug for RenewableSas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RenewableSas(hidden)")
    }
}
