//! The data keys of a client.
//!
//! A [`KeyProvider`] wraps data keys. [`DataKeys`] holds the current data key, which encrypts, and the keys that
//! decrypt. The codec is synchronous, so a call gets the data key before it encodes a request, and the keys of a
//! response before it decodes the response. `entity/encryption.rs` defines the format.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock::{self, Instant};
use futures_util::{StreamExt, stream};

use crate::entity::encryption::{DataKey, Opener, OpeningKey, SealingKey, WrappedKey, provider_error};
use crate::pipeline::observer::history::CallResponse;
use crate::pipeline::shared_fetch::SharedFetch;
use crate::write::sealing::keys_in;

/// The number of values for which a data key is used.
const MAX_VALUES: u64 = 1 << 30;
/// The time for which a data key encrypts, and for which an unwrapped one decrypts.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum wait for the provider if the call has no timeout.
const PATIENCE: Duration = Duration::from_secs(60);
/// The maximum number of keys that are kept for decryption, and of new keys in one response.
const MAX_KEYS: usize = 1_000;
/// The number of keys of a response that are unwrapped concurrently.
const CONCURRENCY: usize = 8;

/// Wraps and unwraps the data keys that encrypt properties, for example by Azure Key Vault.
///
/// The client calls [`wrap`](Self::wrap) once for each data key, and [`unwrap`](Self::unwrap) for each data key that a
/// response has and the client does not know. Concurrent writes share one `wrap`, which runs on a task, and its error.
/// Concurrent reads of new data keys may each call `unwrap`. The client never retries a failed call. The call's timeout
/// applies, or 60 seconds.
///
/// ```
/// use azure_table::encryption::{DataKey, KeyProvider, WrappedKey};
/// use azure_table::transport::BoxFuture;
/// use azure_table::{Error, Result};
///
/// /// Keys of a vault, behind its REST API.
/// #[derive(Debug)]
/// struct Vault { key: String }
///
/// impl KeyProvider for Vault {
///     fn wrap<'a>(&'a self, data_key: &'a DataKey) -> BoxFuture<'a, Result<WrappedKey>> {
///         Box::pin(async move {
///             let bytes = self.post("wrapkey", &self.key, data_key.as_bytes()).await?;
///             Ok(WrappedKey { key_id: self.key.clone(), bytes })
///         })
///     }
///
///     fn unwrap<'a>(&'a self, wrapped: &'a WrappedKey) -> BoxFuture<'a, Result<DataKey>> {
///         Box::pin(async move {
///             let bytes = self.post("unwrapkey", &wrapped.key_id, &wrapped.bytes).await?;
///             let bytes = bytes.try_into().map_err(|_| Error::other("the vault returned no key of 256 bits"))?;
///             Ok(DataKey::from_bytes(bytes))
///         })
///     }
/// }
/// # impl Vault { async fn post(&self, _: &str, _: &str, body: &[u8]) -> Result<Vec<u8>> { Ok(body.to_vec()) } }
/// ```
///
/// The client keeps a data key for up to 24 hours, so it encrypts and decrypts after you revoke a wrapping key. Restart
/// all clients to end that sooner. The guide [`encryption`](crate::guide::encryption) describes when keys are fetched,
/// and how they are rotated.
pub trait KeyProvider: fmt::Debug + Send + Sync + 'static {
    /// Wraps a new data key by the current wrapping key, and returns it with the id of that key.
    ///
    /// # Errors
    /// The write that needs the data key fails before anything is sent. Its error has the kind `Other`, and
    /// [`get_ref`](Error::get_ref) returns this one.
    fn wrap<'a>(&'a self, data_key: &'a DataKey) -> BoxFuture<'a, Result<WrappedKey>>;

    /// Unwraps a data key by the wrapping key with this id.
    ///
    /// The id comes from a stored row: check that it is one of yours before you use it as an address.
    ///
    /// # Errors
    /// Each row that needs the data key fails. Its error has the kind `Other`, and [`get_ref`](Error::get_ref) returns
    /// this one.
    fn unwrap<'a>(&'a self, wrapped: &'a WrappedKey) -> BoxFuture<'a, Result<DataKey>>;
}

/// The data keys that all clones of a client share.
pub(crate) struct DataKeys {
    provider: Box<dyn KeyProvider>,
    current: Mutex<Option<Current>>,
    /// The wrapping of the next data key.
    next: SharedFetch<()>,
    known: Mutex<Known>,
}

/// The data key that encrypts.
struct Current {
    key: Arc<SealingKey>,
    until: Instant,
    /// The number of values that it may still encrypt.
    values: u64,
}

/// The keys that decrypt.
#[derive(Default)]
struct Known {
    keys: HashMap<WrappedKey, KnownKey>,
    time: u64,
}

struct KnownKey {
    key: OpeningKey,
    until: Instant,
    /// The time of its last use.
    used: u64,
}

impl DataKeys {
    pub(crate) fn new(provider: impl KeyProvider) -> Self {
        Self {
            provider: Box::new(provider),
            current: Mutex::default(),
            next: SharedFetch::new(),
            known: Mutex::default(),
        }
    }

    /// Returns the data key for this number of values.
    ///
    /// # Errors
    /// The provider's error, or `Timeout`.
    pub(crate) async fn sealing_key(
        self: &Arc<Self>,
        values: u64,
        timeout: Option<Duration>,
    ) -> Result<Arc<SealingKey>> {
        let limit = timeout.unwrap_or(PATIENCE);
        let key = clock::within(limit, self.current_key(values)).await;
        key.unwrap_or_else(|| Err(no_response(limit)))
    }

    async fn current_key(self: &Arc<Self>, values: u64) -> Result<Arc<SealingKey>> {
        let values = values.min(MAX_VALUES);
        loop {
            if let Some(current) = &mut *self.current()
                && current.has(values)
            {
                current.values -= values;
                return Ok(Arc::clone(&current.key));
            }
            self.next.join(|| Arc::clone(self).wrap_next(values)).await?;
        }
    }

    /// Replaces the current data key, unless another call has just done so.
    async fn wrap_next(self: Arc<Self>, values: u64) -> Result<()> {
        if self.current().as_ref().is_some_and(|current| current.has(values)) {
            return Ok(());
        }
        // Its life begins before it is wrapped.
        let until = Instant::now() + LIFE;
        let data_key = DataKey::random()?;
        let wrapped = self.provider.wrap(&data_key).await;
        let wrapped = wrapped.map_err(|e| provider_error(e, "the key provider did not wrap a data key".into()))?;
        let key = Arc::new(SealingKey::new(&data_key, wrapped.clone())?);
        self.known().insert(wrapped, OpeningKey::new(&data_key), until);
        *self.current() = Some(Current {
            key,
            until,
            values: MAX_VALUES,
        });
        Ok(())
    }

    /// Adds the keys of the encrypted values in a response.
    pub(crate) async fn open(&self, received: &mut CallResponse, timeout: Option<Duration>) {
        let Some(table) = received.call.table.clone() else {
            return;
        };
        let mut wanted = keys_in(received.response.body());
        for entity in received.applied.iter().flatten().filter_map(|row| row.entity.as_ref()) {
            wanted.extend(keys_in(entity));
        }
        let mut keys = HashMap::new();
        let mut unknown = Vec::new();
        for wrapped in wanted {
            match self.known().get(&wrapped) {
                Some(key) => _ = keys.insert(wrapped, key),
                None => unknown.push(wrapped),
            }
        }
        // Rows that others wrote must not decide how often the provider is called.
        let count = unknown.len();
        let rest = unknown.split_off(count.min(MAX_KEYS));
        if !rest.is_empty() {
            let failed = OpeningKey::Failed(Arc::new(too_many(count)));
            keys.extend(rest.into_iter().map(|wrapped| (wrapped, failed.clone())));
        }
        let limit = timeout.unwrap_or(PATIENCE);
        let started = Instant::now();
        let unwrapped = stream::iter(unknown).map(|wrapped| async move {
            let left = limit.saturating_sub(started.elapsed());
            let unwrapped = clock::within(left, self.provider.unwrap(&wrapped)).await;
            let key = match unwrapped.unwrap_or_else(|| Err(no_response(limit))) {
                Ok(key) => OpeningKey::new(&key),
                Err(e) => OpeningKey::Failed(Arc::new(e)),
            };
            (wrapped, key)
        });
        let mut unwrapped = unwrapped.buffer_unordered(CONCURRENCY);
        while let Some((wrapped, key)) = unwrapped.next().await {
            // A failure is not kept: the provider may respond to the next call.
            if let OpeningKey::Known(_) = &key {
                self.known().insert(wrapped.clone(), key.clone(), started + LIFE);
            }
            keys.insert(wrapped, key);
        }
        // Set even without keys: a value in the clear is then reported as an error.
        let opener = Arc::new(Opener::new(table, keys));
        for row in received.applied.iter_mut().flatten() {
            row.context.opener = Some(Arc::clone(&opener));
        }
        received.response.extensions_mut().insert(opener);
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    /// Returns `true` if the key may encrypt this number of values.
    fn has(&self, values: u64) -> bool {
        self.values >= values && Instant::now() < self.until
    }
}

impl Known {
    fn get(&mut self, wrapped: &WrappedKey) -> Option<OpeningKey> {
        self.time += 1;
        let known = self
            .keys
            .get_mut(wrapped)
            .filter(|known| Instant::now() < known.until)?;
        known.used = self.time;
        Some(known.key.clone())
    }

    /// Adds a key. If there are too many, removes the least recently used one.
    fn insert(&mut self, wrapped: WrappedKey, key: OpeningKey, until: Instant) {
        self.time += 1;
        if self.keys.len() >= MAX_KEYS && !self.keys.contains_key(&wrapped) {
            let oldest = self.keys.iter().min_by_key(|(_, known)| known.used);
            if let Some(oldest) = oldest.map(|(wrapped, _)| wrapped.clone()) {
                self.keys.remove(&oldest);
            }
        }
        let used = self.time;
        self.keys.insert(wrapped, KnownKey { key, until, used });
    }
}

fn too_many(keys: usize) -> Error {
    let why =
        format!("the response has {keys} new data keys, more than the limit of {MAX_KEYS}: set a smaller `page_size`");
    Error::new(ErrorKind::Other, why)
}

fn no_response(limit: Duration) -> Error {
    Error::new(
        ErrorKind::Timeout,
        format!("no data key within {limit:?}: the key provider did not respond"),
    )
}

impl fmt::Debug for DataKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DataKeys").field(&self.provider).finish()
    }
}
