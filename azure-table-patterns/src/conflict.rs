//! Conflicts: writes to a row that has changed since it was read.
//!
//! Tells them from other errors, and limits and delays the loops that retry after them. Also returns the handle whose
//! reads see all earlier writes, reads a row or inserts it, and awaits concurrent writes.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use azure_table::{
    CallOptions, DateTime, ETag, Error, ErrorKind, Key, LocationMode, ReadEntity, Result, TableClient, TableEntity,
    Versioned,
};

/// The default number of conflicts that one call tolerates.
pub(super) const CONFLICTS: u32 = 16;

/// Returns a handle that reads the primary, whatever the client's mode: the secondary may lack recent writes.
pub(super) fn on_primary<E>(table: &TableClient<E>) -> TableClient<E> {
    table.with(&CallOptions::new().location_mode(LocationMode::PrimaryOnly))
}

/// Returns `None` if another write of the row came first, and this one was certainly not applied.
pub(super) fn was_unchanged<T>(written: Result<T>) -> Result<Option<T>> {
    match written {
        Ok(written) => Ok(Some(written)),
        Err(e) if is_conflict(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The rounds of a loop that reads and writes rows until no other write comes first.
pub(super) struct Rounds(Range<u32>);

impl Rounds {
    pub(super) fn new(most: u32) -> Self {
        Self(0..most)
    }

    /// Begins the next round, after a wait of up to one second. The second round begins at once, because another caller
    /// may have changed the row.
    ///
    /// # Errors
    /// - `Contention`: no round is left.
    pub(super) async fn next(&mut self, row: &impl fmt::Display) -> Result<()> {
        let Some(round) = self.0.next() else {
            let why = format!(
                "{} other writes of {row} came first, or its reads may lag: call again later",
                self.0.end
            );
            return Err(Error::contention(why));
        };
        if let Some(doublings) = round.checked_sub(2) {
            let wait = Duration::from_millis(50) * 2_u32.pow(doublings.min(5));
            tokio::time::sleep(wait.min(Duration::from_secs(1))).await;
        }
        Ok(())
    }
}

/// Returns the stored row with the key of `new`, or inserts `new` and sets `is_inserted`.
///
/// # Errors
/// - `Contention`: others delete the row each time, or reads lag.
/// - `InDoubt`: it was inserted, and a read failed.
pub(super) async fn stored_or_inserted<E: TableEntity + ReadEntity>(
    table: &TableClient<E>,
    new: &E,
    is_inserted: &mut bool,
) -> Result<Versioned<E>> {
    let (key, mut rounds) = (Key::of(new)?, Rounds::new(CONFLICTS));
    let stored = async {
        loop {
            rounds.next(&key).await?;
            if let Some(stored) = table.get(key.clone()).versioned().await? {
                return Ok(stored);
            }
            *is_inserted |= table.insert_if_not_exists(new).await?.is_some();
        }
    };
    stored.await.map_err(|e: Error| e.after_writes(*is_inserted))
}

/// Awaits futures, at most `limit` at a time, and passes on each output. After an error, starts no further future but
/// awaits those in flight: a dropped write would have no known outcome. Returns the [`more_serious`] error.
pub(super) async fn await_each<F: Future>(
    futures: impl IntoIterator<Item = F>,
    limit: usize,
    mut each: impl FnMut(F::Output) -> Result<()>,
) -> Result<()> {
    let (mut next, mut in_flight) = (futures.into_iter().fuse(), FuturesUnordered::new());
    let mut failed = None;
    loop {
        while failed.is_none() && in_flight.len() < limit {
            let Some(future) = next.next() else { break };
            in_flight.push(future);
        }
        let Some(output) = in_flight.next().await else { break };
        if let Err(e) = each(output) {
            failed = Some(more_serious(failed, e));
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Returns the error to report of two: one in doubt, or else the first.
pub(super) fn more_serious(first: Option<Error>, next: Error) -> Error {
    match first {
        // Two doubts are not about one write.
        Some(first) if first.may_have_applied() => first.after_writes(next.may_have_applied()),
        Some(first) if !next.may_have_applied() => first,
        _ => next,
    }
}

/// Returns `true` if the error concerns its row only. For a write in doubt, the last failure decides.
pub(super) fn concerns_row(error: &Error) -> bool {
    let last = error.last_failure();
    matches!(
        last.as_ref().unwrap_or(error).kind(),
        ErrorKind::ConditionNotMet
            | ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidInput
            | ErrorKind::Rejected
            | ErrorKind::Contention
    )
}

/// Returns `true` if another write has changed the row since it was read. A write in doubt is not a conflict.
pub(super) fn is_conflict(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ConditionNotMet | ErrorKind::NotFound)
}

/// Returns a row as it was just written.
pub(super) fn written<R>(entity: R, etag: ETag) -> Versioned<R> {
    Versioned {
        entity,
        etag,
        timestamp: DateTime::MIN,
    }
}
