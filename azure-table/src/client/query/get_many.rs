//! Reads many entities by their keys concurrently, with one point read each.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::ops::get_entity::GetEntity;
use crate::client::poll::total_timeout::{TotalTimeout, total_timeout};
use crate::client::query::concurrent::{CONCURRENCY, Concurrent, ItemSource, Order};
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::ReadEntity;
use crate::entity::versioned::Versioned;
use crate::key::entity_key::Key;
use crate::pipeline::options::{CallOptions, call_options};

/// Reads entities by their keys, concurrently.
///
/// A [`Stream`] of each key with its entity, or `None` if absent, in the order of the keys. Sends one request per key.
/// See [`TableClient::get_many`].
///
/// A failed read is yielded as an error, and the other reads continue. Reads start when the stream is polled. At most
/// [`concurrency`](Self::concurrency) of them are in flight or wait to be yielded.
#[must_use = "nothing is sent until it is polled"]
pub struct GetMany<E, P = E> {
    table: TableClient<E>,
    get: fn(&TableClient<E>, Key<E>) -> GetEntity<E, P>,
    options: CallOptions,
    total: TotalTimeout,
    reads: Concurrent<Result<Key<E>>, Read<E, P>>,
}

/// The read of a key.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are reads, and no more than go on at once"
)]
enum Read<E, P> {
    Rejected(Error),
    Reading(Key<E>, GetEntity<E, P>),
    Over,
}

/// A key with its entity, or the error of its read.
type KeyRead<E, P> = Result<(Key<E>, Option<P>)>;

impl<E, P> ItemSource for Read<E, P> {
    type Item = KeyRead<E, P>;

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<KeyRead<E, P>>> {
        let read = match self {
            Self::Reading(_, get) => Some(ready!(Pin::new(get).poll(cx))),
            _ => None,
        };
        Poll::Ready(match (mem::replace(self, Self::Over), read) {
            (Self::Reading(key, _), Some(read)) => Some(read.map(|entity| (key, entity))),
            (Self::Rejected(e), _) => Some(Err(e)),
            _ => None,
        })
    }

    fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }
}

call_options!(GetMany[E, P], options);
total_timeout!(
    GetMany[E, P],
    total,
    "At the deadline, the item of each key not yet read is an error of kind `Timeout`. No further request is sent."
);

fn get<E: ReadEntity>(table: &TableClient<E>, key: Key<E>) -> GetEntity<E> {
    GetEntity::new(table.pipeline(), table.name(), Ok(key))
}

impl<E: ReadEntity> GetMany<E> {
    pub(crate) fn new(table: &TableClient<E>, keys: VecDeque<Result<Key<E>>>) -> Self {
        Self {
            table: table.clone(),
            get,
            options: CallOptions::new(),
            total: TotalTimeout::default(),
            reads: Concurrent::new(keys, CONCURRENCY, Order::OfKeys),
        }
    }

    /// Reads each entity with its ETag and Timestamp.
    pub fn versioned(self) -> GetMany<E, Versioned<E>> {
        let (concurrency, order) = (self.reads.concurrency, self.reads.order);
        GetMany {
            table: self.table,
            get: |table, key| get(table, key).versioned(),
            options: self.options,
            total: self.total,
            reads: Concurrent::new(self.reads.into_waiting(), concurrency, order),
        }
    }
}

impl<E, P> GetMany<E, P> {
    /// Sets the number of concurrent reads: 16 by default, at least 1.
    pub fn concurrency(mut self, reads: usize) -> Self {
        self.reads.concurrency = reads.max(1);
        self
    }

    /// Yields the entities as they arrive, not in the order of the keys.
    pub fn unordered(mut self) -> Self {
        self.reads.order = Order::AsTheyCome;
        self
    }

    /// Returns the number of requests left, not counting retries.
    pub fn requests(&self) -> usize {
        self.reads.len()
    }

    /// Returns the next key with its entity, or `None` after the last.
    ///
    /// Requests: 1 per key. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the errors of [`TableClient::get`] for this key. The keys after it can still be read.
    pub async fn try_next(&mut self) -> Result<Option<(Key<E>, Option<P>)>> {
        poll_fn(|cx| self.poll_one(cx)).await.transpose()
    }

    /// Returns all keys with their entities.
    ///
    /// Requests: 1 per key. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the first error. Reads in flight are dropped.
    pub async fn all(mut self) -> Result<Vec<(Key<E>, Option<P>)>> {
        let mut all = Vec::with_capacity(self.requests());
        while let Some(one) = self.try_next().await? {
            all.push(one);
        }
        Ok(all)
    }

    fn poll_one(&mut self, cx: &mut Context<'_>) -> Poll<Option<KeyRead<E, P>>> {
        self.total.begin();
        let (table, options, total) = (&self.table, &self.options, self.total);
        let read = ready!(self.reads.poll(cx, |key| match key.map(|key| (key, total.check())) {
            Ok((key, Ok(()))) => {
                let get = (self.get)(table, key.clone()).with(options).within(&total);
                Read::Reading(key, get.in_task())
            }
            Ok((key, Err(e))) => {
                let e = e.in_operation(OperationKind::Get, Some(table.name().as_str()));
                Read::Rejected(e.at_entity(key.partition_key(), key.row_key()))
            }
            Err(e) => Read::Rejected(e),
        }));
        Poll::Ready(read.map(|read| read.map_err(|e| total.name(e))))
    }
}

/// No entity is ever pinned: they are moved out.
impl<E, P> Unpin for GetMany<E, P> {}

impl<E, P> Stream for GetMany<E, P> {
    type Item = Result<(Key<E>, Option<P>)>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_one(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.requests(), Some(self.requests()))
    }
}

impl<E, P> FusedStream for GetMany<E, P> {
    fn is_terminated(&self) -> bool {
        self.requests() == 0
    }
}

impl<E, P> fmt::Debug for GetMany<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetMany")
            .field("table", &self.table.name().as_str())
            .field("requests", &self.requests())
            .field("concurrency", &self.reads.concurrency)
            .finish_non_exhaustive()
    }
}
