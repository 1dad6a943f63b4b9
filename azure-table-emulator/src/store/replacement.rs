//! The replacement of all accounts: a restored snapshot, or all tables deleted.
//!
//! Copies accounts before the store is locked for changes, and drops the replaced ones after it, so that a large state
//! delays no other request.

use azure_table_wire::value::datetime::DateTime;

use crate::store::account::{Account, Accounts, Secondary, Table};
#[cfg(feature = "durable")]
use crate::store::journal::Entry;
use crate::store::{SharedStore, Store};

/// New accounts, and the copies of them that the store needs.
struct Replacement {
    primary: Accounts,
    secondary: Option<Secondary>,
    /// For the journal.
    recorded: Option<Accounts>,
    last_write: DateTime,
}

impl Replacement {
    fn of(primary: Accounts, last_write: DateTime, has_secondary: bool, is_recorded: bool) -> Self {
        Self {
            secondary: has_secondary.then(|| Secondary::of(&primary)),
            recorded: is_recorded.then(|| primary.clone()),
            primary,
            last_write,
        }
    }
}

/// The accounts that were replaced, to be dropped while the store is not locked.
type Replaced = (Accounts, Option<Secondary>);

impl SharedStore {
    /// Replaces all accounts. Copies them before the store is locked for changes, and drops the replaced ones after it.
    pub(crate) fn replace_all(&self, accounts: Accounts, last_write: DateTime) {
        let replacement = {
            let has_secondary = self.read().secondary.is_some();
            Replacement::of(accounts, last_write, has_secondary, self.is_recorded())
        };
        let replaced = self.write().replace_all(replacement);
        drop(replaced);
    }

    /// Deletes the tables of all accounts, in one change. Their names are available immediately.
    pub(crate) fn clear(&self) {
        let emptied = |(name, account): (&String, &Account)| {
            let account = Account {
                properties: account.properties.clone(),
                ..Account::default()
            };
            (name.clone(), account)
        };
        let mut store = self.write();
        let accounts = store.primary.iter().map(emptied).collect();
        let has_secondary = store.secondary.is_some();
        let replaced = store.replace_all(Replacement::of(
            accounts,
            DateTime::MIN,
            has_secondary,
            self.is_recorded(),
        ));
        drop(store);
        drop(replaced);
    }

    fn is_recorded(&self) -> bool {
        #[cfg(feature = "durable")]
        if self.journal.is_some() {
            return true;
        }
        false
    }
}

impl Store {
    /// Replaces all accounts, in both locations, and returns the state before. The time of the latest write never goes
    /// back: an ETag from before matches no later row.
    fn replace_all(&mut self, replacement: Replacement) -> Replaced {
        let last_write = replacement.last_write.max(self.last_write);
        self.last_write = last_write;
        self.epoch = self.epoch.wrapping_add(last_write.ticks()).wrapping_add(1);
        #[cfg(feature = "durable")]
        if let (Some(journal), Some(recorded)) = (&self.journal, replacement.recorded) {
            journal.record(Entry::Restore(recorded, last_write));
        }
        #[cfg(not(feature = "durable"))]
        drop(replacement.recorded);
        let secondary = self.secondary.as_mut().map(|secondary| {
            let new = replacement.secondary;
            std::mem::replace(secondary, new.unwrap_or_else(|| Secondary::of(&replacement.primary)))
        });
        (std::mem::replace(&mut self.primary, replacement.primary), secondary)
    }

    /// Returns a number that identifies the rows to which a place belongs: it changes with the table's creation, and
    /// when all tables are replaced.
    pub(crate) fn origin(&self, table: &Table) -> i64 {
        table.created.ticks().wrapping_add(self.epoch)
    }
}
