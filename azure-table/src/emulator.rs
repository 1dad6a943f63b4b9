//! A Table service inside the process, for tests, examples and development.
//!
//! Owns [`Emulator`], which answers requests as Azure Table storage does, and, with feature `emulator-http`,
//! `EmulatorServer`, which does so on a port. It stands at the transport: the whole client runs, only the last step
//! is replaced. It keeps everything in memory and waits for nothing.
//!
//! It imitates what was seen of the live service: statuses, codes, texts, headers, metadata levels, order, paging,
//! atomic batches, signatures. Each file names what it decided without having seen it live ("Not confirmed") and what
//! it leaves out. Layers: `pipeline::transport`, `protocol`, `filter`, `codec` and `model`, never the client.

mod address;
mod answer;
mod auth;
mod batch;
mod body;
mod call;
mod entities;
mod grant;
mod json;
mod options;
mod query;
mod range;
mod refusal;
mod row;
mod sas;
#[cfg(feature = "emulator-http")]
mod server;
mod service;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod token;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::emulator::options::MAX_PAGE;
use crate::emulator::store::Store;
use crate::model::error::{Error, Result};
use crate::pipeline::transport::{BoxFuture, Transport, TransportError};

use crate::protocol::endpoint::DEVELOPMENT_ACCOUNT;
#[cfg(feature = "emulator-http")]
use crate::protocol::signature::DEVELOPMENT_KEY;
use crate::protocol::signature::SigningKey;

#[cfg(feature = "emulator-http")]
pub use crate::emulator::server::{EmulatorServer, RunningEmulator};

/// A Table service in memory. Feature `emulator`.
///
/// A [`Transport`]: give it to a client in place of the network. It has the account `devstoreaccount1` with its public
/// key, as all emulators do, and starts without tables. Clones are cheap and share the tables; what a `with_…` method
/// sets holds for the value it returns and its clones alone.
///
/// Requests are checked as the live service does, signatures included: those with an account's key and shared access
/// signatures. It offers tables, entities, queries and batches; properties and statistics of the service, access
/// policies and Entra tokens are refused.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// let service = TableServiceClient::on(Emulator::new());
/// let blogs = service.table::<DynamicEntity>("Blogs")?;
/// blogs.create_table().await?;
/// # Ok(())
/// # }
/// ```
///
/// Source: REST "Table service REST API"; recorded answers of live accounts.
#[derive(Clone)]
pub struct Emulator {
    store: Arc<Mutex<Store>>,
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    accounts: BTreeMap<String, Account>,
    page_size: usize,
}

#[derive(Clone)]
struct Account {
    key: SigningKey,
    /// Needed for connection strings.
    #[cfg(feature = "emulator-http")]
    key_text: String,
}

impl Emulator {
    /// A service without tables.
    pub fn new() -> Self {
        let development = Account {
            key: SigningKey::development(),
            #[cfg(feature = "emulator-http")]
            key_text: DEVELOPMENT_KEY.to_owned(),
        };
        Self {
            store: Arc::default(),
            settings: Arc::new(Settings {
                accounts: BTreeMap::from([(DEVELOPMENT_ACCOUNT.to_owned(), development)]),
                page_size: MAX_PAGE,
            }),
        }
    }

    /// The same service with one more account, or another key for an account it has.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the name is empty or has other characters than ASCII letters,
    /// digits and hyphens, or the key is not base64.
    pub fn with_account(mut self, name: &str, key_base64: &str) -> Result<Self> {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(Error::invalid_input(format!(
                "account name {name:?}: it must have letters, digits and hyphens only"
            )));
        }
        let account = Account {
            key: SigningKey::from_base64(key_base64)
                .map_err(|e| Error::invalid_input(format!("key of account {name:?}: {e}")))?,
            #[cfg(feature = "emulator-http")]
            key_text: key_base64.trim().to_owned(),
        };
        Arc::make_mut(&mut self.settings)
            .accounts
            .insert(name.to_owned(), account);
        Ok(self)
    }

    /// The same service with pages of at most `rows` rows or tables (1 to 1000, which is the service's limit), so that
    /// a test sees many pages of few rows.
    #[must_use]
    pub fn with_page_size(mut self, rows: usize) -> Self {
        Arc::make_mut(&mut self.settings).page_size = rows.clamp(1, MAX_PAGE);
        self
    }

    fn key(&self, account: &str) -> Option<&SigningKey> {
        self.settings.accounts.get(account).map(|account| &account.key)
    }

    fn page_size(&self) -> usize {
        self.settings.page_size
    }

    /// The store, locked. Every change of it is complete or undone, also where a test's thread died in between.
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Emulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for Emulator {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, std::result::Result<http::Response<Bytes>, TransportError>> {
        Box::pin(async move { Ok(service::answer(self, request)) })
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts: Vec<&String> = self.settings.accounts.keys().collect();
        f.debug_struct("Emulator")
            .field("accounts", &accounts)
            .field("page_size", &self.page_size())
            .finish()
    }
}
