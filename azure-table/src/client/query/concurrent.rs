//! Polls sources of items concurrently, up to a limit.
//!
//! It yields the items source by source, or as they arrive. Sources that run as tasks make progress while the reader is
//! busy. Each source has its own waker, so that the cost of an item does not depend on the number of sources.
//!
//! `buffered` and `buffer_unordered` of futures-util do not suffice, because they start another source only when no
//! finished source is left to yield. A busy reader then waits once per round. In a test with 160 reads of 20 ms, 16 at
//! a time, and 2 ms of work for each, they took 520 ms instead of 340 ms (`tests/faults/prefetch.rs`). Also, a source
//! here yields many items, such as a chain of pages.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

/// The default number of concurrent sources.
pub(crate) const CONCURRENCY: usize = 16;

/// A source that yields items one by one.
pub(crate) trait ItemSource {
    type Item;

    /// Returns the next item, or `None` after the last. Not polled again after that.
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Self::Item>>;

    /// Returns `true` if the last item is known to have been yielded.
    fn is_over(&self) -> bool;
}

/// The order of the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The items of the first source, then the items of the second.
    OfKeys,
    AsTheyCome,
}

/// Sources `S`, each of which is built from a `W` when its turn comes.
///
/// A source that waits for its turn to yield holds one item.
pub(crate) struct Concurrent<W, S: ItemSource> {
    waiting: VecDeque<W>,
    running: FuturesUnordered<NextItem<S>>,
    /// The sources that have an item or have ended, by their place: in the order of the sources or of arrival.
    ready: BTreeMap<usize, Ready<S>>,
    /// The number of sources that run or hold an item.
    active: usize,
    /// The place of the next source that begins.
    started: usize,
    /// In the order of the sources, the place of the first that is not over.
    first: usize,
    pub(crate) concurrency: usize,
    pub(crate) order: Order,
}

/// The next item of a source.
struct NextItem<S> {
    place: usize,
    /// `None` after the item.
    source: Option<S>,
}

struct Ready<S: ItemSource> {
    /// `None` if the source ended without one.
    item: Option<S::Item>,
    /// The source; `None` if the item is its last.
    source: Option<S>,
}

impl<W, S: ItemSource> Concurrent<W, S> {
    pub(crate) fn new(waiting: VecDeque<W>, concurrency: usize, order: Order) -> Self {
        Self {
            waiting,
            running: FuturesUnordered::new(),
            ready: BTreeMap::new(),
            active: 0,
            started: 0,
            first: 0,
            concurrency: concurrency.max(1),
            order,
        }
    }

    /// Returns the number of sources that have items left.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.active
    }

    /// Returns the number of further sources that can run.
    pub(crate) fn free(&self) -> usize {
        self.concurrency.saturating_sub(self.len())
    }

    /// Adds a source, which begins when its turn comes.
    pub(crate) fn push(&mut self, next: W) {
        self.waiting.push_back(next);
    }

    /// Drops the sources that `is_stopped` selects, unless they hold an item.
    pub(crate) fn stop(&mut self, is_stopped: impl Fn(&S) -> bool) {
        for next in self.running.iter_mut() {
            if next.source.as_ref().is_some_and(&is_stopped) {
                next.source = None;
            }
        }
    }

    /// Drops the remaining sources.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(VecDeque::new(), self.concurrency, self.order);
    }

    pub(crate) fn into_waiting(self) -> VecDeque<W> {
        self.waiting
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, mut begin: impl FnMut(W) -> S) -> Poll<Option<S::Item>> {
        loop {
            while self.active < self.concurrency
                && let Some(next) = self.waiting.pop_front()
            {
                self.run(self.started, begin(next));
                self.started += 1;
                self.active += 1;
            }
            // Starts everything that can run before it yields an item, because the reader may be busy with the item.
            match Pin::new(&mut self.running).poll_next(cx) {
                Poll::Ready(Some((place, ready))) => self.take(place, ready),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        match self.next_item() {
            Some(item) => Poll::Ready(Some(item)),
            None if self.active == 0 => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn run(&self, place: usize, source: S) {
        let source = Some(source);
        self.running.push(NextItem { place, source });
    }

    /// Keeps an item until its turn.
    fn take(&mut self, place: usize, ready: Ready<S>) {
        let has_item = ready.item.is_some();
        self.active -= usize::from(!has_item);
        match self.order {
            Order::OfKeys => {
                self.ready.insert(place, ready);
            }
            Order::AsTheyCome if has_item => {
                let behind = self.ready.last_key_value().map_or(0, |(last, _)| last + 1);
                self.ready.insert(behind, ready);
            }
            Order::AsTheyCome => {}
        }
    }

    /// Returns the item whose turn it is, and starts its source again.
    fn next_item(&mut self) -> Option<S::Item> {
        loop {
            let (place, ready) = match self.order {
                Order::OfKeys => (self.first, self.ready.remove(&self.first)?),
                Order::AsTheyCome => self.ready.pop_first()?,
            };
            match ready.source {
                Some(source) => self.run(place, source),
                None => {
                    self.first += 1;
                    self.active -= usize::from(ready.item.is_some());
                }
            }
            if ready.item.is_some() {
                return ready.item;
            }
        }
    }
}

/// No source is ever pinned: it is polled by reference and moved out.
impl<S> Unpin for NextItem<S> {}

impl<S: ItemSource> Future for NextItem<S> {
    type Output = (usize, Ready<S>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let item = match &mut self.source {
            Some(source) => ready!(source.poll_item(cx)),
            None => None,
        };
        let source = self.source.take();
        let source = source.filter(|source| item.is_some() && !source.is_over());
        Poll::Ready((self.place, Ready { item, source }))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::task::Waker;

    use super::*;

    /// A source of two items. Each is ready once the source is woken.
    struct Woken<'a> {
        polls: &'a Cell<usize>,
        wakers: &'a RefCell<VecDeque<Waker>>,
        is_registered: bool,
        left: usize,
        number: usize,
    }

    impl ItemSource for Woken<'_> {
        type Item = usize;

        fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<usize>> {
            self.polls.set(self.polls.get() + 1);
            self.is_registered = !self.is_registered;
            if self.is_registered {
                self.wakers.borrow_mut().push_back(cx.waker().clone());
                return Poll::Pending;
            }
            self.left -= 1;
            Poll::Ready(Some(self.number))
        }

        fn is_over(&self) -> bool {
            self.left == 0
        }
    }

    #[test]
    fn item_costs_two_polls_for_any_number_of_sources() {
        const SOURCES: usize = 20_000;
        for order in [Order::OfKeys, Order::AsTheyCome] {
            for concurrency in [1, 16, 10_000] {
                let (polls, wakers) = (Cell::new(0), RefCell::new(VecDeque::new()));
                let begin = |number| Woken {
                    polls: &polls,
                    wakers: &wakers,
                    is_registered: false,
                    left: 2,
                    number,
                };
                let mut all = Concurrent::new((0..SOURCES).collect(), concurrency, order);
                let mut cx = Context::from_waker(Waker::noop());
                let mut items = Vec::new();
                loop {
                    match all.poll(&mut cx, begin) {
                        Poll::Ready(Some(item)) => items.push(item),
                        Poll::Ready(None) => break,
                        Poll::Pending => wakers.borrow_mut().pop_front().unwrap().wake(),
                    }
                }
                assert_eq!(polls.get(), 4 * SOURCES, "{order:?} {concurrency}");
                assert_eq!((items.len(), all.len()), (2 * SOURCES, 0));
                if order == Order::OfKeys {
                    assert!(items.is_sorted());
                }
            }
        }
    }
}
