//! The client of an account.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::client::ops::ensure_tables::EnsureTables;
use crate::client::ops::get_user_delegation_key::GetUserDelegationKey;
use crate::client::ops::list_tables::ListTables;
use crate::client::ops::service_operations::{GetServiceProperties, GetServiceStatistics, Ping, SetServiceProperties};
use crate::client::table::TableClient;
use crate::model::datetime::DateTime;
use crate::model::dynamic::DynamicEntity;
use crate::model::entity::NamedTable;
use crate::model::error::{Error, ErrorKind, Result};
use crate::model::name::TableName;
use crate::pipeline::Pipeline;
use crate::pipeline::auth::Credential;
use crate::pipeline::auth::shared_key::SharedKeyLite;
use crate::pipeline::http::HttpTransport;
use crate::pipeline::transport::Transport;
use crate::protocol::account_key::AccountKey;
use crate::protocol::connection_string::{ConnectionString, Identity};
use crate::protocol::endpoint::Endpoint;
use crate::protocol::profile::Profile;
use crate::protocol::sas_token::SasToken;
use crate::protocol::service_properties::ServiceProperties;

/// The Table service of one account. A clone is cheap and shares connections and credential.
///
/// Calls run on a tokio runtime with I/O and time enabled, as `#[tokio::main]` makes it; elsewhere they panic.
///
/// ```no_run
/// use azure_table::{DynamicEntity, TableServiceClient};
/// # fn main() -> azure_table::Result<()> {
/// let service = TableServiceClient::from_connection_string("UseDevelopmentStorage=true")?;
/// let blogs = service.table::<DynamicEntity>("Blogs")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[doc(alias = "CloudTableClient")]
pub struct TableServiceClient {
    pub(crate) pipeline: Arc<Pipeline>,
    view: Arc<View>,
}

/// How a client sees its account.
#[derive(Clone)]
struct View {
    /// Who asks, where that can be said in a connection string.
    identity: Option<Identity>,
    /// What the names of all its tables begin with.
    namespace: Arc<str>,
}

impl TableServiceClient {
    /// A client for the account at this address, such as `https://contoso.table.core.windows.net`, of any cloud, Cosmos
    /// DB, a custom domain or an emulator; `credential` is an [`AccountKey`], [`SasToken`], `EntraCredential` (feature
    /// `entra`) or another [`Credential`].
    ///
    /// ```
    /// use azure_table::{AccountKey, TableServiceClient};
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let service = TableServiceClient::new("https://contoso.table.core.windows.net", key.clone())?;
    /// key.rotate("CAkKCwwNDg8=")?; // in force for the next attempt
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the address is none of a Table service, or of another account
    /// than the key is. [`Unsupported`](crate::ErrorKind::Unsupported) — HTTPS without the feature `rustls` or
    /// `native-tls`.
    pub fn new(endpoint: &str, credential: impl Credential) -> Result<Self> {
        let identity = identity_of(&credential);
        let account = match &identity {
            Some(Identity::Key(key)) => Some(key.account()),
            _ => None,
        };
        let endpoint = Endpoint::parse(endpoint, account)?;
        let transport = HttpTransport::new(endpoint.is_https())?;
        Ok(Self::of(endpoint, Arc::new(credential), identity, Arc::new(transport)))
    }

    /// A client for the account that a connection string names: `AccountName` and `AccountKey`, with `EndpointSuffix`
    /// or `TableEndpoint` where it is not the public cloud; a `SharedAccessSignature` instead of the key; or
    /// `UseDevelopmentStorage=true` for an emulator on this machine, port 10002.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — a setting is missing, malformed or there twice; it is named,
    /// its value is not shown. [`Unsupported`](crate::ErrorKind::Unsupported) — HTTPS without the feature `rustls` or
    /// `native-tls`.
    ///
    /// Source: "Configure Azure Storage connection strings".
    pub fn from_connection_string(connection_string: &str) -> Result<Self> {
        let parsed = ConnectionString::parse(connection_string)?;
        let transport = HttpTransport::new(parsed.endpoint.is_https())?;
        Ok(Self::from_parsed(parsed, Arc::new(transport)))
    }

    /// Creates a client for a transport that is a service itself, such as the `Emulator` of the feature `emulator`. It
    /// signs as the development account.
    ///
    /// To send the requests of another client over a transport, use [`transport`](Self::transport).
    pub fn on(transport: impl Transport) -> Self {
        let development = ConnectionString {
            endpoint: Endpoint::development(),
            identity: Identity::Key(AccountKey::development()),
        };
        Self::from_parsed(development, Arc::new(transport))
    }

    pub(super) fn from_parsed(parsed: ConnectionString, transport: Arc<dyn Transport>) -> Self {
        let credential: Arc<dyn Credential> = match parsed.identity.clone() {
            Identity::Key(key) => Arc::new(key),
            Identity::Sas(token) => Arc::new(token),
        };
        Self::of(parsed.endpoint, credential, Some(parsed.identity), transport)
    }

    fn of(
        endpoint: Endpoint,
        credential: Arc<dyn Credential>,
        identity: Option<Identity>,
        transport: Arc<dyn Transport>,
    ) -> Self {
        let endpoint = match transport.profile() {
            Some(profile) => endpoint.with_profile(profile),
            None => endpoint,
        };
        Self {
            pipeline: Arc::new(Pipeline::new(endpoint, transport, credential)),
            view: Arc::new(View {
                identity,
                namespace: Arc::from(""),
            }),
        }
    }

    /// The account key of this client, to make shared access signatures with and to rotate; `None` if it has another
    /// credential.
    pub fn account_key(&self) -> Option<&AccountKey> {
        match &self.view.identity {
            Some(Identity::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// The connection string of this client, **with its secret**: key or signature. Every address is written out.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) — its credential is neither an account key nor a shared access
    /// signature.
    pub fn to_connection_string(&self) -> Result<String> {
        let identity = self.view.identity.clone().ok_or_else(|| {
            let why = "a connection string has an account key or a shared access signature, this client has another credential";
            Error::new(ErrorKind::Unsupported, why)
        })?;
        let endpoint = self.pipeline.endpoint.clone();
        Ok(ConnectionString { endpoint, identity }.expose().to_string())
    }

    /// The table of this name, whose rows are entities of type `E`. Nothing is sent.
    ///
    /// For a table with rows of several kinds `E` is the enum of them, and the rows of one variant are its
    /// [`variant`](TableClient::variant). With the variant itself as `E` the handle knows nothing of the enum: it reads
    /// and deletes any row that fits, its queries select rows of all kinds, and its writes lack the tag.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the name is not one of a table: see [`TableName`].
    #[doc(alias = "CloudTable")]
    pub fn table<E>(&self, name: impl AsRef<str>) -> Result<TableClient<E>> {
        Ok(TableClient::new(&self.pipeline, self.full_name(name.as_ref())?))
    }

    /// Returns the client of the table that `E` names by `#[table(name = "…")]`. Nothing is sent.
    ///
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// #[table(name = "Blogs")]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     id: u32,
    /// }
    /// let service = TableServiceClient::on(Emulator::new());
    /// assert_eq!(service.table_of::<Blog>()?.name().as_str(), "Blogs");
    /// assert_eq!(service.prefixed("t42")?.table_of::<Blog>()?.name().as_str(), "t42Blogs");
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput): with the text of [`prefixed`](Self::prefixed) before it, or of
    /// an impl by hand, the name is not one of a table. The derive checks its name at compile time.
    pub fn table_of<E: NamedTable>(&self) -> Result<TableClient<E>> {
        self.table(E::TABLE)
    }

    /// The table of this name, for rows without a struct.
    ///
    /// # Errors
    /// As [`table`](Self::table).
    pub fn dynamic_table(&self, name: impl AsRef<str>) -> Result<TableClient<DynamicEntity>> {
        self.table(name)
    }

    /// The names of all tables, in the order of the service: by lower-case name on Storage. All at once when it is
    /// awaited, one by one as a [`stream`](ListTables::stream).
    ///
    /// ```
    /// # use azure_table::{Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let service = TableServiceClient::on(Emulator::new());
    /// # service.dynamic_table("Log2026")?.create_table().await?;
    /// let mut logs = service.list_tables().starting_with("Log").stream();
    /// while let Some(name) = logs.try_next().await? {
    ///     println!("{name}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Unauthenticated`, `Forbidden` — the key is not accepted. `Connection`, `Timeout`, `ServerFault` — no answer
    /// after the retries.
    ///
    /// Source: REST "Query Tables".
    pub fn list_tables(&self) -> ListTables {
        ListTables::new(&self.pipeline, self.namespace())
    }

    /// Makes those of these tables that are missing, and tells for each, in order and by the name given here: one list,
    /// and a call for each that is missing.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::{Emulator, TableServiceClient};
    /// use azure_table::service::Creation;
    /// let service = TableServiceClient::on(Emulator::new());
    /// let made = service.ensure_tables(["Orders", "Customers"]).await?;
    /// assert!(made.iter().all(|(_, creation)| *creation == Creation::Created));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` — a name is not one of a table. Those of [`list_tables`](Self::list_tables) and
    /// [`create_table_if_not_exists`](TableClient::create_table_if_not_exists); tables that were made until then stay.
    pub fn ensure_tables<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> EnsureTables {
        let tables = names.into_iter().map(|name| self.full_name(name.as_ref())).collect();
        EnsureTables::new(&self.pipeline, self.namespace(), tables)
    }

    /// Asks whether the service answers to who asks: a list of one table, on every service. A table's signature may not
    /// ask that.
    ///
    /// # Errors
    /// Those of [`list_tables`](Self::list_tables).
    ///
    /// Source: REST "Query Tables".
    pub fn ping(&self) -> Ping {
        Ping::new(&self.pipeline, ())
    }

    /// The settings of the service: logging, metrics, CORS.
    ///
    /// # Errors
    /// `Unsupported` — Cosmos DB has none.
    ///
    /// Source: REST "Get Table Service Properties".
    pub fn properties(&self) -> GetServiceProperties {
        GetServiceProperties::new(&self.pipeline, ())
    }

    /// Changes the settings of the service; those that are `None` stay as they are.
    ///
    /// # Errors
    /// `Unsupported` — Cosmos DB has none. `InvalidInput` — a limit is not kept, at most 5 CORS rules for one.
    ///
    /// Source: REST "Set Table Service Properties".
    pub fn set_properties(&self, properties: ServiceProperties) -> SetServiceProperties {
        SetServiceProperties::new(&self.pipeline, properties)
    }

    /// How far the copy in the second region is. Asked of that region's address, for accounts whose second region can
    /// be read (RA-GRS, RA-GZRS).
    ///
    /// # Errors
    /// `Unsupported` — Cosmos DB has none, or the address of a custom domain's second region is not known. `Connection`
    /// — the account's second region cannot be read.
    ///
    /// Source: REST "Get Table Service Stats".
    pub fn statistics(&self) -> GetServiceStatistics {
        GetServiceStatistics::new(&self.pipeline, ())
    }

    /// A key that signs shared access signatures until `expiry`, for at most 7 days, in the name of whom this client's
    /// token is for: [`TableSas::sign_delegated`](crate::TableSas::sign_delegated). Whoever that is needs a role such
    /// as *Storage Table Delegator*, and for each right of a signature one that has that right too.
    ///
    /// Not confirmed by an answer of the live service.
    ///
    /// # Errors
    /// `Unsupported` — the client has another credential than a token, or the service is Cosmos DB. `InvalidInput` —
    /// the key would live longer than 7 days, or not at all. `Unauthenticated`, `Forbidden` — the token is not
    /// accepted, or its owner has no such role.
    ///
    /// Source: REST "Get User Delegation Key".
    pub fn user_delegation_key(&self, expiry: DateTime) -> GetUserDelegationKey {
        GetUserDelegationKey::new(&self.pipeline, expiry)
    }

    /// The account's name; `None` if a custom domain does not show it.
    pub fn account(&self) -> Option<&str> {
        self.pipeline.endpoint.account()
    }

    /// The base address, such as `https://contoso.table.core.windows.net`.
    pub fn endpoint(&self) -> &str {
        self.pipeline.endpoint.base()
    }

    /// Which service is at that address.
    pub fn profile(&self) -> Profile {
        self.pipeline.endpoint.profile()
    }

    /// The name of a table as the service knows it.
    pub(crate) fn full_name(&self, name: &str) -> Result<TableName> {
        TableName::new(format!("{}{name}", self.namespace()))
    }

    /// The same client with something changed.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut Pipeline)) -> Self {
        let mut pipeline = Pipeline::clone(&self.pipeline);
        change(&mut pipeline);
        Self {
            pipeline: Arc::new(pipeline),
            view: Arc::clone(&self.view),
        }
    }

    /// The same client whose tables all begin with one more text.
    pub(crate) fn in_namespace(&self, prefix: &str) -> Self {
        Self {
            pipeline: Arc::clone(&self.pipeline),
            view: Arc::new(View {
                identity: self.view.identity.clone(),
                namespace: Arc::from(format!("{}{prefix}", self.namespace())),
            }),
        }
    }

    pub(crate) fn namespace(&self) -> &Arc<str> {
        &self.view.namespace
    }
}

/// What of a credential a connection string can say.
fn identity_of(credential: &impl Credential) -> Option<Identity> {
    let credential: &dyn Any = credential;
    if let Some(SharedKeyLite(key)) = credential.downcast_ref() {
        return Some(Identity::Key(key.clone()));
    }
    if let Some(key) = credential.downcast_ref::<AccountKey>() {
        return Some(Identity::Key(key.clone()));
    }
    credential.downcast_ref::<SasToken>().cloned().map(Identity::Sas)
}

impl fmt::Debug for TableServiceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableServiceClient")
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}
