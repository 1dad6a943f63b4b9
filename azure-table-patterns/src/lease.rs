//! Leases: at most one holder at a time.
//!
//! Defines [`Leases`], [`Lease`] and the row of a lease. `lease/lease_entry.rs` lets several holders share leases, and
//! `term.rs` has the rule for their times.

use std::pin::pin;
use std::time::Duration;

use azure_table::telemetry::OperationContext;
use azure_table::{CallOptions, Guid, Result, TableClient, TableEntity, Versioned};
use futures_util::future::{Either, select};
use tokio::time::{Instant, timeout_at};

use self::lease_entry::LeaseEntry;
use super::conflict::{on_primary, was_unchanged, written};
use super::term::{Term, service_time, until};

pub(super) mod lease_entry;

/// The leases in a table, all with the same duration.
///
/// **Promise.** At most one [`Lease`] on a row is [valid](Lease::is_valid) at a time, whatever the clocks of the
/// machines show. Each has a higher [token](Lease::token) than the previous one.
///
/// For other holders, a lease ends a [margin](Self::margin) after its duration, by the service's clock. Its own holder
/// stops a margin before the end, by its own clock. The clocks must therefore run at the same speed, within the margin,
/// but need not show the same time. The service compares two clocks of its own, of Timestamps and of `Date`: if they
/// differ by more than two margins, two leases may be valid at a time. A suspended process cannot stop in time, and its
/// later writes must be rejected: store the token with your writes, and reject a lower one.
///
/// **Cost.** [`acquire`](Self::acquire): one read, and one write if the lease is free. Each [`renew`](Lease::renew)
/// and [`release`](Lease::release): one write. [`run`](Lease::run) renews after a third of the duration, or after half
/// of the time that is left if that is earlier. Holders that share the leases of a partition [`list`](Self::list) them by one query per 1,000, and take or
/// [`request`](Self::request) an entry by one write.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `acquire`, new row | Get, Insert | 1 |
/// | `acquire`, free | Get, Replace | 2 |
/// | `acquire`, held | Get | 1 |
/// | `renew` | Replace | 1 |
/// | `release` | Replace | 1 |
/// | `create` | Insert | 1 |
/// | `list`, 2 leases | Query | 2 |
/// | `acquire_entry` | Replace | 1 |
/// | `request` | Replace | 1 |
/// | `renew` after a request | Replace, Get, Replace | 3 |
/// | `renew` after a request, observed in `list` | Replace | 1 |
/// | `resume` | Replace | 1 |
///
/// **Crash.** The lease is free a margin after its duration. A lost response to `acquire` or `renew` is read back.
///
/// **Rows.** The row of a lease stays after its end, because it has the token: about 200 bytes, so there is no need to
/// delete it. If the row of a valid lease is deleted, another holder can acquire it at once, so two leases are valid
/// until the first holder renews. The next token is 1 again: the higher tokens that you stored then reject the new
/// holder.
///
/// ```
/// use std::time::Duration;
/// use azure_table_patterns::Leases;
/// use azure_table::{Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let shards = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Shards")?;
/// shards.create_table().await?;
/// let leases = Leases::new(&shards, Duration::from_secs(30));
///
/// let mut lease = leases.acquire("leases", "shard-7", "worker-1").await?.expect("it is free");
/// assert!(leases.acquire("leases", "shard-7", "worker-2").await?.is_none());
///
/// let done = lease.run(async { 6 * 7 }).await;
/// assert_eq!(done, Some(42));
/// lease.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Leases {
    pub(super) table: TableClient<LeaseRow>,
    term: Term,
}

/// An acquired lease. [`release`](Self::release) frees it immediately. A dropped lease is free for others after its
/// duration.
#[derive(Debug)]
pub struct Lease {
    of: Leases,
    pub(super) row: Versioned<LeaseRow>,
    valid_until: Instant,
}

/// The row of a lease. Its Timestamp is the start of the lease.
#[derive(TableEntity, Clone, Debug, Default)]
pub(super) struct LeaseRow {
    #[table(partition_key)]
    pub(super) partition: String,
    #[table(row_key)]
    pub(super) name: String,
    #[table(rename = "Holder")]
    pub(super) holder: Option<String>,
    /// The holder for which the lease is free once it is released.
    #[table(rename = "NextHolder")]
    pub(super) next_holder: Option<String>,
    #[table(rename = "Token")]
    pub(super) token: i64,
    /// The acquisition: the token is the same as before if the row was deleted in between.
    #[table(rename = "Acquired")]
    pub(super) acquired: Option<Guid>,
    #[table(rename = "Milliseconds")]
    pub(super) milliseconds: i64,
    #[table(write_id, rename = "Write")]
    pub(super) write: Option<Guid>,
}

impl Leases {
    /// Creates a handle to the leases in a table, each with the duration `time`.
    ///
    /// The margin is a tenth of the duration, but at least 2 s, or a quarter of a duration below 8 s.
    pub fn new<E: TableEntity>(table: &TableClient<E>, time: Duration) -> Self {
        Self {
            table: on_primary(&table.typed()),
            term: Term::new(time),
        }
    }

    /// Sets the margin: the holder stops this long before the end of the duration, others wait this long after it.
    #[must_use]
    pub fn margin(mut self, margin: Duration) -> Self {
        self.term = self.term.with_margin(margin);
        self
    }

    /// Acquires the lease of this row, if it is free. Returns `None` if another holder has it.
    ///
    /// `holder` is stored for people who look at the table. A missing row is inserted.
    ///
    /// # Errors
    /// - [`InDoubt`](azure_table::ErrorKind::InDoubt): the lease may be held, without a known holder, until its
    ///   duration is over.
    pub async fn acquire(&self, partition_key: &str, row_key: &str, holder: &str) -> Result<Option<Lease>> {
        let context = OperationContext::new();
        let read = self
            .table
            .get((partition_key, row_key))
            .versioned()
            .with(&CallOptions::new().context(&context))
            .await?;
        let Some(row) = read else {
            return self.insert(partition_key, row_key, holder).await;
        };
        let entry = self.entry(row, &context);
        if entry.is_free_for(holder) {
            self.take(entry.row, holder).await
        } else {
            Ok(None)
        }
    }

    /// Returns the entry of a row, by the service's time of the response.
    pub(super) fn entry(&self, row: Versioned<LeaseRow>, context: &OperationContext) -> LeaseEntry {
        let term = Term::stored(row.milliseconds).with_margin(self.term.margin());
        LeaseEntry {
            is_over: term.is_over(&row, service_time(context)),
            row,
        }
    }

    /// Writes this holder into the row, under its ETag.
    pub(super) async fn take(&self, mut row: Versioned<LeaseRow>, holder: &str) -> Result<Option<Lease>> {
        row.holder = Some(holder.to_owned());
        row.next_holder = None;
        row.token += 1;
        row.acquired = Some(Guid::random());
        row.milliseconds = self.term.milliseconds();
        let mut lease = Lease {
            of: self.clone(),
            row,
            valid_until: Instant::now(),
        };
        // The token proves nothing here: another writer that came first raised it too.
        Ok(lease.write_once().await?.then_some(lease))
    }

    /// Returns the row of a lease that nobody has held.
    pub(super) fn new_row(&self, partition_key: &str, row_key: &str) -> LeaseRow {
        LeaseRow {
            partition: partition_key.to_owned(),
            name: row_key.to_owned(),
            milliseconds: self.term.milliseconds(),
            ..LeaseRow::default()
        }
    }

    /// Inserts the row of a lease that did not exist.
    async fn insert(&self, partition_key: &str, row_key: &str, holder: &str) -> Result<Option<Lease>> {
        let entity = LeaseRow {
            holder: Some(holder.to_owned()),
            token: 1,
            acquired: Some(Guid::random()),
            ..self.new_row(partition_key, row_key)
        };
        let valid_until = self.term.valid_until();
        let etag = self.table.insert_if_not_exists(&entity).await?;
        Ok(etag.map(|etag| Lease {
            of: self.clone(),
            row: written(entity, etag),
            valid_until,
        }))
    }
}

impl Lease {
    /// Returns the number of this lease, which is higher than the number of every earlier lease.
    ///
    /// Store it with your writes, and never replace a higher one: see the
    /// [guide](crate::guide::patterns#writes-fenced-by-a-lease).
    pub fn token(&self) -> i64 {
        self.row.token
    }

    /// Returns `true` while no other holder can have the lease.
    pub fn is_valid(&self) -> bool {
        Instant::now() < self.valid_until
    }

    /// Restarts the duration of the lease. Returns `false` if another holder has it now, or its row was deleted.
    ///
    /// # Errors
    /// - The errors of [`replace`](TableClient::replace). The lease is valid for as long as before.
    pub async fn renew(&mut self) -> Result<bool> {
        let is_held = self.write().await?;
        if !is_held {
            self.end();
        }
        Ok(is_held)
    }

    /// Frees the lease immediately.
    ///
    /// # Errors
    /// - The errors of [`replace`](TableClient::replace). The lease is free after its duration.
    pub async fn release(mut self) -> Result<()> {
        self.row.holder = None;
        self.write().await.map(drop)
    }

    /// Runs `work`, and renews the lease after each third of its duration, or after half of the time that is left if that
    /// is earlier.
    ///
    /// Returns `None` if the lease was lost, or could not be renewed before its end. In that case `work` was dropped
    /// when the lease ended for its holder, before it ends for others, and is not polled after that, however late the
    /// poll comes. Like every future, it is dropped at an `await`.
    /// A failed renewal is retried while time remains. When the work ends, this method awaits a renewal in flight.
    pub async fn run<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            let left = self.valid_until.saturating_duration_since(Instant::now());
            let next = Instant::now() + (self.of.term.time() / 3).min(left / 2);
            let done = until(next, work.as_mut()).await;
            if done.is_some() || !self.is_valid() {
                return done;
            }
            // If it fails, it is retried while time remains.
            let end = self.valid_until;
            let renewal = pin!(timeout_at(end, self.renew()));
            if let Either::Left((done, renewal)) = select(pin!(until(end, work.as_mut())), renewal).await {
                // It may be applied, and `release` needs its ETag.
                let _ = renewal.await;
                return done;
            }
        }
    }

    /// Returns `true` if a row has this lease.
    pub(super) fn is_in(&self, row: &LeaseRow) -> bool {
        row.acquired == self.row.acquired && row.holder.is_some()
    }

    /// Notes that another holder has the lease.
    pub(super) fn end(&mut self) {
        self.valid_until = Instant::now();
    }

    /// Writes the row under its ETag. Returns `false` if another holder has the lease.
    async fn write(&mut self) -> Result<bool> {
        if self.write_once().await? {
            return Ok(true);
        }
        // An earlier write of this lease may have been applied although its response was lost, or the lease was
        // requested.
        let read = self.of.table.get(&self.row).versioned().await?;
        match read.filter(|read| self.is_in(read)) {
            Some(read) => (self.row.next_holder, self.row.etag) = (read.entity.next_holder, read.etag),
            None => return Ok(false),
        }
        self.write_once().await
    }

    async fn write_once(&mut self) -> Result<bool> {
        let valid_until = self.of.term.valid_until();
        let written = was_unchanged(self.of.table.replace(&self.row).await)?;
        Ok(written.is_some_and(|etag| {
            self.row.etag = etag;
            self.valid_until = valid_until;
            true
        }))
    }
}
