//! Accounts, and their copy in the secondary, which lags behind the primary.
//!
//! Defines the contents of an account, and applies effects to it in the same way in both locations. Without a lag there
//! is no copy: both locations share one state. Not confirmed: the properties of a new account (here everything is off).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use azure_table_wire::service::access_policy::StoredAccessPolicy;
use azure_table_wire::service::service_properties::ServiceProperties;
use azure_table_wire::service::service_properties::analytics::{Logging, Metrics};
use azure_table_wire::value::datetime::DateTime;

use crate::rules::ServiceRules;
use crate::rules::service_error::ServiceError;
use crate::settings::adverse::Deleted;
use crate::store::row::{Row, RowId};
use crate::store::rows::Rows;

/// An account in one of its locations, and the rules of the addressed service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replica<'a> {
    pub(crate) account: &'a str,
    /// Shows an older state than the primary.
    pub(crate) is_behind: bool,
    /// The state of a table that is being deleted.
    pub(crate) deleted: Deleted,
    pub(crate) rules: &'static ServiceRules,
}

impl<'a> Replica<'a> {
    /// Returns an account in the primary.
    pub(crate) fn primary(account: &'a str, rules: &'static ServiceRules) -> Self {
        Self {
            account,
            is_behind: false,
            deleted: Deleted::Missing,
            rules,
        }
    }

    /// Returns the error for a table that does not exist, or not any more.
    pub(crate) fn missing_table(self) -> ServiceError {
        match self.deleted {
            Deleted::Conflicting => ServiceError::TABLE_BEING_DELETED,
            Deleted::Missing | Deleted::Lingering => ServiceError::TABLE_NOT_FOUND,
        }
    }
}

pub(crate) type Accounts = BTreeMap<String, Account>;

/// An account's tables by the compared form of their names, which is also their order.
pub(crate) type Tables = BTreeMap<String, Table>;

/// The tables and properties of an account.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) tables: Tables,
    pub(crate) properties: ServiceProperties,
    /// Names of deleted tables, and the times at which they are available again.
    pub(crate) leaving: BTreeMap<String, DateTime>,
}

/// A table and its rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The name as given at creation.
    pub(crate) name: String,
    pub(crate) created: DateTime,
    pub(crate) policies: Vec<StoredAccessPolicy>,
    pub(crate) rows: Rows,
}

/// One change of an account. A table is identified by the compared form of its name.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Properties(ServiceProperties),
    /// The names of deleted tables that are not available yet.
    Leaving(BTreeMap<String, DateTime>),
    /// A table without its rows, which follow one by one; `None` if it was deleted.
    Table(String, Option<Table>),
    Policies(String, Vec<StoredAccessPolicy>),
    /// A row; `None` if it was deleted.
    Row(String, RowId, Option<Row>),
}

#[cfg(feature = "durable")]
impl Effect {
    /// Returns the approximate memory of a row's change. Other effects are small and rare.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Row(_, id, row) => {
                let text = row.as_ref().map_or(0, |row| row.members.annotated().len());
                size_of::<Self>() + id.partition_key.len() + id.row_key.len() + text
            }
            Self::Properties(_) | Self::Leaving(_) | Self::Table(..) | Self::Policies(..) => 0,
        }
    }
}

impl Default for Account {
    fn default() -> Self {
        Self {
            tables: Tables::new(),
            properties: ServiceProperties::default()
                .logging(Logging::default())
                .hour_metrics(Metrics::default())
                .minute_metrics(Metrics::default())
                .cors([]),
            leaving: BTreeMap::new(),
        }
    }
}

impl Account {
    pub(crate) fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Properties(properties) => self.properties = properties,
            Effect::Leaving(leaving) => self.leaving = leaving,
            Effect::Table(key, Some(table)) => {
                self.tables.insert(key, table);
            }
            Effect::Table(key, None) => {
                self.tables.remove(&key);
            }
            Effect::Policies(key, policies) => {
                if let Some(table) = self.tables.get_mut(&key) {
                    table.policies = policies;
                }
            }
            Effect::Row(key, id, row) => {
                if let Some(table) = self.tables.get_mut(&key) {
                    table.rows.set(id, row);
                }
            }
        }
    }
}

/// The copy, and the effects that it has not received yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Secondary {
    pub(crate) accounts: Accounts,
    on_the_way: VecDeque<(DateTime, String, Effect)>,
}

impl Secondary {
    /// Creates a copy of the current state.
    pub(crate) fn of(accounts: &Accounts) -> Self {
        Self {
            accounts: accounts.clone(),
            on_the_way: VecDeque::new(),
        }
    }

    /// Records an effect in the primary at `time`.
    pub(crate) fn send(&mut self, time: DateTime, account: &str, effect: Effect) {
        self.on_the_way.push_back((time, account.to_owned(), effect));
    }

    /// Applies the effects up to and including the time `lag` before `now`.
    pub(crate) fn catch_up(&mut self, now: DateTime, lag: Duration) {
        let time = now - lag;
        while self.on_the_way.front().is_some_and(|(happened, ..)| *happened <= time) {
            if let Some((_, account, effect)) = self.on_the_way.pop_front() {
                self.accounts.entry(account).or_default().apply(effect);
            }
        }
    }
}
