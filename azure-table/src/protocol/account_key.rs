//! An account's name and key, which may change while it is in use.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::model::error::{Error, Result};
use crate::protocol::signature::SigningKey;

/// An account key: signs requests and shared access signatures. Never shown.
///
/// Clones are one key: [`rotate`](Self::rotate) on one changes it for all clients that hold it, from their next attempt on;
/// requests on their way finish with the old one.
///
/// ```
/// use azure_table::AccountKey;
/// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
/// assert_eq!(format!("{key:?}"), "AccountKey(contoso)");
/// key.rotate("CAkKCwwNDg8=")?;
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// Source: REST "Authorize with Shared Key".
#[derive(Clone)]
pub struct AccountKey {
    shared: Arc<Shared>,
}

struct Shared {
    account: String,
    key: RwLock<SigningKey>,
}

impl AccountKey {
    /// A key as the portal gives it, in base64.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the account's name has other characters than ASCII letters,
    /// digits and hyphens, or the key is not base64 or empty.
    pub fn new(account: impl Into<String>, key_base64: &str) -> Result<Self> {
        let account = account.into();
        if account.is_empty() || !account.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(Error::invalid_input(
                "account name: it must have letters, digits and hyphens only",
            ));
        }
        Ok(Self::of(account, read(key_base64)?))
    }

    pub(crate) fn of(account: impl Into<String>, key: SigningKey) -> Self {
        Self {
            shared: Arc::new(Shared {
                account: account.into(),
                key: RwLock::new(key),
            }),
        }
    }

    /// The account's name.
    pub fn account(&self) -> &str {
        &self.shared.account
    }

    /// Puts another key in the place of this one, for all that share it. Each attempt signs with the key of its moment: rotate
    /// to the account's second key and let calls in flight end before the first is made anew.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the key is not base64 or empty; the old one stays.
    pub fn rotate(&self, key_base64: &str) -> Result<()> {
        *self.shared.key.write().unwrap_or_else(PoisonError::into_inner) = read(key_base64)?;
        Ok(())
    }

    /// The base64 of HMAC-SHA256 over the text, by the present key.
    pub(crate) fn sign(&self, string_to_sign: &str) -> String {
        self.shared
            .key
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .sign(string_to_sign)
    }
}

fn read(key_base64: &str) -> Result<SigningKey> {
    SigningKey::from_base64(key_base64).map_err(|e| Error::invalid_input(format!("account key: {e}")))
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountKey({})", self.account())
    }
}
