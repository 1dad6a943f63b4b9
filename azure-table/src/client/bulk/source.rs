//! Where the operations of a bulk come from, as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::model::error::Result;
use crate::protocol::operation::TableOperation;

/// An iterator, each item made an operation when it is asked for.
pub(crate) struct Items<I, F> {
    items: I,
    make: F,
}

impl<I, F> Items<I, F> {
    pub(crate) fn new(items: impl IntoIterator<IntoIter = I>, make: F) -> Self {
        Self {
            items: items.into_iter(),
            make,
        }
    }
}

/// Items are moved out, nothing is pinned.
impl<I, F> Unpin for Items<I, F> {}

impl<I: Iterator, F: FnMut(I::Item) -> TableOperation> Stream for Items<I, F> {
    type Item = Result<TableOperation>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.items.next();
        Poll::Ready(next.map(|item| Ok((self.make)(item))))
    }
}

/// A stream that cannot fail.
pub(crate) struct Sure<S>(pub(crate) Pin<Box<S>>);

impl<S: Stream<Item = TableOperation>> Stream for Sure<S> {
    type Item = Result<TableOperation>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx).map(|next| next.map(Ok))
    }
}
