//! The tables on the disk: an emulator's state in redb, read as a whole and changed by transactions.
//!
//! Defines the keys and values, and translates redb's errors. Accounts and tables are the lines of a snapshot
//! (`snapshot/line.rs`), rows have the same bytes as in memory (`store/members.rs`): loading a row copies it.
//!
//! | table of redb | key | value |
//! |---|---|---|
//! | `state` | `emulator` | the service, and the time of the last version of a row |
//! | `accounts` | name | line of a snapshot |
//! | `tables` | account, the compared form of the name | line of a snapshot |
//! | `rows of` account `/` compared form of the name | PartitionKey, RowKey | Timestamp in ticks, properties |
//!
//! A change of any of these forms requires a new [`FORMAT`]. Opening verifies all checksums: redb itself trusts a file
//! that was closed properly, and may panic if it was changed since.

use std::collections::{BTreeSet, HashMap};
use std::io;

use azure_table_wire::value::datetime::DateTime;
use redb::{
    Builder, ReadTransaction, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _, StorageBackend,
    Table as RedbTable, TableDefinition, WriteTransaction,
};
use serde::{Deserialize, Serialize};

use crate::rules::{ServiceName, ServiceRules};
use crate::snapshot::line::{AccountLine, TableLine};
use crate::store::account::{Account, Accounts, Effect, Table};
use crate::store::journal::Entry;
use crate::store::members::Members;
use crate::store::row::{Row, RowId};

/// The format that is written, and the newest that can be read.
pub(crate) const FORMAT: u32 = 1;

/// The size of redb's page cache in bytes. Rows are read from the emulator's memory, so only inner pages matter.
const CACHE_BYTES: usize = 64 << 20;

const STATE: TableDefinition<'_, &str, &str> = TableDefinition::new("state");
const ACCOUNTS: TableDefinition<'_, &str, &str> = TableDefinition::new("accounts");
const TABLES: TableDefinition<'_, (&str, &str), &str> = TableDefinition::new("tables");
/// The only key of [`STATE`].
const EMULATOR: &str = "emulator";

type RowKeys = (&'static str, &'static str);
/// Ticks of the Timestamp, position in the order of insertion, properties.
type RowValue = (i64, u64, &'static [u8]);

fn rows_of(name: &str) -> TableDefinition<'_, RowKeys, RowValue> {
    TableDefinition::new(name)
}

/// Returns the name of the redb table with the rows of a table. Account names contain no slash.
fn rows_name(account: &str, key: &str) -> String {
    format!("rows of {account}/{key}")
}

/// The value in [`STATE`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct State {
    service: ServiceName,
    last_write: DateTime,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    redb: redb::Database,
    rules: &'static ServiceRules,
    last_write: DateTime,
    /// Accounts and tables without rows, for writing their lines.
    known: Accounts,
}

impl Database {
    /// Writes an empty database to new storage.
    pub(crate) fn create(storage: impl StorageBackend, rules: &ServiceRules) -> io::Result<()> {
        let redb = Builder::new().create_with_backend(storage).map_err(failed)?;
        let transaction = redb.begin_write().map_err(failed)?;
        transaction.open_table(ACCOUNTS).map_err(failed)?;
        transaction.open_table(TABLES).map_err(failed)?;
        write_state(&transaction, rules, DateTime::MIN)?;
        transaction.commit().map_err(failed)?;
        redb.close().map_err(failed)
    }

    /// Opens storage, recovers it after a crash, and reads the whole state.
    ///
    /// `expected` are the rules of the service that must have written it.
    pub(crate) fn open(
        storage: impl StorageBackend,
        expected: Option<&'static ServiceRules>,
    ) -> io::Result<(Self, Accounts, DateTime)> {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
        let redb = builder.create_with_backend(storage).map_err(failed)?;
        let transaction = redb.begin_read().map_err(failed)?;
        let State { service, last_write } = read_state(&transaction)?;
        let rules = service.rules();
        if let Some(expected) = expected.filter(|expected| expected.profile != rules.profile) {
            let (theirs, own) = (rules.profile, expected.profile);
            let why = format!("its tables are of {theirs}, the emulator is {own}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let accounts = read_accounts(&transaction, rules)?;
        drop(transaction);
        let known = accounts
            .iter()
            .map(|(name, account)| (name.clone(), without_rows(account)));
        let database = Self {
            redb,
            rules,
            last_write,
            known: known.collect(),
        };
        Ok((database, accounts, last_write))
    }

    /// Stores entries in one transaction: all of them, or none.
    ///
    /// After an error nothing more can be stored: the file is intact, but only opening it again shows its content.
    pub(crate) fn commit(&mut self, entries: Vec<Entry>) -> io::Result<()> {
        let transaction = self.redb.begin_write().map_err(failed)?;
        let before = self.last_write;
        let mut changes = Changes {
            transaction: &transaction,
            known: &mut self.known,
            last_write: &mut self.last_write,
            accounts: BTreeSet::new(),
            tables: BTreeSet::new(),
            rows: HashMap::new(),
        };
        for entry in entries {
            match entry {
                Entry::Write(account, effects) => changes.write(&account, effects)?,
                Entry::Restore(accounts, last_write) => changes.restore(accounts, last_write)?,
            }
        }
        changes.lines(self.rules)?;
        if self.last_write != before {
            write_state(&transaction, self.rules, self.last_write)?;
        }
        transaction.commit().map_err(failed)
    }

    pub(crate) fn close(self) -> io::Result<()> {
        self.redb.close().map_err(failed)
    }
}

/// The changes of one transaction.
struct Changes<'t> {
    transaction: &'t WriteTransaction,
    known: &'t mut Accounts,
    last_write: &'t mut DateTime,
    /// The accounts and the tables whose lines changed.
    accounts: BTreeSet<String>,
    tables: BTreeSet<(String, String)>,
    /// The open row tables by name: redb opens each only once.
    rows: HashMap<String, RedbTable<'t, RowKeys, RowValue>>,
}

impl Changes<'_> {
    fn write(&mut self, account: &str, effects: Vec<Effect>) -> io::Result<()> {
        if !self.known.contains_key(account) {
            self.known.insert(account.to_owned(), Account::default());
            self.accounts.insert(account.to_owned());
        }
        for effect in effects {
            match &effect {
                Effect::Row(key, id, row) => {
                    self.row(&rows_name(account, key), id, row.as_ref())?;
                    continue;
                }
                Effect::Properties(_) | Effect::Leaving(_) => {
                    self.accounts.insert(account.to_owned());
                }
                Effect::Table(key, Some(_)) => {
                    self.open(&rows_name(account, key))?;
                    self.tables.insert((account.to_owned(), key.clone()));
                }
                Effect::Table(key, None) => self.delete_table(account, key)?,
                Effect::Policies(key, _) => {
                    self.tables.insert((account.to_owned(), key.clone()));
                }
            }
            if let Some(known) = self.known.get_mut(account) {
                known.apply(effect);
            }
        }
        Ok(())
    }

    fn restore(&mut self, accounts: Accounts, last_write: DateTime) -> io::Result<()> {
        for (name, account) in std::mem::take(self.known) {
            for key in account.tables.keys() {
                self.delete_table(&name, key)?;
            }
            let mut lines = self.transaction.open_table(ACCOUNTS).map_err(failed)?;
            lines.remove(&*name).map_err(failed)?;
        }
        self.accounts.clear();
        self.tables.clear();
        for (name, account) in accounts {
            for (key, table) in &account.tables {
                let rows = rows_name(&name, key);
                self.open(&rows)?;
                self.tables.insert((name.clone(), key.clone()));
                for (id, row) in table.rows.iter() {
                    self.row(&rows, id, Some(row))?;
                }
            }
            self.accounts.insert(name.clone());
            self.known.insert(name, without_rows(&account));
        }
        *self.last_write = last_write;
        Ok(())
    }

    /// Opens the row table with this name. Creates it if it is missing.
    fn open(&mut self, name: &str) -> io::Result<()> {
        if !self.rows.contains_key(name) {
            let rows = self.transaction.open_table(rows_of(name)).map_err(failed)?;
            self.rows.insert(name.to_owned(), rows);
        }
        Ok(())
    }

    fn row(&mut self, name: &str, id: &RowId, row: Option<&Row>) -> io::Result<()> {
        self.open(name)?;
        let Some(rows) = self.rows.get_mut(name) else {
            return Ok(());
        };
        let key = (&*id.partition_key, &*id.row_key);
        match row {
            Some(row) => {
                *self.last_write = (*self.last_write).max(row.timestamp);
                let value = (row.timestamp.ticks(), row.place, row.members.as_bytes());
                rows.insert(key, value).map_err(failed)?;
            }
            None => {
                rows.remove(key).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn delete_table(&mut self, account: &str, key: &str) -> io::Result<()> {
        let name = rows_name(account, key);
        self.rows.remove(&name);
        self.transaction.delete_table(rows_of(&name)).map_err(failed)?;
        let mut lines = self.transaction.open_table(TABLES).map_err(failed)?;
        lines.remove((account, key)).map_err(failed)?;
        Ok(())
    }

    /// Writes the lines of the accounts and tables that changed and still exist.
    fn lines(self, rules: &ServiceRules) -> io::Result<()> {
        let mut lines = self.transaction.open_table(ACCOUNTS).map_err(failed)?;
        for name in &self.accounts {
            if let Some(account) = self.known.get(name) {
                let line = serde_json::to_string(&AccountLine::of(name, account))?;
                lines.insert(&**name, &*line).map_err(failed)?;
            }
        }
        let mut lines = self.transaction.open_table(TABLES).map_err(failed)?;
        for (name, key) in &self.tables {
            if let Some(table) = self.known.get(name).and_then(|account| account.tables.get(key)) {
                let line = serde_json::to_string(&TableLine::of(key, table, rules))?;
                lines.insert((&**name, &**key), &*line).map_err(failed)?;
            }
        }
        Ok(())
    }
}

fn without_rows(account: &Account) -> Account {
    let table = |table: &Table| Table {
        name: table.name.clone(),
        created: table.created,
        policies: table.policies.clone(),
        rows: table.rows.emptied(),
    };
    Account {
        tables: account
            .tables
            .iter()
            .map(|(key, of)| (key.clone(), table(of)))
            .collect(),
        properties: account.properties.clone(),
        leaving: account.leaving.clone(),
    }
}

fn write_state(transaction: &WriteTransaction, rules: &ServiceRules, last_write: DateTime) -> io::Result<()> {
    let state = State {
        service: rules.name,
        last_write,
    };
    let state = serde_json::to_string(&state)?;
    let mut table = transaction.open_table(STATE).map_err(failed)?;
    table.insert(EMULATOR, &*state).map_err(failed)?;
    Ok(())
}

fn read_state(transaction: &ReadTransaction) -> io::Result<State> {
    let missing = || damaged("the state of the emulator is missing");
    // redb treats an empty file as a new database.
    let table = transaction.open_table(STATE).map_err(|_| missing())?;
    let state = table.get(EMULATOR).map_err(failed)?.ok_or_else(missing)?;
    serde_json::from_str(state.value()).map_err(|e| damaged(format!("the state of the emulator: {e}")))
}

fn read_accounts(transaction: &ReadTransaction, rules: &'static ServiceRules) -> io::Result<Accounts> {
    let mut accounts = Accounts::new();
    for line in transaction
        .open_table(ACCOUNTS)
        .map_err(failed)?
        .iter()
        .map_err(failed)?
    {
        let (name, line) = line.map_err(failed)?;
        let (_, account) =
            AccountLine::read(line.value()).map_err(|fault| damaged(format!("account {:?}: {fault}", name.value())))?;
        accounts.insert(name.value().to_owned(), account);
    }
    for line in transaction.open_table(TABLES).map_err(failed)?.iter().map_err(failed)? {
        let (place, line) = line.map_err(failed)?;
        let (name, key) = place.value();
        let wrong = |why: &dyn std::fmt::Display| damaged(format!("table {key:?} of account {name:?}: {why}"));
        let (_, _, mut table) = TableLine::read(line.value(), rules, DateTime::now).map_err(|fault| wrong(&fault))?;
        let account = accounts.get_mut(name).ok_or_else(|| wrong(&"the account is missing"))?;
        let rows = read_rows(transaction, &rows_name(name, key)).map_err(|e| wrong(&e))?;
        table.rows.fill(rows);
        account.tables.insert(key.to_owned(), table);
    }
    Ok(accounts)
}

fn read_rows(transaction: &ReadTransaction, name: &str) -> io::Result<Vec<(RowId, Row)>> {
    let stored = transaction.open_table(rows_of(name)).map_err(failed)?;
    let rows = stored.iter().map_err(failed)?.map(|row| {
        let (key, value) = row.map_err(failed)?;
        let ((partition_key, row_key), (ticks, place, members)) = (key.value(), value.value());
        let row = DateTime::from_ticks(ticks)
            .zip(Members::from_bytes(members))
            .map(|(timestamp, members)| Row {
                timestamp,
                place,
                members,
            });
        let unreadable = || damaged(format!("entity ({partition_key:?}, {row_key:?}) cannot be read"));
        Ok((RowId::new(partition_key, row_key), row.ok_or_else(unreadable)?))
    });
    let rows: Vec<_> = rows.collect::<io::Result<_>>()?;
    if stored.len().map_err(failed)? == rows.len() as u64 {
        Ok(rows)
    } else {
        Err(damaged(format!(
            "{} of {} entities",
            rows.len(),
            stored.len().map_err(failed)?
        )))
    }
}

pub(crate) fn damaged(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Returns the error of the disk if there was one, otherwise an error with redb's finding.
fn failed(error: impl Into<redb::Error>) -> io::Error {
    match error.into() {
        redb::Error::Io(error) => error,
        redb::Error::DatabaseAlreadyOpen => io::Error::new(io::ErrorKind::ResourceBusy, "another process has it open"),
        error @ (redb::Error::Corrupted(_)
        | redb::Error::UpgradeRequired(_)
        | redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_)) => damaged(error.to_string()),
        error => io::Error::other(error.to_string()),
    }
}
