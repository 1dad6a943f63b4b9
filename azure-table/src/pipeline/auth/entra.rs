//! Entra ID tokens as a credential.
//!
//! Defines [`EntraCredential`]: it selects the scope and tenant of a token, sends it over HTTPS only, and decides which
//! challenges of the service it trusts. `renewing.rs` decides when to fetch a token, and `challenge.rs` parses a
//! challenge. Tokens come from an implementation of `TokenCredential`, for example from the crate azure_identity.
//!
//! Source: REST "Authorize with Microsoft Entra ID"; "Authorize access to tables using Microsoft Entra ID"; "Azure
//! Cosmos DB for Table data plane security".

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use azure_core::cloud::CloudConfiguration;
use azure_core::credentials::{AccessToken, TokenCredential};
use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::operation_kind::{self, OperationKind, TokenRight};
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::request::http_request::{TOKEN_VERSION, header_value};
use azure_table_wire::transport::BoxFuture;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, StatusCode};

use crate::pipeline::auth::entra::challenge::Challenge;
use crate::pipeline::auth::renewing::{Fetched, Renewing};
use crate::pipeline::auth::{
    AuthorizationContext, AuthorizationFailure, Credential, IntoCredential, account_advice, demand_https,
};

mod challenge;

/// The suffix of a scope for all permissions granted beforehand.
const DEFAULT_SCOPE: &str = "/.default";

/// A credential that sends Entra ID (Azure Active Directory) tokens, over HTTPS only.
///
/// It fetches a token when a call needs one, and keeps it until five minutes before it expires. If the service rejects
/// the token, it fetches a new one. Clones share their tokens, even between accounts. Concurrent calls share one fetch
/// and its error; the fetch runs on a task.
///
/// Unless `client_options` name a cloud, the scope follows from the endpoint's cloud and service, for example `https://storage.azure.com/.default` or
/// `https://cosmos.azure.com/.default`. If the service requests another scope, the credential accepts only one of these
/// or the service's own host.
///
/// ```
/// use std::sync::Arc;
///
/// use azure_core::credentials::TokenCredential;
/// use azure_table::TableServiceClient;
///
/// /// `source` comes from the crate azure_identity: its `ManagedIdentityCredential`, `DeveloperToolsCredential`, …
/// fn client(source: Arc<dyn TokenCredential>) -> azure_table::Result<TableServiceClient> {
///     TableServiceClient::new("https://contoso.table.core.windows.net", source)
/// }
/// ```
///
/// Source: REST "Authorize with Microsoft Entra ID".
#[doc(alias("TokenCredential", "DefaultAzureCredential"))]
#[derive(Clone)]
pub struct EntraCredential {
    source: Source,
    /// Replaces the scope from cloud, service and challenge.
    scope: Option<String>,
    shared: Arc<Shared>,
}

#[derive(Clone)]
enum Source {
    /// One source for all tenants.
    One(Arc<dyn TokenCredential>),
    /// One source per tenant.
    ByTenant(Arc<ForTenant>),
}

type Made = std::result::Result<Arc<dyn TokenCredential>, Box<dyn StdError + Send + Sync>>;
type ForTenant = dyn Fn(&str) -> Made + Send + Sync;

/// The audience of a token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Audience {
    /// Set only where it makes a difference.
    tenant: Option<String>,
    scope: String,
}

impl Audience {
    fn new(tenant: Option<String>, resource: &str) -> Self {
        Self {
            tenant,
            scope: format!("{resource}{DEFAULT_SCOPE}"),
        }
    }
}

#[derive(Default)]
struct Shared {
    tokens: RwLock<BTreeMap<Audience, Arc<Tokens>>>,
    /// The audience by host, as learned from challenges.
    learned: RwLock<BTreeMap<String, Audience>>,
    /// The number of audiences learned.
    lessons: AtomicU64,
}

/// The tokens of one audience.
struct Tokens {
    source: Arc<dyn TokenCredential>,
    /// The value of the header, marked as sensitive.
    present: Arc<Renewing<HeaderValue>>,
}

impl EntraCredential {
    /// Creates a credential from a token source that knows its tenant.
    pub fn new(source: Arc<dyn TokenCredential>) -> Self {
        Self::of(Source::One(source))
    }

    /// Creates a credential whose token source depends on the account's tenant.
    ///
    /// The service names the tenant: the client sends its first attempt at each host without a token, and repeats it
    /// with one after the rejection.
    ///
    /// The credential trusts the tenant that the service names. If that is not safe enough, return an error from
    /// `source` for unknown tenants.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use azure_core::credentials::TokenCredential;
    /// use azure_table::EntraCredential;
    ///
    /// fn of_tenants(contoso: Arc<dyn TokenCredential>) -> EntraCredential {
    ///     EntraCredential::by_tenant(move |tenant| match tenant {
    ///         "72f988bf-86f1-41af-91ab-2d7cd011db47" => Ok(Arc::clone(&contoso)),
    ///         _ => Err("not one of our tenants".into()),
    ///     })
    /// }
    /// ```
    #[doc(alias = "EnableTenantDiscovery")]
    pub fn by_tenant(source: impl Fn(&str) -> Made + Send + Sync + 'static) -> Self {
        Self::of(Source::ByTenant(Arc::new(source)))
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            scope: None,
            shared: Arc::default(),
        }
    }

    /// Sets the scope of the tokens, such as `https://cosmos.azure.com/.default` for a custom domain of Cosmos DB.
    ///
    /// It overrides the scope that follows from the cloud, the service and the challenge.
    #[doc(alias = "Audience")]
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        // The audiences that other clones learned do not apply to this scope.
        self.shared = Arc::default();
        self
    }

    /// Returns the credential with the scope of this cloud, unless it has a scope.
    pub(crate) fn in_cloud(&self, cloud: &CloudConfiguration, profile: Profile) -> Result<Self> {
        let [public, china, government] = profile.rules().token_audiences.map(|(_, audience)| audience);
        let audience = match cloud {
            CloudConfiguration::AzurePublic => public,
            CloudConfiguration::AzureChina => china,
            CloudConfiguration::AzureGovernment => government,
            CloudConfiguration::Custom(custom) => custom.audiences.get::<Self>().ok_or_else(|| {
                Error::invalid_input(
                    "the custom cloud has no audience for Tables: add one with `Audiences::with::<EntraCredential>`",
                )
            })?,
            _ => return Ok(self.clone()),
        };
        Ok(match self.scope {
            Some(_) => self.clone(),
            None => self.clone().scope(format!("{audience}{DEFAULT_SCOPE}")),
        })
    }

    /// Returns the audience that a token for the endpoint needs, or `None` if a challenge must name the tenant first.
    fn audience(&self, endpoint: &Endpoint) -> Option<Audience> {
        let learned = self.shared.learned.read().unwrap_or_else(PoisonError::into_inner);
        let audience = match (learned.get(endpoint.host()), &self.source) {
            (Some(learned), _) => learned.clone(),
            (None, Source::One(_)) => Audience::new(None, endpoint.profile().rules().token_audience(endpoint.host())),
            (None, Source::ByTenant(_)) => return None,
        };
        Some(self.with_named_scope(audience))
    }

    fn with_named_scope(&self, mut audience: Audience) -> Audience {
        if let Some(scope) = &self.scope {
            audience.scope.clone_from(scope);
        }
        audience
    }

    /// Returns the tokens of an audience.
    fn tokens(&self, audience: &Audience) -> Result<Arc<Tokens>> {
        let tokens = &self.shared.tokens;
        if let Some(tokens) = tokens.read().unwrap_or_else(PoisonError::into_inner).get(audience) {
            return Ok(Arc::clone(tokens));
        }
        let tenant = audience.tenant.as_deref().unwrap_or_default();
        let source = match &self.source {
            Source::One(source) => Arc::clone(source),
            Source::ByTenant(make) => make(tenant).map_err(|e| {
                let why = format!("no token source for the tenant {}", Shown(tenant));
                Error::new(ErrorKind::Unauthenticated, why).with_source(e)
            })?,
        };
        let mut tokens = tokens.write().unwrap_or_else(PoisonError::into_inner);
        let present = Arc::new(Renewing::new());
        let entry = tokens.entry(audience.clone());
        Ok(Arc::clone(
            entry.or_insert_with(|| Arc::new(Tokens { source, present })),
        ))
    }

    async fn put(&self, request: &mut Request<Bytes>, context: &AuthorizationContext<'_>) -> Result<()> {
        demand_https(request, "an Entra ID token")?;
        let Some(audience) = self.audience(context.endpoint) else {
            return Ok(());
        };
        let tokens = self.tokens(&audience)?;
        let source = Arc::clone(&tokens.source);
        let fetch = move || fetch(Arc::clone(&source), audience.scope.clone());
        let token = tokens.present.get(context.now, fetch).await?;
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::clone(&token));
        Ok(())
    }

    /// Returns `true` if the client may request a token for the resource that a challenge names.
    ///
    /// Allowed are this service in any cloud, its own host, and the scope set by the user. A server that could choose
    /// freely would receive tokens for other targets: a vault, a subscription, or the user's accounts at another
    /// service. It may therefore only choose tokens that it would receive anyway, or that are valid for itself alone.
    fn trusts(&self, resource: &str, endpoint: &Endpoint) -> bool {
        let own = format!("https://{}", endpoint.host());
        let is_of = |scope: &String| {
            let named = scope.trim_end_matches(DEFAULT_SCOPE).trim_end_matches('/');
            named.eq_ignore_ascii_case(resource)
        };
        endpoint.profile().rules().is_token_audience(resource)
            || own.eq_ignore_ascii_case(resource)
            || self.scope.as_ref().is_some_and(is_of)
    }

    /// Stores the audience of a challenge. Returns `false` if it was known or the challenge does not name it.
    fn learn(&self, challenge: &Challenge, resource: &str, endpoint: &Endpoint) -> bool {
        let tenant = match (&self.source, &challenge.tenant) {
            (Source::One(_), _) => None,
            (Source::ByTenant(_), Some(tenant)) => Some(tenant.clone()),
            (Source::ByTenant(_), None) => return false,
        };
        let requested = Audience::new(tenant, resource);
        if self.audience(endpoint) == Some(self.with_named_scope(requested.clone())) {
            return false;
        }
        let mut learned = self.shared.learned.write().unwrap_or_else(PoisonError::into_inner);
        learned.insert(endpoint.host().to_owned(), requested);
        self.shared.lessons.fetch_add(1, Ordering::Release);
        true
    }

    /// Discards the token of a rejected attempt, unless something has changed since.
    fn forget(&self, audience: &Audience, failure: &AuthorizationFailure<'_>) {
        if self.generation() != failure.generation() {
            return;
        }
        let tokens = self.shared.tokens.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = tokens.get(audience) {
            tokens.present.forget(tokens.present.generation());
        }
    }

    /// Handles a rejected or missing token.
    fn not_accepted(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        let endpoint = failure.context.endpoint;
        let challenge = Challenge::of(failure.headers());
        let requested = challenge.as_ref().and_then(|c| Some((c, c.resource.as_deref()?)));
        let trusted = requested.filter(|(_, resource)| self.trusts(resource, endpoint));
        if trusted.is_some_and(|(challenge, resource)| self.learn(challenge, resource, endpoint)) {
            return None;
        }
        let used = self.audience(endpoint);
        // A new token for the same audience would not help if the service requests another one.
        let is_of_another = requested.is_some() && trusted.is_none() && self.scope.is_none();
        if let Some(audience) = used.as_ref().filter(|_| !is_of_another) {
            self.forget(audience, failure);
        }
        Some(match (requested, used) {
            (Some((_, resource)), _) if trusted.is_none() => format!(
                "the service requests a token for {}, which is neither {} nor its own host: if that is correct, set it \
                 with `EntraCredential::scope`",
                Shown(resource),
                endpoint.profile()
            ),
            (_, Some(Audience { scope, .. })) => format!(
                "the service rejects the token: its scope is {}, and its tenant must be the tenant of the account's \
                 subscription",
                Shown(&scope)
            ),
            (_, None) => "the service does not name the tenant of the tokens that it accepts: use \
                          `EntraCredential::new` with a source that knows its tenant"
                .to_owned(),
        })
    }
}

impl IntoCredential for Arc<dyn TokenCredential> {
    fn into_credential(self) -> Arc<dyn Credential> {
        Arc::new(EntraCredential::new(self))
    }
}

impl<T: TokenCredential + 'static> IntoCredential for Arc<T> {
    fn into_credential(self) -> Arc<dyn Credential> {
        Arc::new(EntraCredential::new(self))
    }
}

impl Credential for EntraCredential {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.put(request, context))
    }

    fn version(&self) -> &'static str {
        TOKEN_VERSION
    }

    fn generation(&self) -> u64 {
        let tokens = self.shared.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let of_tokens: u64 = tokens.values().map(|tokens| tokens.present.generation()).sum();
        of_tokens + self.shared.lessons.load(Ordering::Acquire)
    }

    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        let code = failure.code();
        if failure.status() == StatusCode::UNAUTHORIZED || code == Some("AuthenticationFailed") {
            return self.not_accepted(failure);
        }
        account_advice(code).or_else(|| missing_role(failure.context.profile(), code, failure.operation))
    }
}

/// Shows no secrets. Omits the token source, whose `Debug` may show anything.
impl fmt::Debug for EntraCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::One(_) => "one",
            Source::ByTenant(_) => "by tenant",
        };
        let scope = self.scope.as_deref().unwrap_or("of the service");
        f.debug_struct("EntraCredential")
            .field("source", &format_args!("{source}"))
            .field("scope", &format_args!("{scope}"))
            .finish()
    }
}

/// Fetches a token. Keeps the source's error text out of the message.
///
/// Errors of azure_core hide the bodies and headers that they contain, but the text of a token source may contain
/// anything. Its error is therefore only attached as the error's source.
async fn fetch(source: Arc<dyn TokenCredential>, scope: String) -> Result<Fetched<HeaderValue>> {
    let AccessToken { token, expires_on } = source.get_token(&[&scope], None).await.map_err(|e| {
        let why = format!("no Entra ID token for {}: the token source failed", Shown(&scope));
        Error::new(ErrorKind::Unauthenticated, why).with_source(e)
    })?;
    let mut value = header_value("the Entra ID token", format!("Bearer {}", token.secret()))?;
    value.set_sensitive(true);
    let since = Duration::from_secs(u64::try_from(expires_on.unix_timestamp()).unwrap_or_default());
    Ok(Fetched {
        value,
        expires: SystemTime::UNIX_EPOCH.checked_add(since),
    })
}

/// Returns advice about the role that the identity of a token may lack.
///
/// Source: "Assign an Azure role for access to table data" (30 minutes); "Azure Cosmos DB for Table data plane
/// security": roles of the account's own. For Storage, a missing right was seen under both codes.
fn missing_role(profile: Profile, code: Option<&str>, operation: OperationKind) -> Option<String> {
    if profile.rules().has_own_roles {
        return Some(
            "the identity of the token needs a data plane role of the account itself, such as Cosmos DB Built-in Data \
             Contributor; Azure roles do not count"
                .to_owned(),
        );
    }
    if !matches!(code, Some("AuthorizationPermissionMismatch" | "AuthorizationMismatch")) {
        return None;
    }
    let role = match operation_kind::token_right(operation) {
        TokenRight::Read => "such as Storage Table Data Reader".to_owned(),
        TokenRight::Write => "such as Storage Table Data Contributor".to_owned(),
        TokenRight::Delegate => "such as Storage Table Delegator".to_owned(),
        TokenRight::Action(action) => {
            format!("with the action Microsoft.Storage/storageAccounts/tableServices/{action}, which no data role has,")
        }
    };
    Some(format!(
        "the identity of the token needs a role {role} on the account or the table; an assignment takes effect within \
         30 minutes"
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use azure_core::credentials::TokenRequestOptions;
    use azure_core::time::OffsetDateTime;
    use http::Response;

    use super::*;

    /// Returns a token with its scope and number. Token n expires n hours after `NOW`.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    const NOW: Duration = Duration::from_secs(1_800_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    #[async_trait::async_trait]
    impl TokenCredential for Counting {
        async fn get_token(
            &self,
            scopes: &[&str],
            _: Option<TokenRequestOptions<'_>>,
        ) -> azure_core::Result<AccessToken> {
            let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            tokio::task::yield_now().await;
            let expires = NOW.as_secs() as i64 + 3_600 * number as i64;
            Ok(AccessToken::new(
                format!("{} SECRET{number}", scopes.join(" ")),
                OffsetDateTime::from_unix_timestamp(expires).unwrap(),
            ))
        }
    }

    async fn authorized(credential: &EntraCredential, endpoint: &str, after: Duration) -> Option<HeaderValue> {
        let endpoint = Endpoint::parse(endpoint, None).unwrap();
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = endpoint.uri("Tables").unwrap();
        let context = AuthorizationContext {
            endpoint: &endpoint,
            now: SystemTime::UNIX_EPOCH + NOW + after,
        };
        credential.authorize(&mut request, &context).await.unwrap();
        request.headers_mut().remove(AUTHORIZATION)
    }

    /// Reports that the service rejected an attempt of the current generation with this challenge.
    fn rejected(credential: &EntraCredential, endpoint: &str, challenge: &str) -> Option<String> {
        let endpoint = Endpoint::parse(endpoint, None).unwrap();
        let response = Response::builder()
            .status(401)
            .header("www-authenticate", challenge)
            .body(Bytes::new())
            .unwrap();
        credential.rejected(&AuthorizationFailure {
            status: 401,
            code: None,
            response: &response,
            context: AuthorizationContext {
                endpoint: &endpoint,
                now: SystemTime::UNIX_EPOCH + NOW,
            },
            generation: credential.generation(),
            operation: OperationKind::Insert,
        })
    }

    fn challenge(resource: &str) -> String {
        format!(
            "Bearer authorization_uri=https://login.microsoftonline.com/contoso/oauth2/authorize resource_id={resource}"
        )
    }

    const CONTOSO: &str = "https://contoso.table.core.windows.net";
    const FABRIKAM: &str = "https://fabrikam.table.core.windows.net";

    #[tokio::test]
    async fn token_is_kept_until_shortly_before_it_expires_and_shared_by_accounts() {
        let source = Arc::new(Counting::default());
        let credential = EntraCredential::new(Arc::<Counting>::clone(&source));
        let first = authorized(&credential, CONTOSO, Duration::ZERO).await.unwrap();
        assert_eq!(first, "Bearer https://storage.azure.com/.default SECRET1");
        assert!(first.is_sensitive());
        let minute = Duration::from_secs(60);
        let later = authorized(&credential.clone(), FABRIKAM, HOUR - 6 * minute).await;
        assert_eq!(later, Some(first));
        let renewed = authorized(&credential, CONTOSO, HOUR - 4 * minute).await.unwrap();
        assert_eq!(renewed, "Bearer https://storage.azure.com/.default SECRET2");
        let cosmos = authorized(&credential, "https://contoso.table.cosmos.azure.com", HOUR).await;
        assert_eq!(cosmos.unwrap(), "Bearer https://cosmos.azure.com/.default SECRET3");
        assert_eq!(source.0.load(Ordering::SeqCst), 3);
        assert!(!format!("{credential:?}").contains("SECRET"));
    }

    #[tokio::test]
    async fn rejected_token_is_discarded_once() {
        let credential = EntraCredential::new(Arc::new(Counting::default()));
        authorized(&credential, CONTOSO, Duration::ZERO).await;
        let generation = credential.generation();
        let advice = rejected(&credential, CONTOSO, "Bearer realm=x").unwrap();
        assert!(
            advice.contains("its scope is \"https://storage.azure.com/.default\""),
            "{advice}"
        );
        assert_ne!(credential.generation(), generation);
        let next = authorized(&credential, CONTOSO, Duration::ZERO).await.unwrap();
        assert!(next.to_str().unwrap().ends_with("SECRET2"));
    }

    #[tokio::test]
    async fn only_tokens_for_the_service_itself_are_requested() {
        let credential = EntraCredential::new(Arc::new(Counting::default()));
        for strange in [
            "https://vault.azure.net",
            "https://management.azure.com/",
            "https://cosmos.azure.com",
            "https://storage.azure.com.contoso.com",
            "https://fabrikam.table.core.windows.net",
            "http://storage.azure.com",
        ] {
            let advice = rejected(&credential, CONTOSO, &challenge(strange)).unwrap();
            assert!(
                advice.contains("set it with `EntraCredential::scope`"),
                "{strange}: {advice}"
            );
        }
        for (requested, scope) in [
            ("https://storage.azure.cn", "https://storage.azure.cn/.default"),
            (CONTOSO, "https://contoso.table.core.windows.net/.default"),
        ] {
            assert_eq!(rejected(&credential, CONTOSO, &challenge(requested)), None);
            let token = authorized(&credential, CONTOSO, Duration::ZERO).await.unwrap();
            assert!(token.to_str().unwrap().contains(scope), "{scope}");
        }
        let other = authorized(&credential, FABRIKAM, Duration::ZERO).await.unwrap();
        assert!(
            other.to_str().unwrap().contains("https://storage.azure.com/"),
            "another host is not concerned"
        );
    }

    #[tokio::test]
    async fn explicit_scope_overrides_the_challenge() {
        let credential =
            EntraCredential::new(Arc::new(Counting::default())).scope("https://tables.contoso.com/.default");
        for requested in ["https://storage.azure.com", "https://tables.contoso.com"] {
            assert!(
                rejected(&credential, CONTOSO, &challenge(requested))
                    .unwrap()
                    .contains("rejects the token")
            );
            let token = authorized(&credential, CONTOSO, Duration::ZERO).await.unwrap();
            assert!(
                token
                    .to_str()
                    .unwrap()
                    .starts_with("Bearer https://tables.contoso.com/.default ")
            );
        }
        assert!(format!("{credential:?}").contains("scope: https://tables.contoso.com/.default"));
    }

    #[tokio::test]
    async fn scope_of_one_clone_is_not_used_by_another() {
        let credential = EntraCredential::new(Arc::new(Counting::default()));
        let named = credential.clone().scope("https://tables.contoso.com/.default");
        assert!(rejected(&named, CONTOSO, &challenge("https://storage.azure.cn")).is_some());
        assert!(rejected(&named, CONTOSO, &challenge("https://tables.contoso.com")).is_some());
        let token = authorized(&named, CONTOSO, Duration::ZERO).await.unwrap();
        assert!(
            token
                .to_str()
                .unwrap()
                .starts_with("Bearer https://tables.contoso.com/")
        );
        let token = authorized(&credential, CONTOSO, Duration::ZERO).await.unwrap();
        assert!(token.to_str().unwrap().starts_with("Bearer https://storage.azure.com/"));
    }

    #[tokio::test]
    async fn tenant_comes_from_the_challenge() {
        let tenants = Arc::new(RwLock::new(Vec::new()));
        let made = Arc::clone(&tenants);
        let credential = EntraCredential::by_tenant(move |tenant| {
            made.write().unwrap().push(tenant.to_owned());
            Ok(Arc::new(Counting::default()))
        });
        assert_eq!(authorized(&credential, CONTOSO, Duration::ZERO).await, None);
        let advice = rejected(&credential, CONTOSO, "Bearer resource_id=https://storage.azure.com").unwrap();
        assert!(advice.contains("does not name the tenant"), "{advice}");
        assert_eq!(
            rejected(&credential, CONTOSO, &challenge("https://storage.azure.com")),
            None
        );
        for _ in 0..2 {
            assert!(authorized(&credential, CONTOSO, Duration::ZERO).await.is_some());
        }
        assert_eq!(*tenants.read().unwrap(), ["contoso"]);
        assert_eq!(
            authorized(&credential, FABRIKAM, Duration::ZERO).await,
            None,
            "each host says its own"
        );
    }

    #[test]
    fn missing_role_is_named() {
        let role = |profile, code, operation| missing_role(profile, Some(code), operation).unwrap_or_default();
        let storage = |operation| role(Profile::Storage, "AuthorizationPermissionMismatch", operation);
        assert!(
            storage(OperationKind::Insert).contains("Storage Table Data Contributor")
                && storage(OperationKind::Insert).contains("30 minutes")
        );
        assert!(storage(OperationKind::Query).contains("Storage Table Data Reader"));
        assert!(storage(OperationKind::GetUserDelegationKey).contains("Storage Table Delegator"));
        assert!(storage(OperationKind::GetTable).contains("Storage Table Data Reader"));
        for (operation, action) in [
            (OperationKind::GetServiceProperties, "tableServices/read,"),
            (OperationKind::GetServiceStatistics, "tableServices/read,"),
            (OperationKind::SetServiceProperties, "tableServices/write,"),
            (OperationKind::GetAccessPolicies, "tableServices/tables/getAcl/action,"),
            (OperationKind::SetAccessPolicies, "tableServices/tables/setAcl/action,"),
        ] {
            let advice = storage(operation);
            assert!(
                advice.contains(action) && advice.contains("which no data role has") && !advice.contains("Contributor"),
                "{advice}"
            );
        }
        assert_eq!(
            role(Profile::Storage, "AuthorizationFailure", OperationKind::Insert),
            "",
            "another rule has the advice: see `account_advice`"
        );
        assert!(role(Profile::Cosmos, "Forbidden", OperationKind::Insert).contains("data plane role"));
    }
}
