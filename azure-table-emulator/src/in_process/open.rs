//! An emulator whose tables outlive the process: opening its folder, and waiting for the disk.
//!
//! The folder and the thread that writes to it are in `durable`; this file has the methods of [`Emulator`].

use std::io;
use std::path::Path;
use std::sync::Arc;

use azure_table_wire::error::Result;

use crate::durable::{Durable, SyncPolicy};
use crate::in_process::Emulator;
use crate::store::not_stored;

impl Emulator {
    /// Opens an emulator whose state is kept in a folder, and creates the folder if it is missing. Feature
    /// `emulator-durable`.
    ///
    /// The folder holds what the service stores:
    ///
    /// - accounts with their properties
    /// - tables with their stored access policies
    /// - entities with their Timestamps, so that ETags stay valid
    ///
    /// Account keys and other settings are not stored: set them each time you open the folder. Timestamps continue
    /// after the last one, whatever the clock shows. All state is in memory too: the folder is read once, and requests
    /// are answered from memory.
    ///
    /// [`SyncPolicy`] defines what a response waits for, and what survives a kill or a power failure. After a failed
    /// write to the disk the emulator stops: each request gets 500 `InternalError`, with the reason. To continue, open
    /// the folder again. It has all acknowledged changes, except those of the last interval under
    /// [`SyncPolicy::Interval`].
    ///
    /// Only one process can have a folder open. It is released when the last clone is dropped, which stores pending
    /// changes and blocks its thread meanwhile, usually for a few milliseconds. `SeedEntities::seed`
    /// and [`restore`](Self::restore) block too. So does this method while it reads the folder: about a second for a
    /// million entities.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("azure-table-open-{}", std::process::id()));
    /// use azure_table::emulator::SyncPolicy;
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let emulator = Emulator::open(&folder, SyncPolicy::Always)?;
    /// let blogs = TableServiceClient::from_transport(emulator).dynamic_table("Blogs")?;
    /// blogs.create_table().await?;
    /// let etag = blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// drop(blogs);
    ///
    /// // Another day, another process:
    /// let emulator = Emulator::open(&folder, SyncPolicy::Always)?;
    /// let blogs = TableServiceClient::from_transport(emulator).dynamic_table("Blogs")?;
    /// let blog = blogs.get(("Channel9", "1")).versioned().await?.expect("stored");
    /// assert_eq!(blog.etag, etag);
    /// # drop(blogs);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The text names the folder:
    ///
    /// - [`ResourceBusy`](io::ErrorKind::ResourceBusy): a process has it open. The text names the process.
    /// - [`Unsupported`](io::ErrorKind::Unsupported): it has a newer format. The text names both.
    /// - [`InvalidData`](io::ErrorKind::InvalidData): it is damaged. The text describes the damage.
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput): it contains other files and no tables, or is from [Cosmos
    ///   DB](Self::open_cosmos).
    /// - The folder cannot be read or written.
    pub fn open(folder: impl AsRef<Path>, sync: SyncPolicy) -> io::Result<Self> {
        Self::new().kept_in(folder.as_ref(), sync)
    }

    /// Opens an emulator of [Cosmos DB](Self::cosmos) whose state is kept in a folder, and creates the folder if it is
    /// missing. Feature `emulator-durable`.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open). Also [`InvalidInput`](io::ErrorKind::InvalidInput) if the folder is from
    /// Table storage.
    pub fn open_cosmos(folder: impl AsRef<Path>, sync: SyncPolicy) -> io::Result<Self> {
        Self::cosmos().kept_in(folder.as_ref(), sync)
    }

    fn kept_in(mut self, folder: &Path, sync: SyncPolicy) -> io::Result<Self> {
        let (store, durable) = Durable::open(folder, self.settings().rules(), sync)?;
        self.service.store = store;
        self.durable = Some(Arc::new(durable));
        Ok(self)
    }

    /// Waits until all writes so far are on the disk, whatever the [`SyncPolicy`]. Feature `emulator-durable`.
    ///
    /// Use it with [`SyncPolicy::Interval`]. It returns immediately for an emulator without a folder. With
    /// [`SyncPolicy::Never`] it waits for the write, not for a sync.
    ///
    /// # Errors
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): a change could not be stored. The
    ///   emulator has stopped.
    pub async fn flush(&self) -> Result<()> {
        self.service.store.stored().await.map_err(not_stored)
    }
}
