//! Leases that several holders share among themselves.
//!
//! With a [`LeaseEntry`], holders list the leases of a partition, take a free one, ask another holder to hand one over,
//! and resume the lease of an earlier process.

use azure_table::telemetry::OperationContext;
use azure_table::{CallOptions, Result, Versioned};

use super::super::conflict::was_unchanged;
use super::{Lease, LeaseRow, Leases};

/// A lease as [`Leases::list`] read it.
#[derive(Clone, Debug)]
pub struct LeaseEntry {
    pub(super) row: Versioned<LeaseRow>,
    /// `true` if the duration of the lease had elapsed when it was read.
    pub(super) is_over: bool,
}

impl LeaseEntry {
    /// Returns the RowKey of the lease.
    pub fn row_key(&self) -> &str {
        &self.row.name
    }

    /// Returns the last holder, unless it released the lease. Its duration may have elapsed.
    pub fn holder(&self) -> Option<&str> {
        self.row.holder.as_deref()
    }

    /// Returns the holder that [requested](Leases::request) the lease.
    pub fn next_holder(&self) -> Option<&str> {
        self.row.next_holder.as_deref()
    }

    /// Returns the [token](Lease::token) of the last holder, or 0 if nobody has held the lease.
    pub fn token(&self) -> i64 {
        self.row.token
    }

    /// Returns `true` if this holder could acquire the lease when it was read.
    ///
    /// A lease whose duration has elapsed is free for everyone. A released lease is free for the holder that requested
    /// it, or for everyone if nobody did.
    pub fn is_free_for(&self, holder: &str) -> bool {
        let is_released = self.holder().is_none() && self.next_holder().is_none_or(|next| next == holder);
        self.is_over || is_released
    }
}

/// Leases that several processes share, such as the partitions of a queue.
///
/// Each process lists all of them, renews its own, takes free ones, and [requests](Self::request) one from a process
/// that has more than its share. The guide [`systems`](crate::guide::systems#shared-queues) describes such a process.
///
/// ```
/// use std::time::Duration;
/// use azure_table_patterns::Leases;
/// use azure_table::{Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let queues = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Queues")?;
/// # queues.create_table().await?;
/// let leases = Leases::new(&queues, Duration::from_secs(30));
/// leases.create("queues", "queue-0").await?;
/// let entry = &leases.list("queues").await?[0];
/// let mut lease = leases.acquire_entry(entry, "worker-1").await?.expect("it is free");
///
/// // Worker 2 requests the lease. Worker 1 notices it when it renews, and releases the lease.
/// let entry = &leases.list("queues").await?[0];
/// assert!(leases.request(entry, "worker-2").await?);
/// assert!(lease.renew().await?);
/// assert_eq!(lease.next_holder(), Some("worker-2"));
/// lease.release().await?;
///
/// let entry = &leases.list("queues").await?[0];
/// assert!(entry.is_free_for("worker-2") && !entry.is_free_for("worker-3"));
/// # Ok(())
/// # }
/// ```
impl Leases {
    /// Inserts the row of a free lease. Returns `false` if it exists.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`insert`](azure_table::TableClient::insert).
    pub async fn create(&self, partition_key: &str, row_key: &str) -> Result<bool> {
        let row = self.new_row(partition_key, row_key);
        Ok(self.table.insert_if_not_exists(&row).await?.is_some())
    }

    /// Reads the leases of a partition.
    ///
    /// It sends one request per 1,000 leases. The partition must have no other rows.
    ///
    /// # Errors
    /// - The errors of [`TableQuery`](azure_table::TableQuery).
    pub async fn list(&self, partition_key: &str) -> Result<Vec<LeaseEntry>> {
        let context = OperationContext::new();
        let query = self.table.query().partition(partition_key).versioned();
        let rows = query.with(&CallOptions::new().context(&context)).all().await?;
        Ok(rows.into_iter().map(|row| self.entry(row, &context)).collect())
    }

    /// Acquires a lease without reading it again. Returns `None` if it was not [free](LeaseEntry::is_free_for) for
    /// this holder, or has changed since.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`InDoubt`](azure_table::ErrorKind::InDoubt): the lease may be held, until its duration is over. The holder can
    ///   [`resume`](Self::resume) it.
    pub async fn acquire_entry(&self, entry: &LeaseEntry, holder: &str) -> Result<Option<Lease>> {
        if entry.is_free_for(holder) {
            self.take(entry.row.clone(), holder).await
        } else {
            Ok(None)
        }
    }

    /// Acquires a lease that an earlier process had under the same name, without waiting for its duration to elapse.
    ///
    /// Returns `None` if the entry has another holder, or has changed since. The caller ensures that no other process
    /// uses the name: the earlier process has ended, or never learned that it acquired the lease. The new lease has a
    /// higher token.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`acquire_entry`](Self::acquire_entry).
    pub async fn resume(&self, entry: &LeaseEntry, holder: &str) -> Result<Option<Lease>> {
        if entry.holder() == Some(holder) {
            self.take(entry.row.clone(), holder).await
        } else {
            Ok(None)
        }
    }

    /// Asks the holder of a lease to release it for `holder`.
    ///
    /// The holder sees it in [`next_holder`](Lease::next_holder). Its lease stays valid, and it can renew. Returns
    /// `false` if the lease has no holder, is requested already, or has changed since it was read.
    ///
    /// The request is a write of the row, so it restarts the duration: if the holder has crashed, its lease is free for
    /// others one duration after the request.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`replace`](azure_table::TableClient::replace).
    pub async fn request(&self, entry: &LeaseEntry, holder: &str) -> Result<bool> {
        if entry.holder().is_none() || entry.next_holder().is_some() {
            return Ok(false);
        }
        let mut row = entry.row.clone();
        row.next_holder = Some(holder.to_owned());
        Ok(was_unchanged(self.table.replace(&row).await)?.is_some())
    }
}

impl Lease {
    /// Returns the holder that [requested](Leases::request) the lease, as of the last renewal or
    /// [`observe`](Self::observe).
    pub fn next_holder(&self) -> Option<&str> {
        self.row.next_holder.as_deref()
    }

    /// Notes the request in a listed entry. Returns `false` if another holder has the lease.
    ///
    /// Sends nothing. The next renewal or release then takes one request. Without this call, a requested lease takes
    /// three.
    pub fn observe(&mut self, entry: &LeaseEntry) -> bool {
        let is_own = self.is_in(&entry.row);
        // The row as it was before this lease, or earlier. Tokens alone do not show it: they begin anew in a new row.
        let is_earlier = entry.token() < self.token() && entry.row.timestamp <= self.row.timestamp;
        if is_own {
            self.row.next_holder.clone_from(&entry.row.next_holder);
            self.row.etag.clone_from(&entry.row.etag);
        } else if !is_earlier {
            self.end();
        }
        is_own || is_earlier
    }
}
