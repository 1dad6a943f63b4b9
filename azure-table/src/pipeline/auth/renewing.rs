//! A cached value that all calls share and that is fetched again before it expires.
//!
//! All waiting calls share one fetch and its error. It starts early enough that none sees the value expire. A value
//! that the service rejects is fetched again. The credential decides what to fetch, and how.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use azure_table_wire::error::Result;
use azure_table_wire::value::clock::{self, Instant};

use crate::pipeline::shared_fetch::SharedFetch;

/// The time before the expiry at which a new value is fetched, or half of the value's life if that is sooner.
const AHEAD: Duration = Duration::from_secs(5 * 60);

/// The maximum wait for a new value while the old one is valid. Its fetch continues.
const PATIENCE: Duration = Duration::from_secs(5);
/// The minimum time to use a new value, even if it looks expired because this machine's clock is ahead.
const LEAST: Duration = Duration::from_secs(5);
/// The pause after a failed fetch while the old value is valid.
const PAUSE: Duration = Duration::from_secs(30);

/// A value with an expiry time.
#[derive(Debug)]
pub(crate) struct Fetched<T> {
    pub(crate) value: T,
    /// The expiry time; `None` if the value has none.
    pub(crate) expires: Option<SystemTime>,
}

#[derive(Debug)]
struct Entry<T> {
    value: Arc<T>,
    /// The time at which a new value is fetched, while other calls still use this one.
    stale: Option<SystemTime>,
    expires: Option<SystemTime>,
}

/// Holds the current value.
#[derive(Debug)]
pub(crate) struct Renewing<T> {
    entry: RwLock<Option<Entry<T>>>,
    fetches: SharedFetch<Arc<T>>,
    generation: AtomicU64,
}

impl<T: Send + Sync + 'static> Renewing<T> {
    pub(crate) fn new() -> Self {
        Self {
            entry: RwLock::new(None),
            fetches: SharedFetch::new(),
            generation: AtomicU64::new(0),
        }
    }

    /// Returns a number that changes with each new value and when a value is discarded.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns the current value, or one from `fetch`.
    ///
    /// One call starts a fetch. While the old value is still valid, the others do not wait for it.
    pub(crate) async fn get<F>(
        self: &Arc<Self>,
        now: SystemTime,
        fetch: impl Fn() -> F + Clone + Send + 'static,
    ) -> Result<Arc<T>>
    where
        F: Future<Output = Result<Fetched<T>>> + Send + 'static,
    {
        let old = match self.present(now) {
            Some((value, false)) => return Ok(value),
            old => old.map(|(value, _)| value),
        };
        let renew = || Arc::clone(self).renew(now, fetch.clone());
        let Some(old) = old else {
            return self.fetches.join(renew).await;
        };
        match clock::within(PATIENCE, self.fetches.start(renew)).await {
            Some(Some(Ok(value))) => return Ok(value),
            Some(None) => {}
            Some(Some(Err(_))) | None => self.postpone(now),
        }
        Ok(old)
    }

    /// Fetches a value, unless another call has just fetched one.
    async fn renew<F>(self: Arc<Self>, now: SystemTime, fetch: impl Fn() -> F) -> Result<Arc<T>>
    where
        F: Future<Output = Result<Fetched<T>>>,
    {
        if let Some((value, false)) = self.present(now) {
            return Ok(value);
        }
        let started = Instant::now();
        let fetched = fetch().await?;
        Ok(self.put(now + started.elapsed(), fetched))
    }

    /// Pauses fetching: the source has just failed, and the value is still valid.
    fn postpone(&self, now: SystemTime) {
        let mut entry = self.entry.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entry.as_mut() {
            entry.stale = Some(now + PAUSE);
        }
    }

    /// Returns the value that was used last, even if it has expired.
    pub(crate) fn peek(&self) -> Option<Arc<T>> {
        let entry = self.entry.read().unwrap_or_else(PoisonError::into_inner);
        entry.as_ref().map(|entry| Arc::clone(&entry.value))
    }

    /// Discards the value if it is still the one of this generation.
    pub(crate) fn forget(&self, generation: u64) {
        let mut entry = self.entry.write().unwrap_or_else(PoisonError::into_inner);
        if self.generation() == generation && entry.is_some() {
            *entry = None;
            self.generation.fetch_add(1, Ordering::Release);
        }
    }

    /// Returns the value unless it has expired, and `true` if a new one should be fetched.
    fn present(&self, now: SystemTime) -> Option<(Arc<T>, bool)> {
        let entry = self.entry.read().unwrap_or_else(PoisonError::into_inner);
        let is_past = |end: &Option<SystemTime>| end.is_some_and(|end| end <= now);
        let entry = entry.as_ref().filter(|entry| !is_past(&entry.expires))?;
        Some((Arc::clone(&entry.value), is_past(&entry.stale)))
    }

    fn put(&self, now: SystemTime, fetched: Fetched<T>) -> Arc<T> {
        let value = Arc::new(fetched.value);
        let expires = fetched.expires.map(|expires| expires.max(now + LEAST));
        let stale = expires.map(|expires| {
            let life = expires.duration_since(now).unwrap_or_default();
            now + life.saturating_sub(AHEAD).max(life / 2)
        });
        let mut entry = self.entry.write().unwrap_or_else(PoisonError::into_inner);
        *entry = Some(Entry {
            value: Arc::clone(&value),
            stale,
            expires,
        });
        self.generation.fetch_add(1, Ordering::Release);
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use azure_table_wire::error::Error;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn concurrent_callers_fetch_once() {
        let renewing = Arc::new(Renewing::new());
        let fetches = Arc::new(AtomicUsize::new(0));
        let now = SystemTime::now();
        let callers = (0..16).map(|_| {
            let (renewing, fetches) = (Arc::clone(&renewing), Arc::clone(&fetches));
            tokio::spawn(async move {
                let fetch = move || {
                    let fetches = Arc::clone(&fetches);
                    async move {
                        tokio::task::yield_now().await;
                        Ok(Fetched {
                            value: fetches.fetch_add(1, Ordering::SeqCst),
                            expires: Some(now + HOUR),
                        })
                    }
                };
                *renewing.get(now, fetch).await.unwrap()
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            assert_eq!(caller.await.unwrap(), 0);
        }
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn value_is_fetched_before_it_expires_and_after_a_rejection() {
        let renewing = Arc::new(Renewing::new());
        let start = SystemTime::UNIX_EPOCH + HOUR;
        let fetched = move |value| Fetched {
            value,
            expires: Some(start + HOUR),
        };
        let get = async |after: Duration, value| {
            *renewing
                .get(start + after, move || async move { Ok(fetched(value)) })
                .await
                .unwrap()
        };
        assert_eq!(get(Duration::ZERO, 1).await, 1);
        assert_eq!(get(HOUR / 2, 2).await, 1);
        assert_eq!(get(HOUR - AHEAD, 3).await, 3);
        let generation = renewing.generation();
        renewing.forget(generation - 1);
        assert_eq!(get(Duration::ZERO, 4).await, 3, "an older one was refused");
        renewing.forget(generation);
        assert_ne!(renewing.generation(), generation);
        assert_eq!(get(Duration::ZERO, 5).await, 5);
    }

    #[tokio::test]
    async fn failed_fetch_is_ignored_while_the_old_value_is_valid() {
        let renewing = Arc::new(Renewing::new());
        let start = SystemTime::UNIX_EPOCH + HOUR;
        let good = move || async move {
            Ok(Fetched {
                value: 1,
                expires: Some(start + HOUR),
            })
        };
        let bad = || async { Err(Error::invalid_input("no source")) };
        assert_eq!(*renewing.get(start, good).await.unwrap(), 1);
        let soon = start + HOUR - AHEAD;
        assert_eq!(*renewing.get(soon, bad).await.unwrap(), 1);
        let unrequested = || async { unreachable!("the source has just failed") };
        assert_eq!(*renewing.get(soon + PAUSE / 2, unrequested).await.unwrap(), 1);
        assert!(renewing.get(start + HOUR, bad).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_source_is_not_waited_for_while_the_old_value_is_valid() {
        let renewing = Arc::new(Renewing::new());
        let start = SystemTime::UNIX_EPOCH + HOUR;
        let good = move || async move {
            Ok(Fetched {
                value: 1,
                expires: Some(start + HOUR),
            })
        };
        assert_eq!(*renewing.get(start, good).await.unwrap(), 1);
        let hangs = || std::future::pending();
        let requested = tokio::time::Instant::now();
        assert_eq!(*renewing.get(start + HOUR - AHEAD, hangs).await.unwrap(), 1);
        assert_eq!(requested.elapsed(), PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_source_renews_the_value_before_it_expires() {
        let renewing = Arc::new(Renewing::new());
        let start = SystemTime::UNIX_EPOCH + HOUR;
        let slow = |value| {
            move || async move {
                clock::sleep(2 * PATIENCE).await;
                Ok(Fetched {
                    value,
                    expires: Some(start + value * HOUR),
                })
            }
        };
        assert_eq!(*renewing.get(start, slow(1)).await.unwrap(), 1);
        let soon = start + HOUR - AHEAD;
        assert_eq!(*renewing.get(soon, slow(2)).await.unwrap(), 1);
        clock::sleep(2 * PATIENCE).await;
        assert_eq!(renewing.peek().as_deref(), Some(&2));
    }
}
