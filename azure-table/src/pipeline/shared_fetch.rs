//! Work on a task whose outcome its callers share: the fetch of a token.
//!
//! The work runs on a task as long as a caller waits for it. If a caller drove it, a caller that stops polling would
//! block all others. The callers share the receiver of a channel. Once all of them are dropped, the task cancels the
//! work, unless it renews a value that is still valid.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::error::Result;
use azure_table_wire::value::clock::Instant;
use futures_util::FutureExt as _;
use futures_util::future::{Either, Shared, WeakShared, select};
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

use crate::pipeline::observer::trace::TraceSpan;

/// The time for which callers join a fetch. After that, its source may never respond.
const JOINABLE: Duration = Duration::from_secs(30);

/// The outcome as its callers receive it. The channel closes without one if the work panics or its runtime shuts down.
type Receiver<T> = Shared<oneshot::Receiver<Arc<Result<T>>>>;

/// Work whose outcome is sent to its callers.
struct Outcome<T> {
    sender: oneshot::Sender<Arc<Result<T>>>,
    /// The span of the caller that came first.
    span: TraceSpan,
}

impl<T> Outcome<T> {
    /// Creates the channel of an outcome, with its first caller.
    fn channel() -> (Self, Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        let span = TraceSpan::current();
        (Self { sender, span }, receiver.shared())
    }

    /// Runs the work if a caller waits for it. Cancels it once no caller waits.
    async fn run(mut self, work: impl Future<Output = Result<T>>) {
        let work = self.span.around(work);
        let outcome = match select(pin!(self.sender.closed()), pin!(work)).await {
            Either::Left(_) => return,
            Either::Right((outcome, _)) => outcome,
        };
        // The callers may be dropped meanwhile.
        let _ = self.sender.send(Arc::new(outcome));
    }
}

/// The fetches of one value: at most one that callers can join for each runtime. Tasks of another runtime may never
/// run.
pub(crate) struct SharedFetch<T>(Arc<Mutex<Fetches<T>>>);

struct Fetches<T> {
    running: HashMap<runtime::Id, Running<T>>,
    /// The number of fetches so far.
    started: u64,
}

/// A fetch without an outcome.
struct Running<T> {
    number: u64,
    since: Instant,
    /// Lives as long as one of its callers. `None` only for a receiver that has ended.
    receiver: Option<WeakShared<oneshot::Receiver<Arc<Result<T>>>>>,
    /// Lets a fetch continue without a caller, until a later one replaces it.
    _kept: Option<Receiver<T>>,
}

impl<T: Clone + Send + Sync + 'static> SharedFetch<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Fetches {
            running: HashMap::new(),
            started: 0,
        })))
    }

    /// Returns the outcome of the running fetch, or of `fetch` if none is running.
    ///
    /// Another fetch may have ended since the caller looked for its value, so `fetch` looks again.
    pub(crate) async fn join<F>(&self, fetch: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let receiver = self.enter(&fetch, false).map(|(receiver, _)| receiver);
        outcome(receiver, fetch).await
    }

    /// Returns the outcome of `fetch`, or `None` if a fetch is running. A dropped caller does not cancel it.
    pub(crate) async fn start<F>(&self, fetch: impl Fn() -> F) -> Option<Result<T>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let receiver = match self.enter(&fetch, true) {
            Some((_, false)) => return None,
            entered => entered.map(|(receiver, _)| receiver),
        };
        Some(outcome(receiver, fetch).await)
    }

    /// Joins the running fetch, or starts one. Returns its receiver, and `true` if it was started. Returns `None`
    /// without a runtime.
    fn enter<F>(&self, fetch: impl FnOnce() -> F, keeps: bool) -> Option<(Receiver<T>, bool)>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let runtime = Handle::try_current().ok()?;
        let mut fetches = self.lock();
        if let Some(receiver) = fetches.running.get(&runtime.id()).and_then(Running::join) {
            return Some((receiver, false));
        }
        fetches.started += 1;
        let number = fetches.started;
        let (sender, receiver) = Outcome::channel();
        let running = Running {
            number,
            since: Instant::now(),
            receiver: receiver.downgrade(),
            _kept: keeps.then(|| receiver.clone()),
        };
        fetches.running.insert(runtime.id(), running);
        drop(fetches);
        let entry = Entry {
            fetches: self.clone(),
            runtime: runtime.id(),
            number,
        };
        let work = fetch();
        runtime.spawn(async move {
            let _entry = entry;
            sender.run(work).await;
        });
        Some((receiver, true))
    }
}

/// Waits for the outcome. Fetches here without a runtime, or if the task ended without an outcome.
async fn outcome<T: Clone, F: Future<Output = Result<T>>>(
    receiver: Option<Receiver<T>>,
    fetch: impl Fn() -> F,
) -> Result<T> {
    if let Some(receiver) = receiver
        && let Ok(outcome) = receiver.await
    {
        return match &*outcome {
            Ok(value) => Ok(value.clone()),
            Err(e) => Err(e.copy()),
        };
    }
    fetch().await
}

impl<T> SharedFetch<T> {
    fn lock(&self) -> MutexGuard<'_, Fetches<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for SharedFetch<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Shows no values.
impl<T> fmt::Debug for SharedFetch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedFetch({} running)", self.lock().running.len())
    }
}

impl<T> Running<T> {
    /// Joins the fetch, unless it is too old or all its callers are gone.
    fn join(&self) -> Option<Receiver<T>> {
        let receiver = self.receiver.as_ref().filter(|_| self.since.elapsed() < JOINABLE)?;
        receiver.upgrade()
    }
}

/// The entry of a fetch. Removed when its task ends, unless a later fetch has replaced it.
struct Entry<T> {
    fetches: SharedFetch<T>,
    runtime: runtime::Id,
    number: u64,
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        let mut fetches = self.fetches.lock();
        if fetches
            .running
            .get(&self.runtime)
            .is_some_and(|running| running.number == self.number)
        {
            fetches.running.remove(&self.runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use azure_table_wire::value::clock;
    use tokio::runtime::Builder;
    use tokio::time::timeout;

    use super::*;

    const TIME: Duration = Duration::from_secs(40);

    /// Returns the number of its fetch after `TIME`.
    async fn number(started: Arc<AtomicU32>) -> Result<u32> {
        let number = started.fetch_add(1, Ordering::SeqCst) + 1;
        clock::sleep(TIME).await;
        Ok(number)
    }

    #[tokio::test(start_paused = true)]
    async fn fetch_is_joined_for_half_a_minute() {
        let (fetches, started) = (SharedFetch::new(), Arc::default());
        let joined = async |seconds| {
            clock::sleep(Duration::from_secs(seconds)).await;
            fetches.join(|| number(Arc::clone(&started))).await.unwrap()
        };
        let numbers = futures::join!(joined(0), joined(29), joined(31), joined(41));
        assert_eq!(numbers, (1, 1, 2, 2));
        tokio::task::yield_now().await;
        assert_eq!(format!("{fetches:?}"), "SharedFetch(0 running)");
    }

    #[tokio::test(start_paused = true)]
    async fn fetch_is_cancelled_once_no_caller_waits() {
        let (fetches, started) = (SharedFetch::new(), Arc::default());
        let left = async |seconds| {
            let joined = fetches.join(|| number(Arc::clone(&started)));
            timeout(Duration::from_secs(seconds), joined).await.is_err()
        };
        let later = async {
            clock::sleep(Duration::from_secs(2)).await;
            Arc::strong_count(&started)
        };
        assert_eq!(futures::join!(left(1), left(3), later), (true, true, 2));
        tokio::task::yield_now().await;
        assert_eq!((Arc::strong_count(&started), started.load(Ordering::SeqCst)), (1, 1));
        assert!(fetches.start(|| async { Ok(7) }).await.is_some(), "none is running");
    }

    #[tokio::test]
    async fn second_start_does_not_wait() {
        let fetches = SharedFetch::new();
        let (first, second) = futures::join!(fetches.start(|| async { Ok(1) }), fetches.start(|| async { Ok(2) }));
        assert_eq!((first.unwrap().unwrap(), second.is_none()), (1, true));
    }

    #[test]
    fn runtime_that_is_not_driven_blocks_no_other() {
        let (fetches, started) = (SharedFetch::new(), Arc::default());
        let runtime = || {
            Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap()
        };
        let (one, two) = (runtime(), runtime());
        let mut waiting = Box::pin(fetches.join(|| number(Arc::clone(&started))));
        one.block_on(async { assert!(futures::poll!(&mut waiting).is_pending()) });
        two.block_on(fetches.join(|| number(Arc::clone(&started)))).unwrap();
        // A caller whose task is gone fetches for itself.
        drop(one);
        two.block_on(waiting).unwrap();
        assert_eq!(
            futures::executor::block_on(fetches.join(|| async { Ok(7) })).unwrap(),
            7
        );
    }
}
