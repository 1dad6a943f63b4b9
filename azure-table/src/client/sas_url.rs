//! Clients from URLs with a shared access signature, and the creation of such URLs.

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::sas::user_delegation_key::UserDelegationKey;

use crate::account::account_key::AccountKey;
use crate::account::connection_string::{ConnectionString, Identity};
use crate::account::sas_builder::{AccountSas, TableSas};
use crate::account::sas_token::SasToken;
use crate::account::sas_url::{self, SasUrl};
use crate::client::service::{TableServiceClient, key_of};
use crate::client::table_handle::TableClient;
use crate::pipeline::Pipeline;
use crate::pipeline::auth::IntoCredential;
use crate::pipeline::transport::default_transport::default_transport;

/// URLs with their credential.
impl TableServiceClient {
    /// Creates a client from the URL of an account with its shared access signature.
    ///
    /// The URL looks like `https://contoso.table.core.windows.net/?sv=…&sig=…`. The portal shows it as "Table service
    /// SAS URL". An emulator's URL has the account in its path: `http://127.0.0.1:10002/devstoreaccount1?sv=…&sig=…`.
    ///
    /// For the signature alone, with or without a leading `?`, see [`SasToken::new`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// # use azure_table::{AccountSas, DateTime, Emulator, EmulatorServer};
    /// # use azure_table::auth::{AccountPermissions, AccountResources};
    /// use azure_table::TableServiceClient;
    /// # let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?;
    /// # let owner = TableServiceClient::from_connection_string(&server.connection_string())?;
    /// # let running = server.spawn();
    /// # let expiry = DateTime::now() + Duration::from_secs(3_600);
    /// # let sas = AccountSas::new(AccountPermissions::LIST, AccountResources::TABLES, expiry);
    /// # let sas_url = owner.sas_url(&sas)?;
    /// # let sas_url = sas_url.expose();
    /// let service = TableServiceClient::from_sas_url(sas_url)?;
    /// assert!(service.list_tables().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the URL has no signature or no account, or points to a
    ///   table, a secondary or another service. On a custom domain, every path counts as a table. The error never shows
    ///   the signature.
    ///
    /// Source: REST "Delegating access with a shared access signature".
    #[doc(alias = "AzureSasCredential")]
    #[doc(alias = "NewServiceClientWithNoCredential")]
    pub fn from_sas_url(sas_url: &str) -> Result<Self> {
        let (endpoint, token) = sas_url::of_service(sas_url)?;
        Ok(with_token(endpoint, token))
    }

    /// Returns the URL of the account with a shared access signature, signed with the account key of this client.
    ///
    /// Another program can pass it to [`from_sas_url`](Self::from_sas_url), until the signature expires or the key is
    /// regenerated. Nothing is sent.
    ///
    /// ```
    /// use azure_table::{AccountKey, AccountSas, DateTime, TableServiceClient};
    /// use azure_table::auth::{AccountPermissions, AccountResources};
    ///
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let service = TableServiceClient::new("https://contoso.table.core.windows.net", key)?;
    /// let expiry = DateTime::now() + std::time::Duration::from_secs(3_600);
    /// let sas = AccountSas::new(AccountPermissions::LIST, AccountResources::TABLES, expiry);
    /// let url = service.sas_url(&sas)?;
    /// assert!(url.expose().starts_with("https://contoso.table.core.windows.net/?sv="));
    /// let reader = TableServiceClient::from_sas_url(url.expose())?;
    /// # let _ = reader;
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): the credential of this client is not an account key.
    /// - The errors of [`AccountSas::sign`].
    ///
    /// Source: REST "Create an account SAS".
    #[doc(alias = "GenerateSasUri")]
    pub fn sas_url(&self, sas: &AccountSas) -> Result<SasUrl> {
        let token = sas.sign(signing_key(&self.pipeline)?)?;
        Ok(sas_url::for_service(&self.pipeline.endpoint, token))
    }
}

/// URLs with their credential.
impl<E> TableClient<E> {
    /// Creates a client from the URL of a table, such as `https://contoso.table.core.windows.net/Blogs`, as
    /// [`url`](Self::url) returns it.
    ///
    /// An emulator's URL has the account before the table: `http://127.0.0.1:10002/devstoreaccount1/Blogs`. The
    /// credential is any that [`TableServiceClient::new`] accepts.
    ///
    /// ```
    /// use azure_table::{AccountKey, DynamicEntity, TableClient};
    ///
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let url = "https://contoso.table.core.windows.net/Blogs";
    /// let blogs = TableClient::<DynamicEntity>::from_url(url, key)?;
    /// assert_eq!((blogs.name().as_str(), blogs.url().as_str()), ("Blogs", url));
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the URL has a signature or belongs to a secondary, or its
    ///   path does not end with a table name. Also the errors of [`TableServiceClient::new`]. The error never shows the
    ///   path.
    #[doc(alias("NewClient", "NewClientWithSharedKey"))]
    pub fn from_url(url: &str, credential: impl IntoCredential) -> Result<Self> {
        let credential = credential.into_credential();
        let (endpoint, table) = sas_url::of_unsigned_table(url, key_of(&*credential).map(AccountKey::account))?;
        TableServiceClient::with_credential(endpoint.base(), credential)?.table(table)
    }

    /// Creates a client from the URL of a table with its shared access signature.
    ///
    /// The URL looks like `https://contoso.table.core.windows.net/Blogs?sv=…&tn=blogs&sig=…`. The path names the table;
    /// the signature may be for that table or for the whole account. An emulator's URL has the account before the
    /// table: `http://127.0.0.1:10002/devstoreaccount1/Blogs?sv=…`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// # use azure_table::{DateTime, Emulator, EmulatorServer, TablePermissions, TableSas, TableServiceClient};
    /// use azure_table::{DynamicEntity, TableClient};
    /// # let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?;
    /// # let owner = TableServiceClient::from_connection_string(&server.connection_string())?;
    /// # let running = server.spawn();
    /// # let blogs = owner.dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// # let sas = TableSas::new(blogs.name()).permissions(TablePermissions::READ);
    /// # let sas = sas.expiry(DateTime::now() + Duration::from_secs(3_600));
    /// # let sas_url = blogs.sas_url(&sas)?;
    /// # let sas_url = sas_url.expose();
    /// let blogs = TableClient::<DynamicEntity>::from_sas_url(sas_url)?;
    /// assert_eq!(blogs.name().as_str(), "Blogs");
    /// assert!(blogs.get(("Channel9", "1")).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the URL has no signature, its path does not end with a table
    ///   name, the signature is for another table, or the address belongs to a secondary. The error never shows the
    ///   signature.
    ///
    /// Source: REST "Delegating access with a shared access signature".
    #[doc(alias = "from_table_url")]
    #[doc(alias = "NewClientWithNoCredential")]
    pub fn from_sas_url(sas_url: &str) -> Result<Self> {
        let (endpoint, table, token) = sas_url::of_table(sas_url)?;
        with_token(endpoint, token).table(table)
    }

    /// Returns the URL of the table with a shared access signature, signed with the account key of this client.
    ///
    /// Another program can pass it to [`from_sas_url`](Self::from_sas_url), until the signature expires, its policy is
    /// removed or the key is regenerated. Nothing is sent.
    ///
    /// ```
    /// use azure_table::{AccountKey, DynamicEntity, TableClient, TableSas, TableServiceClient};
    ///
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let service = TableServiceClient::new("https://contoso.table.core.windows.net", key)?;
    /// let orders = service.dynamic_table("Orders")?;
    /// // The policy `readers` of the table sets permissions and expiry.
    /// let url = orders.sas_url(&TableSas::new(orders.name()).policy("readers"))?;
    /// let reader = TableClient::<DynamicEntity>::from_sas_url(url.expose())?;
    /// assert_eq!(reader.name(), orders.name());
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): the credential of this client is not an account key. With an
    ///   Entra ID token, use [`delegated_sas_url`](Self::delegated_sas_url).
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the signature is for another table.
    /// - The errors of [`TableSas::sign`].
    ///
    /// Source: REST "Create a service SAS".
    #[doc(alias = "GenerateSasUri")]
    pub fn sas_url(&self, sas: &TableSas) -> Result<SasUrl> {
        let token = sas.sign(signing_key(&self.pipeline)?)?;
        sas_url::for_table(&self.pipeline.endpoint, &self.table, token)
    }

    /// Returns the URL of the table with a shared access signature, signed with a user delegation key.
    ///
    /// Request the key with [`user_delegation_key`](TableServiceClient::user_delegation_key). This method sends
    /// nothing. Not yet verified against the live service.
    ///
    /// ```no_run
    /// use azure_table::auth::SasUrl;
    /// use azure_table::{DateTime, DynamicEntity, TableClient, TablePermissions, TableSas, TableServiceClient};
    ///
    /// /// `service` has an `EntraCredential`.
    /// async fn share(
    ///     service: &TableServiceClient,
    ///     orders: &TableClient<DynamicEntity>,
    /// ) -> azure_table::Result<SasUrl> {
    ///     let expiry = DateTime::now() + std::time::Duration::from_secs(3_600);
    ///     let key = service.user_delegation_key(expiry).await?;
    ///     let sas = TableSas::new(orders.name()).permissions(TablePermissions::READ).expiry(expiry);
    ///     orders.delegated_sas_url(&sas, &key)
    /// }
    /// ```
    ///
    /// # Errors
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): a custom domain hides the account name to be signed.
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the signature is for another table.
    /// - The errors of [`TableSas::sign_delegated`].
    ///
    /// Source: REST "Create a user delegation SAS".
    pub fn delegated_sas_url(&self, sas: &TableSas, key: &UserDelegationKey) -> Result<SasUrl> {
        let endpoint = &self.pipeline.endpoint;
        let account = endpoint.account().ok_or_else(|| {
            let why = "the address does not show the account, whose name is signed: use `TableSas::sign_delegated`";
            Error::new(ErrorKind::Unsupported, why)
        })?;
        sas_url::for_table(endpoint, &self.table, sas.sign_delegated(key, account)?)
    }
}

fn signing_key(pipeline: &Pipeline) -> Result<&AccountKey> {
    key_of(&*pipeline.credential).ok_or_else(|| {
        let why = "only an account key signs a shared access signature, and this client has another credential; with a \
                   token of Entra ID use `TableClient::delegated_sas_url`";
        Error::new(ErrorKind::Unsupported, why)
    })
}

fn with_token(endpoint: Endpoint, token: SasToken) -> TableServiceClient {
    let transport = default_transport(&endpoint);
    let identity = Identity::Sas(token);
    TableServiceClient::from_parsed(ConnectionString { endpoint, identity }, transport)
}
