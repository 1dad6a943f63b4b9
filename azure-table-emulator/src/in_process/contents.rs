//! Access to the tables of an emulator without a client: list them, read and fill them as text, delete them.
//!
//! Defines [`EmulatorTable`] and the methods for any account. They take no time, regardless of the service model. Lines
//! of entities have the form of a snapshot (`snapshot/entity.rs`).

use std::time::Duration;

use azure_table_wire::error::{Error, Result};

use crate::in_process::Emulator;
use crate::operations::seed;
use crate::rules::COSMOS;
use crate::snapshot::entity;
use crate::store::account::Replica;
use crate::store::not_stored;

/// A table of an [`Emulator`]. Feature `emulator`.
///
/// See [`Emulator::tables`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmulatorTable {
    /// The account of the table.
    pub account: String,
    /// The name, in the case in which the table was created.
    pub name: String,
    /// The number of entities.
    pub entity_count: usize,
}

impl Emulator {
    /// Returns the tables of all accounts, ordered by account and name.
    ///
    /// ```
    /// # fn main() -> azure_table::Result<()> {
    /// use azure_table::Emulator;
    /// let emulator = Emulator::new();
    /// emulator.seed_lines("devstoreaccount1", "Blogs", r#"{"PartitionKey":"Channel9","RowKey":"1","Rating":5}"#)?;
    /// let tables = emulator.tables();
    /// assert_eq!((tables[0].name.as_str(), tables[0].entity_count), ("Blogs", 1));
    /// let lines = emulator.table_lines("devstoreaccount1", "Blogs", 10).expect("the table exists");
    /// assert!(lines.contains("\"Rating\":5"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn tables(&self) -> Vec<EmulatorTable> {
        let store = self.service.store.read();
        let (accounts, _) = store.all();
        let tables = accounts.iter().flat_map(|(name, account)| {
            account.tables.values().map(|table| EmulatorTable {
                account: name.clone(),
                name: table.name.clone(),
                entity_count: table.rows.len(),
            })
        });
        tables.collect()
    }

    /// Returns up to `limit` entities of a table as JSON lines, or `None` if the table does not exist.
    ///
    /// The lines have the form and order of an [`EmulatorSnapshot`](crate::EmulatorSnapshot).
    pub fn table_lines(&self, account: &str, table: &str, limit: usize) -> Option<String> {
        let replica = self.replica_of(account, table);
        let store = self.service.store.read();
        let rows = &store.table(replica, table)?.rows;
        let mut lines = String::new();
        for (id, row) in rows.in_order().take(limit) {
            lines += &String::from_utf8_lossy(&entity::write(id, row));
            lines.push('\n');
        }
        Some(lines)
    }

    /// Inserts or replaces the entities of JSON lines in a table, all or none. Returns their number.
    ///
    /// Creates the table if it is missing. The lines have the form of an [`EmulatorSnapshot`](crate::EmulatorSnapshot).
    /// As for a client's write, the emulator sets the Timestamp, whatever the line says. Empty lines are skipped.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table_wire::error::ErrorKind::InvalidInput): the account does not exist, the service
    ///   would reject a name, key or value, or a key occurs twice. The message names line and column. Nothing is
    ///   stored.
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): the change could not be stored in the
    ///   folder.
    pub fn seed_lines(&self, account: &str, table: &str, lines: &str) -> Result<usize> {
        if !self.settings().accounts.contains_key(account) {
            return Err(self.no_account(account));
        }
        let replica = self.replica_of(account, table);
        seed::seed_lines(&self.service.store, replica, table, lines, self.clock().now())
    }

    /// Deletes a table. Returns `false` if it does not exist.
    ///
    /// Its name is available immediately, regardless of the [deletion time](Self::deletion_time).
    ///
    /// # Errors
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): the change could not be stored in the
    ///   folder.
    pub fn delete_table(&self, account: &str, table: &str) -> Result<bool> {
        let replica = self.replica_of(account, table);
        let store = &self.service.store;
        let deleted = store
            .write()
            .delete_table(replica, table, self.clock().now(), Duration::ZERO);
        store.block_until_stored()?;
        // The only possible error: the table is missing.
        Ok(deleted.is_ok())
    }

    /// Deletes the tables of all accounts, all or none.
    ///
    /// Their names are available immediately, and so are the names of tables that were already being deleted. Service
    /// properties stay.
    ///
    /// # Errors
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): the change could not be stored in the
    ///   folder.
    pub fn clear(&self) -> Result<()> {
        self.service.store.clear();
        self.service.store.block_until_stored()
    }

    /// Deletes the tables of one account, all or none.
    ///
    /// Their names are available immediately, and so are the names of tables that were already being deleted. Service
    /// properties stay.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table_wire::error::ErrorKind::InvalidInput): the account does not exist. An account
    ///   without a key, such as one from a snapshot, can be cleared.
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): the change could not be stored in the
    ///   folder.
    pub fn clear_account(&self, account: &str) -> Result<()> {
        let replica = Replica::primary(account, self.settings().rules());
        let mut store = self.service.store.write();
        if store.account(replica).is_none() && !self.settings().accounts.contains_key(account) {
            return Err(self.no_account(account));
        }
        store.clear_account(replica, self.clock().now());
        drop(store);
        self.service.store.block_until_stored()
    }

    /// Waits until all reads and writes so far are as durable as the policy of the folder promises.
    ///
    /// [`tables`](Self::tables), [`table_lines`](Self::table_lines) and [`snapshot`](Self::snapshot) return
    /// immediately, so they can include changes that a crash would still undo. Call this method before you show their
    /// results to anyone. It returns immediately for an emulator without a folder.
    ///
    /// # Errors
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): a change could not be stored. The
    ///   emulator has stopped.
    pub async fn settle(&self) -> Result<()> {
        self.service.store.settled().await.map_err(not_stored)
    }

    /// Checks that all changes so far could be stored.
    ///
    /// An emulator without a folder always passes.
    ///
    /// # Errors
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): a change could not be stored. The
    ///   emulator has stopped.
    pub fn check_storage(&self) -> Result<()> {
        self.service.store.check().map_err(not_stored)
    }

    fn no_account(&self, account: &str) -> Error {
        let known: Vec<&str> = self.settings().accounts.keys().map(String::as_str).collect();
        let known = known.join(", ");
        Error::invalid_input(format!("account {account:?} does not exist, the accounts are {known}"))
    }

    /// Returns the account with the rules of the table: Cosmos DB's if the table was created at a URL of Cosmos DB.
    fn replica_of<'a>(&self, account: &'a str, table: &str) -> Replica<'a> {
        let replica = Replica::primary(account, self.settings().rules());
        let other = Replica::primary(account, &COSMOS);
        let store = self.service.store.read();
        let is_other = store.table(replica, table).is_none() && store.table(other, table).is_some();
        if is_other { other } else { replica }
    }
}
