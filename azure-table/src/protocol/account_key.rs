//! An account's name and key, which may change while it is in use.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use zeroize::Zeroizing;

use crate::model::error::{Error, Result};
use crate::protocol::endpoint::{DEVELOPMENT_ACCOUNT, is_account_name};
use crate::protocol::signature::{DEVELOPMENT_KEY, SigningKey};

/// An account key: signs requests and shared access signatures. Never shown.
///
/// Clones are one key: [`rotate`](Self::rotate) on one changes it for all clients that hold it, from their next attempt
/// on; requests on their way finish with the old one. As a [`Credential`](crate::Credential) it signs with SharedKey;
/// [`SharedKeyLite`](crate::auth::SharedKeyLite) is the other scheme. Its bytes are overwritten when the last clone is
/// dropped.
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
    key: RwLock<Current>,
    /// How often the key was changed.
    generation: AtomicU64,
}

struct Current {
    signing: SigningKey,
    /// As the portal gives it, for a connection string.
    text: Zeroizing<String>,
}

impl AccountKey {
    /// A key as the portal gives it, in base64.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the account's name has other characters than ASCII letters,
    /// digits and hyphens, or the key is not base64 or empty.
    pub fn new(account: impl Into<String>, key_base64: &str) -> Result<Self> {
        let account = account.into();
        if !is_account_name(&account) {
            return Err(Error::invalid_input(
                "account name: it must have letters, digits and hyphens only",
            ));
        }
        Ok(Self::of(account, read(key_base64)?))
    }

    /// The public key of emulators.
    pub(crate) fn development() -> Self {
        let current = Current {
            signing: SigningKey::development(),
            text: Zeroizing::new(DEVELOPMENT_KEY.to_owned()),
        };
        Self::of(DEVELOPMENT_ACCOUNT.to_owned(), current)
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

    /// The account's name.
    pub fn account(&self) -> &str {
        &self.shared.account
    }

    /// Puts another key in the place of this one, for all that share it. Each attempt signs with the key of its moment,
    /// and an attempt that the service refused because it was signed before the change is made once more.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the key is not base64 or empty; the old one stays.
    pub fn rotate(&self, key_base64: &str) -> Result<()> {
        let new = read(key_base64)?;
        *self.shared.key.write().unwrap_or_else(PoisonError::into_inner) = new;
        self.shared.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Changes with each rotation.
    pub(crate) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    /// The key as the portal gives it.
    pub(crate) fn expose(&self) -> Zeroizing<String> {
        self.current().text.clone()
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.shared.key.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The base64 of HMAC-SHA256 over the text, by the present key.
    pub(crate) fn sign(&self, string_to_sign: &str) -> String {
        self.current().signing.sign(string_to_sign)
    }
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
