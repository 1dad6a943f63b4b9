//! The client of an account.

use std::fmt;
use std::sync::Arc;

use crate::client::ops::list_tables::ListTables;
use crate::client::table::TableClient;
use crate::model::dynamic::DynamicEntity;
use crate::model::error::Result;
use crate::model::name::TableName;
use crate::pipeline::auth::Credential;
use crate::pipeline::auth::sas::Sas;
use crate::pipeline::auth::shared_key::SharedKey;
use crate::pipeline::http::HttpTransport;
use crate::pipeline::run::Pipeline;
use crate::pipeline::transport::Transport;
use crate::protocol::account_key::AccountKey;
use crate::protocol::connection_string::{ConnectionString, Identity};
use crate::protocol::endpoint::{DEVELOPMENT_ACCOUNT, Endpoint};
use crate::protocol::sas_token::SasToken;
use crate::protocol::signature::SigningKey;

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
    pipeline: Arc<Pipeline>,
    key: Option<AccountKey>,
}

impl TableServiceClient {
    /// A client for the account that a connection string names: `AccountName` and `AccountKey`, with `EndpointSuffix`
    /// or `TableEndpoint` where it is not the public cloud; a `SharedAccessSignature` instead of the key; or
    /// `UseDevelopmentStorage=true` for an emulator on this machine, port 10002.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — a setting is missing, malformed or there twice; it is named,
    /// its value is not shown. [`Unsupported`](crate::ErrorKind::Unsupported) — HTTPS without the feature `rustls`.
    /// [`Connection`](crate::ErrorKind::Connection) — TLS cannot be set up.
    ///
    /// Source: "Configure Azure Storage connection strings".
    pub fn from_connection_string(connection_string: &str) -> Result<Self> {
        let parsed = ConnectionString::parse(connection_string)?;
        let transport = HttpTransport::new(parsed.endpoint.is_https())?;
        Ok(Self::new(parsed, Arc::new(transport)))
    }

    /// The same with another way to the network: a wrapper, or a double in a test.
    ///
    /// # Errors
    /// As [`from_connection_string`](Self::from_connection_string).
    pub fn with_transport(connection_string: &str, transport: impl Transport) -> Result<Self> {
        Ok(Self::new(
            ConnectionString::parse(connection_string)?,
            Arc::new(transport),
        ))
    }

    /// A client for the account at this address, such as `https://contoso.table.core.windows.net`, with its key.
    ///
    /// # Errors
    /// As [`from_connection_string`](Self::from_connection_string).
    pub fn with_key(endpoint: &str, key: AccountKey) -> Result<Self> {
        let endpoint = Endpoint::parse(endpoint, Some(key.account()))?;
        let transport = HttpTransport::new(endpoint.is_https())?;
        Ok(Self::new(
            ConnectionString {
                endpoint,
                identity: Identity::Key(key),
            },
            Arc::new(transport),
        ))
    }

    /// A client for the account at this address with a shared access signature.
    ///
    /// # Errors
    /// As [`from_connection_string`](Self::from_connection_string).
    pub fn with_sas(endpoint: &str, token: SasToken) -> Result<Self> {
        let endpoint = Endpoint::parse(endpoint, None)?;
        let transport = HttpTransport::new(endpoint.is_https())?;
        Ok(Self::new(
            ConnectionString {
                endpoint,
                identity: Identity::Sas(token),
            },
            Arc::new(transport),
        ))
    }

    /// A client for an in-process service, such as the `Emulator` of the feature `emulator`: no network. It signs as
    /// the development account.
    pub fn on(transport: impl Transport) -> Self {
        let key = AccountKey::of(DEVELOPMENT_ACCOUNT, SigningKey::development());
        let development = ConnectionString {
            endpoint: Endpoint::development(),
            identity: Identity::Key(key),
        };
        Self::new(development, Arc::new(transport))
    }

    fn new(ConnectionString { endpoint, identity }: ConnectionString, transport: Arc<dyn Transport>) -> Self {
        let (key, credential): (_, Arc<dyn Credential>) = match identity {
            Identity::Key(key) => (Some(key.clone()), Arc::new(SharedKey::new(key))),
            Identity::Sas(token) => (None, Arc::new(Sas::new(token))),
        };
        Self {
            pipeline: Arc::new(Pipeline::new(endpoint, transport, credential)),
            key,
        }
    }

    /// The account key of this client, to make shared access signatures with and to rotate; `None` if it has a signature
    /// itself.
    pub fn account_key(&self) -> Option<&AccountKey> {
        self.key.as_ref()
    }

    /// The table of this name, whose rows are entities of type `E`. Nothing is sent.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the name is not one of a table: see [`TableName`].
    #[doc(alias = "CloudTable")]
    pub fn table<E>(&self, name: impl AsRef<str>) -> Result<TableClient<E>> {
        Ok(TableClient::new(&self.pipeline, TableName::new(name)?))
    }

    /// The table of this name, for rows without a struct.
    ///
    /// # Errors
    /// As [`table`](Self::table).
    pub fn dynamic_table(&self, name: impl AsRef<str>) -> Result<TableClient<DynamicEntity>> {
        self.table(name)
    }

    /// The names of all tables, in the order of the service: by lower-case name on Storage.
    ///
    /// # Errors
    /// `Unauthenticated`, `Forbidden` — the key is not accepted. `Connection`, `Timeout`, `ServerFault` — no answer after
    /// the retries.
    ///
    /// Source: REST "Query Tables".
    pub fn list_tables(&self) -> ListTables {
        ListTables::new(&self.pipeline)
    }

    /// The account's name.
    pub fn account(&self) -> &str {
        self.pipeline.endpoint.account()
    }

    /// The base address, such as `https://contoso.table.core.windows.net`.
    pub fn endpoint(&self) -> &str {
        self.pipeline.endpoint.base()
    }
}

impl fmt::Debug for TableServiceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableServiceClient")
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}
