//! An account's name and key. The key may be rotated while it is in use.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use azure_table_wire::account::endpoint::{DEVELOPMENT_ACCOUNT, is_account_name};
use azure_table_wire::account::signature::{DEVELOPMENT_KEY, SigningKey};
use azure_table_wire::error::{Error, Result};
use zeroize::Zeroizing;

/// An account key that signs requests and shared access signatures.
///
/// `Debug` never shows it, and its bytes are overwritten when the last clone is dropped.
///
/// Clones share one key. [`rotate`](Self::rotate) on one clone changes the key for all clients that hold it, from their
/// next attempt on. Requests in flight finish with the old key. As a `Credential` it signs with SharedKey;
/// `SharedKeyLite` is the other scheme.
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
#[doc(alias("TableSharedKeyCredential", "StorageCredentials"))]
#[derive(Clone)]
pub struct AccountKey {
    shared: Arc<Shared>,
}

struct Shared {
    account: String,
    key: RwLock<Current>,
    /// The number of rotations.
    generation: AtomicU64,
}

struct Current {
    signing: SigningKey,
    /// The key in base64, for a connection string.
    text: Zeroizing<String>,
}

impl AccountKey {
    /// Creates a key from the base64 text that the portal shows.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the account name has characters other than
    ///   ASCII letters, digits and hyphens, or the key is empty or not base64.
    pub fn new(account: impl Into<String>, key_base64: &str) -> Result<Self> {
        let account = account.into();
        if !is_account_name(&account) {
            return Err(Error::invalid_input(
                "account name: it must have letters, digits and hyphens only",
            ));
        }
        Ok(Self::of(account, read(key_base64)?))
    }

    fn of(account: String, current: Current) -> Self {
        Self {
            shared: Arc::new(Shared {
                account,
                key: RwLock::new(current),
                generation: AtomicU64::new(0),
            }),
        }
    }

    /// Returns the account name.
    pub fn account(&self) -> &str {
        &self.shared.account
    }

    /// Replaces this key for all clones that share it.
    ///
    /// Each attempt signs with the key that is current at that moment. If the service rejects an attempt that was
    /// signed before the rotation, the client sends it once more.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the key is empty or not base64. The old key
    ///   stays in use.
    #[doc(alias("SetAccountKey", "UpdateKey"))]
    pub fn rotate(&self, key_base64: &str) -> Result<()> {
        let new = read(key_base64)?;
        *self.shared.key.write().unwrap_or_else(PoisonError::into_inner) = new;
        self.shared.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Returns the key as the portal shows it.
    pub(crate) fn expose(&self) -> Zeroizing<String> {
        self.current().text.clone()
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.shared.key.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the HMAC-SHA256 of the text with the current key, in base64.
    pub(crate) fn sign(&self, string_to_sign: &str) -> String {
        self.current().signing.sign(string_to_sign)
    }
}

/// Returns a number that changes with each rotation.
pub(crate) fn generation(key: &AccountKey) -> u64 {
    key.shared.generation.load(Ordering::Acquire)
}

/// Appends the HMAC-SHA256 of a text in pieces with the current key, in base64.
pub(crate) fn sign_onto(key: &AccountKey, string_to_sign: &[&str], text: &mut String) {
    key.current().signing.sign_onto(string_to_sign, text);
}

/// Returns the public key of emulators.
pub(crate) fn development() -> AccountKey {
    let current = Current {
        signing: SigningKey::development(),
        text: Zeroizing::new(DEVELOPMENT_KEY.to_owned()),
    };
    AccountKey::of(DEVELOPMENT_ACCOUNT.to_owned(), current)
}

fn read(key_base64: &str) -> Result<Current> {
    let signing = SigningKey::from_base64(key_base64).map_err(|e| Error::invalid_input(format!("account key: {e}")))?;
    Ok(Current {
        signing,
        text: Zeroizing::new(key_base64.trim().to_owned()),
    })
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountKey({})", self.account())
    }
}
