//! Clients from a URL with its shared access signature.

use azure_table_core::model::error::Result;
use azure_table_core::protocol::connection_string::{ConnectionString, Identity};
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::sas_token::SasToken;
use azure_table_core::protocol::sas_url;

use crate::client::service::TableServiceClient;
use crate::client::table_handle::TableClient;
use crate::pipeline::default_transport::default_transport;

/// Creation from a URL with its credential.
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
    /// # let token = sas.sign(owner.account_key().expect("it has a key"))?;
    /// # let sas_url = format!("{}?{}", owner.endpoint(), token.expose());
    /// let service = TableServiceClient::from_sas_url(&sas_url)?;
    /// assert!(service.list_tables().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the URL has no signature or no account, or names a table, a
    ///   secondary or another service. On a custom domain every path names a table. The error never shows the
    ///   signature.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): the address is `https`, and the build has no TLS. Enable the
    ///   feature `rustls`, or `native-tls` together with `reqwest`.
    ///
    /// Source: REST "Delegating access with a shared access signature".
    #[doc(alias = "AzureSasCredential")]
    #[doc(alias = "NewServiceClientWithNoCredential")]
    pub fn from_sas_url(sas_url: &str) -> Result<Self> {
        let (endpoint, token) = sas_url::of_service(sas_url)?;
        with_token(endpoint, token)
    }
}

/// Creation from a URL with its credential.
impl<E> TableClient<E> {
    /// Creates a client from the URL of a table with its shared access signature.
    ///
    /// The URL looks like `https://contoso.table.core.windows.net/Blogs?sv=…&tn=blogs&sig=…`. The path names the table;
    /// the signature is for that table or for the account. An emulator's URL has the account before the table:
    /// `http://127.0.0.1:10002/devstoreaccount1/Blogs?sv=…`.
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
    /// # let token = sas.sign(owner.account_key().expect("it has a key"))?;
    /// # let sas_url = format!("{}/Blogs?{}", owner.endpoint(), token.expose());
    /// let blogs = TableClient::<DynamicEntity>::from_sas_url(&sas_url)?;
    /// assert_eq!(blogs.name().as_str(), "Blogs");
    /// assert!(blogs.get(("Channel9", "1")).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the URL has no signature, or its path does not end with the
    ///   name of a table. Or the signature is for another table, or the address is that of a secondary. The error never
    ///   shows the signature.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): the address is `https`, and the build has no TLS. Enable the
    ///   feature `rustls`, or `native-tls` together with `reqwest`.
    ///
    /// Source: REST "Delegating access with a shared access signature".
    #[doc(alias = "from_table_url")]
    #[doc(alias = "NewClientWithNoCredential")]
    pub fn from_sas_url(sas_url: &str) -> Result<Self> {
        let (endpoint, table, token) = sas_url::of_table(sas_url)?;
        with_token(endpoint, token)?.table(table)
    }
}

fn with_token(endpoint: Endpoint, token: SasToken) -> Result<TableServiceClient> {
    let transport = default_transport(endpoint.is_https())?;
    let identity = Identity::Sas(token);
    Ok(TableServiceClient::from_parsed(
        ConnectionString { endpoint, identity },
        transport,
    ))
}
