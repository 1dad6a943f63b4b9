//! The accounts and tokens that an emulator accepts.
//!
//! Contains the setters. `access.rs` checks requests against these accounts and tokens.

use azure_table_wire::account::signature::SigningKey;
use azure_table_wire::error::{Error, Result};

use crate::access::token;
use crate::in_process::Emulator;
use crate::settings::Account;

impl Emulator {
    /// Adds an account, or sets another key for an existing one.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table_wire::error::ErrorKind::InvalidInput): the name is empty or has characters
    ///   other than ASCII letters, digits and hyphens, or the key is not base64.
    pub fn account(mut self, name: &str, key_base64: &str) -> Result<Self> {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(Error::invalid_input(format!(
                "account name {name:?}: it must have letters, digits and hyphens only"
            )));
        }
        let account = Account {
            key: SigningKey::from_base64(key_base64)
                .map_err(|e| Error::invalid_input(format!("key of account {name:?}: {e}")))?,
            #[cfg(feature = "http")]
            key_text: key_base64.trim().to_owned(),
        };
        self.settings_mut().accounts.insert(name.to_owned(), account);
        Ok(self)
    }

    /// Accepts `token` as an Entra ID token.
    ///
    /// As in the live service, it is accepted only at URLs with `https` (on a port this needs feature
    /// `emulator-http`). The token has the permissions of the roles Storage Table Data Contributor and Storage Table
    /// Delegator. It permits all operations on tables and entities, and user delegation keys, but neither service
    /// properties nor access policies.
    ///
    /// A request with another token, or none, gets a 401 that names the token authority (from version 2020-12-06 on).
    /// The tenant is `00000000-0000-0000-0000-000000000000`.
    ///
    /// Source: REST "Authorize with Microsoft Entra ID".
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.settings_mut().tokens.insert(token.into());
        self
    }

    /// Accepts every Entra ID token for `audience`, **without checking who signed it**.
    ///
    /// Use it to test programs that authenticate with `DefaultAzureCredential` and the like, never on an open network:
    /// anyone can create a token that is accepted. The token must be a JWT with this audience (`aud`, ignoring a
    /// trailing slash) and an expiry (`exp`) after the time of the emulator's clock. Repeated calls add audiences.
    /// Tokens for Storage have the audience `https://storage.azure.com`, for Cosmos DB `https://cosmos.azure.com`.
    ///
    /// URLs and permissions are the same as with [`token`](Self::token). Rejected tokens get a 401 that names the token
    /// authority (from version 2020-12-06 on). Text that is not a token gets a 400.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::transport::Transport as _;
    /// use azure_table::Emulator;
    /// // {"alg":"none"}.{"aud":"https://storage.azure.com","exp":32503680000}.
    /// let token = "eyJhbGciOiJub25lIn0.eyJhdWQiOiJodHRwczovL3N0b3JhZ2UuYXp1cmUuY29tIiwiZXhwIjozMjUwMzY4MDAwMH0.";
    /// let emulator = Emulator::new().token_audience("https://storage.azure.com/");
    /// let request = http::Request::get("https://devstoreaccount1.table.core.windows.net/Tables")
    ///     .header("authorization", format!("Bearer {token}"))
    ///     .header("x-ms-version", "2020-12-06")
    ///     .header("accept", "application/json");
    /// let response = emulator.send(request.body(Default::default()).unwrap()).await.unwrap();
    /// assert_eq!(response.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: REST "Authorize with Microsoft Entra ID"; RFC 7519.
    #[must_use]
    pub fn token_audience(mut self, audience: impl AsRef<str>) -> Self {
        let audience = token::canonical(audience.as_ref()).to_owned();
        self.settings_mut().token_audiences.insert(audience);
        self
    }

    /// Accepts requests of any age, because time jumps in explorations.
    #[doc(hidden)]
    pub fn accepting_old_requests(mut self) -> Self {
        self.settings_mut().accepts_old_requests = true;
        self
    }

    /// Adds a value to each response in the process, for the client of an exploration.
    #[doc(hidden)]
    pub fn responding_with<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.settings_mut().extensions.insert(value);
        self
    }
}
