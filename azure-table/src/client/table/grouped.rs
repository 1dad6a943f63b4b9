//! Handles whose writes are sent in batches with the writes of other callers.

use std::sync::Arc;

use crate::client::group::committer::Committer;
use crate::client::group::group_options::GroupOptions;
use crate::client::table_handle::TableClient;

impl<E> TableClient<E> {
    /// Returns a handle to the same table that sends the writes of concurrent callers in batches: a group commit.
    ///
    /// Clone the handle, and share it among all tasks that write. A write is sent immediately if no batch of its
    /// partition is in flight. Writes that arrive meanwhile form the next batch, of up to 100 operations, within the
    /// service's size limit. A single write is sent as a plain request. By default there is no timer, so a lone caller
    /// never waits for others. See [`GroupOptions::max_delay`].
    ///
    /// All calls that write one entity are grouped: insert, replace, merge, patch, delete, [`execute`](Self::execute),
    /// and the calls built on them, such as [`modify`](Self::modify). Reads, [`batch`](Self::batch) and
    /// [`bulk`](Self::bulk) are not grouped.
    ///
    /// * **Outcomes.** Each caller receives its own ETag, or an error with its own operation and row. A row that fails
    ///   its batch is removed, and the others are sent again.
    /// * **Order.** Two writes to one row are applied in the order of their first polls, and are never in one batch.
    ///   Writes to different rows may overtake each other.
    /// * **Options.** Only calls with equal options share a batch. Their timeouts and contexts may differ.
    /// * **Cancellation.** Dropping a future withdraws its write, unless the write was sent. A write that was sent
    ///   continues in its task, and its result is dropped. It is not sent again if the service rejects its batch.
    /// * **Timeout.** When its [`timeout`](crate::CallOptions::timeout) elapses, a write that was not sent is
    ///   withdrawn. A write that was sent is [in doubt](crate::ErrorKind::InDoubt).
    /// * **Lost responses.** The client reads the rows of the batch back. If they do not show whether it was applied,
    ///   each of its writes is in doubt.
    /// * **Throttling.** Throttled batches are sent again at a rate that adapts to the service, as in a
    ///   [`bulk`](Self::bulk), whatever the retry policy. If the service throttles a batch for a minute and accepts no
    ///   other, its writes fail. Set a timeout to limit the wait further. Its error mentions the throttling.
    ///
    /// Batches run in tasks of the tokio runtime in which their writes were polled. While a group has writes of one
    /// runtime, writes of another runtime are sent one by one. Call `grouped` once per runtime. If all handles are
    /// dropped, writes that were sent continue.
    ///
    /// The context of each caller receives the attempts of the whole batch, so do not add up the costs of several
    /// callers.
    ///
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// use futures::future::try_join_all;
    /// # #[derive(TableEntity)]
    /// # struct Visit { #[table(partition_key)] page: String, #[table(row_key)] id: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let table = TableServiceClient::from_transport(Emulator::new()).table::<Visit>("Visits")?;
    /// # table.create_table().await?;
    /// let visits = table.grouped();
    /// let tasks = (0..250).map(|id| {
    ///     let visits = visits.clone();
    ///     async move { visits.insert(&Visit { page: "home".into(), id }).await }
    /// });
    /// let etags = try_join_all(tasks).await?;
    /// assert_eq!(etags.len(), 250);
    /// assert!(visits.settings().group().unwrap().batches < 10);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Calls on the handle return the errors of any other handle, and:
    /// - `InvalidInput`: the group is [closed](Self::close), or the call is outside of a tokio runtime. Nothing is
    ///   sent.
    ///
    /// More: [the guide to batches](crate::guide::batches).
    pub fn grouped(&self) -> Self {
        self.grouped_with(&GroupOptions::new())
    }

    /// Returns a handle that sends the writes of concurrent callers in batches, with these settings.
    ///
    /// See [`grouped`](Self::grouped).
    ///
    /// Each call of this method creates a new group, even on a handle that is already grouped.
    pub fn grouped_with(&self, options: &GroupOptions) -> Self {
        let group = Arc::new(Committer::new(self.pipeline(), self.name(), options));
        self.changed(|pipeline| pipeline.settings.group = Some(group))
    }

    /// Waits until each write that this [grouped](Self::grouped) handle and its clones have accepted has its result.
    ///
    /// Writes that wait for [`max_delay`](GroupOptions::max_delay) are sent immediately. It does not wait for writes
    /// whose first poll comes later. On a handle that is not grouped it returns immediately.
    ///
    /// ```
    /// # use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Visits")?;
    /// # table.create_table().await?;
    /// let visits = table.grouped();
    /// let write = visits.clone();
    /// tokio::spawn(async move { write.insert(&DynamicEntity::new("home", "1")).await });
    /// # tokio::task::yield_now().await;
    /// visits.flush().await;
    /// assert!(table.exists(("home", "1")).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn flush(&self) {
        if let Some(group) = &self.pipeline().settings.group {
            group.flush().await;
        }
    }

    /// Rejects all further writes of this [grouped](Self::grouped) handle and its clones.
    ///
    /// Waits for the accepted writes, as [`flush`](Self::flush) does.
    ///
    /// Call it before the program ends: a runtime that shuts down aborts its tasks. A later write fails with
    /// `InvalidInput` and is not sent. Reads are not affected. On a handle that is not grouped it does nothing.
    pub async fn close(&self) {
        if let Some(group) = &self.pipeline().settings.group {
            group.close();
            group.flush().await;
        }
    }
}
