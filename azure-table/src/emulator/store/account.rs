//! Accounts, and their copy in the second region, which follows the first from behind.
//!
//! Owns what an account has, and what an effect does to it: the same in both regions. Without a lag there is no copy:
//! both regions are one. Not confirmed: the properties that a new account has (here all is off).

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::emulator::rules::Rules;
use crate::emulator::store::row::{Row, RowId};
use crate::emulator::store::rows::Rows;
use crate::model::datetime::DateTime;
use crate::protocol::access_policy::StoredAccessPolicy;
use crate::protocol::service_properties::ServiceProperties;
use crate::protocol::service_properties::analytics::{Logging, Metrics};

/// An account in one of its regions, and the rules of the service it is asked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replica<'a> {
    pub(crate) account: &'a str,
    /// Shows an older state than the first region does.
    pub(crate) is_behind: bool,
    pub(crate) rules: &'static Rules,
}

pub(crate) type Accounts = HashMap<String, Account>;

/// An account's tables by the form of their names that counts, which is also their order.
pub(crate) type Tables = BTreeMap<String, Table>;

/// The tables and properties of an account.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) tables: Tables,
    pub(crate) properties: ServiceProperties,
    /// Names of deleted tables, and when they are free again.
    pub(crate) leaving: BTreeMap<String, DateTime>,
}

/// A table and its rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// As it was given at creation.
    pub(crate) name: String,
    pub(crate) created: DateTime,
    pub(crate) policies: Vec<StoredAccessPolicy>,
    pub(crate) rows: Rows,
}

/// One thing of an account that is different now. Tables are named by the form that counts.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Properties(ServiceProperties),
    /// The names of deleted tables that are not free yet.
    Leaving(BTreeMap<String, DateTime>),
    /// Without its rows, which come one by one; `None` where it is gone.
    Table(String, Option<Table>),
    Policies(String, Vec<StoredAccessPolicy>),
    /// `None` where it is gone.
    Row(String, RowId, Option<Row>),
}

#[cfg(feature = "emulator-durable")]
impl Effect {
    /// About how much memory a row takes here; what is not a row is small and rare.
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

/// The copy, and the effects on their way to it, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Secondary {
    pub(crate) accounts: Accounts,
    on_the_way: VecDeque<(DateTime, String, Effect)>,
}

impl Secondary {
    /// A copy of what there is.
    pub(crate) fn of(accounts: &Accounts) -> Self {
        Self {
            accounts: accounts.clone(),
            on_the_way: VecDeque::new(),
        }
    }

    /// What happened in the first region at `time`.
    pub(crate) fn send(&mut self, time: DateTime, account: &str, effect: Effect) {
        self.on_the_way.push_back((time, account.to_owned(), effect));
    }

    /// Applies what happened until `time`, that included.
    pub(crate) fn catch_up(&mut self, time: DateTime) {
        while self.on_the_way.front().is_some_and(|(happened, ..)| *happened <= time) {
            if let Some((_, account, effect)) = self.on_the_way.pop_front() {
                self.accounts.entry(account).or_default().apply(effect);
            }
        }
    }
}
