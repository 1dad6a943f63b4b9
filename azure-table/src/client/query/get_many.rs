//! Many entities by their keys: a point read each, several at once.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::ops::get_entity::GetEntity;
use crate::client::table::TableClient;
use crate::model::entity::ReadEntity;
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::model::versioned::Versioned;
use crate::pipeline::options::{CallOptions, call_options};

/// How many reads are on their way at once, by default.
const CONCURRENCY: usize = 16;

/// Reads entities by their keys, several at once: a [`Stream`] of each key with its entity, `None` where there is none, in the
/// order of the keys. One request for each key. See [`TableClient::get_many`].
///
/// A read that fails is an item, and the others go on. Reads begin when the stream is polled, and no more than
/// [`concurrency`](Self::concurrency) are begun before their items are taken.
#[must_use = "nothing is sent until it is polled"]
pub struct GetMany<E, P = E> {
    table: TableClient<E>,
    keys: VecDeque<Result<Key<E>>>,
    get: fn(&TableClient<E>, Key<E>) -> GetEntity<E, P>,
    concurrency: usize,
    options: CallOptions,
    running: VecDeque<Running<E, P>>,
}

/// A read that has begun, or its outcome, which waits for those before it.
enum Running<E, P> {
    Reading(Key<E>, GetEntity<E, P>),
    Read(Outcome<E, P>),
}

/// A key with its entity, or why it was not read.
type Outcome<E, P> = Result<(Key<E>, Option<P>)>;

call_options!(GetMany[E, P], options);

impl<E: ReadEntity> GetMany<E> {
    pub(crate) fn new(table: &TableClient<E>, keys: VecDeque<Result<Key<E>>>) -> Self {
        Self {
            table: table.clone(),
            keys,
            get: |table, key| table.get(key),
            concurrency: CONCURRENCY,
            options: CallOptions::new(),
            running: VecDeque::new(),
        }
    }

    /// Reads each entity with its ETag and Timestamp.
    pub fn versioned(self) -> GetMany<E, Versioned<E>> {
        GetMany {
            table: self.table,
            keys: self.keys,
            get: |table, key| table.get(key).versioned(),
            concurrency: self.concurrency,
            options: self.options,
            running: VecDeque::new(),
        }
    }
}

impl<E, P> GetMany<E, P> {
    /// How many reads are on their way at once; 16 by default, at least one.
    pub fn concurrency(mut self, reads: usize) -> Self {
        self.concurrency = reads.max(1);
        self
    }

    /// How many requests it takes, retries aside.
    pub fn requests(&self) -> usize {
        self.keys.len() + self.running.len()
    }

    /// The next key with its entity; `None` after the last.
    ///
    /// # Errors
    /// Those of [`TableClient::get`], for this key; the ones after it can still be read.
    pub async fn try_next(&mut self) -> Result<Option<(Key<E>, Option<P>)>> {
        poll_fn(|cx| self.poll_one(cx)).await.transpose()
    }

    /// All keys with their entities.
    ///
    /// # Errors
    /// The first that fails; reads on their way are dropped.
    pub async fn all(mut self) -> Result<Vec<(Key<E>, Option<P>)>> {
        let mut all = Vec::with_capacity(self.requests());
        while let Some(one) = self.try_next().await? {
            all.push(one);
        }
        Ok(all)
    }

    fn poll_one(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outcome<E, P>>> {
        while self.running.len() < self.concurrency {
            let next = match self.keys.pop_front() {
                None => break,
                Some(Ok(key)) => {
                    let get = (self.get)(&self.table, key.clone()).with(&self.options);
                    Running::Reading(key, get)
                }
                Some(Err(e)) => Running::Read(Err(e)),
            };
            self.running.push_back(next);
        }
        for running in &mut self.running {
            if let Running::Reading(key, get) = running
                && let Poll::Ready(read) = Pin::new(get).poll(cx)
            {
                *running = Running::Read(read.map(|entity| (key.clone(), entity)));
            }
        }
        match self.running.front() {
            None => Poll::Ready(None),
            Some(Running::Reading(..)) => Poll::Pending,
            Some(Running::Read(_)) => match self.running.pop_front() {
                Some(Running::Read(read)) => Poll::Ready(Some(read)),
                _ => Poll::Ready(Some(Err(Error::invalid_input("the read was lost")))),
            },
        }
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
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
