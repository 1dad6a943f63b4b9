//! The store: accounts, their properties, their tables, their rows in order.
//!
//! Applies changes to rows atomically and under their conditions, keeps Timestamps unique, and tracks the names of
//! tables that are being deleted. Accounts and their copy in the secondary are in `store/account.rs`, the rows of a
//! table and their readers in `store/rows.rs`. The store does not know HTTP. One lock around it makes every write
//! atomic. If the emulator is durable, each write is recorded as a value (`store/journal.rs`), and responses wait until
//! it is stored.
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge
//! Entity", "Delete Entity", "Delete Table", "Performing entity group transactions".

pub(crate) mod account;
#[cfg(feature = "durable")]
pub(crate) mod journal;
pub(crate) mod members;
mod replacement;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod site;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use azure_table_wire::codec::odata::time::is_etag_with_doubled_quotes;
use azure_table_wire::error::{self, Error, ErrorKind};
use azure_table_wire::service::access_policy::StoredAccessPolicy;
use azure_table_wire::service::service_properties::ServiceProperties;
use azure_table_wire::value::datetime::DateTime;

use crate::rules::ServiceRules;
use crate::rules::service_error::{Result, ServiceError};
use crate::settings::adverse::Deleted;
use crate::store::account::{Account, Accounts, Effect, Replica, Secondary, Table};
#[cfg(feature = "durable")]
use crate::store::journal::{Entry, Journal};
use crate::store::members::Properties;
use crate::store::row::{Row, RowId, check_limits, merged, sort};
use crate::store::rows::Rows;

/// The store behind its lock, which the clones of an emulator share.
#[derive(Clone, Default)]
pub(crate) struct SharedStore {
    store: Arc<RwLock<Store>>,
    /// The same journal as in the store, outside its lock.
    #[cfg(feature = "durable")]
    journal: Option<Journal>,
}

impl SharedStore {
    /// Creates a store whose changes are recorded.
    #[cfg(feature = "durable")]
    pub(crate) fn recorded(accounts: Accounts, last_write: DateTime, journal: &Journal) -> Self {
        let store = Store {
            primary: accounts,
            last_write,
            journal: Some(journal.clone()),
            ..Store::default()
        };
        Self {
            store: Arc::new(RwLock::new(store)),
            journal: Some(journal.clone()),
        }
    }

    /// Locks the store for reading. Ignores a poisoned lock: no change is incomplete, even if a test's thread panicked
    /// during one.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the store for changes.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if a change could not be stored: memory and disk differ from then on.
    pub(crate) fn check(&self) -> Result<()> {
        #[cfg(feature = "durable")]
        if let Some(journal) = &self.journal {
            return journal.check();
        }
        Ok(())
    }

    /// Waits until all reads and writes so far are as durable as promised.
    pub(crate) async fn settled(&self) -> Result<()> {
        #[cfg(feature = "durable")]
        if let Some(journal) = &self.journal {
            // Boxed to keep the future small without a journal.
            return Box::pin(journal.settled()).await;
        }
        Ok(())
    }

    /// Waits until all writes so far are stored.
    #[cfg(feature = "durable")]
    pub(crate) async fn stored(&self) -> Result<()> {
        match &self.journal {
            Some(journal) => journal.stored().await,
            None => Ok(()),
        }
    }

    /// Blocks this thread until all writes so far are stored.
    pub(crate) fn block_until_stored(&self) -> error::Result<()> {
        #[cfg(feature = "durable")]
        if let Some(journal) = &self.journal {
            return journal.block_until_stored().map_err(not_stored);
        }
        Ok(())
    }
}

/// Converts the error for a change that could not be stored, for a caller without a request.
pub(crate) fn not_stored(service_error: ServiceError) -> Error {
    Error::new(ErrorKind::ServerFault, service_error.message)
}

/// All accounts, in both locations.
#[derive(Debug)]
pub(crate) struct Store {
    primary: Accounts,
    /// The secondary, if it lags behind the primary.
    secondary: Option<Secondary>,
    /// The tables that are being deleted, by account and the compared form of their names, if requests may reach them.
    lingering: Option<BTreeMap<(String, String), Table>>,
    last_write: DateTime,
    /// The creation of the latest table.
    last_table: DateTime,
    /// Changes when all accounts are replaced.
    epoch: i64,
    /// The journal of changes to be stored.
    #[cfg(feature = "durable")]
    journal: Option<Journal>,
}

/// One write.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) id: RowId,
    pub(crate) action: Action<'a>,
}

#[derive(Debug)]
pub(crate) enum Action<'a> {
    Insert(Properties<'a>),
    /// Without a condition, a missing row is inserted.
    Replace(Properties<'a>, Option<RowCondition>),
    /// Without a condition, a missing row is inserted.
    Merge(Properties<'a>, Option<RowCondition>),
    Delete(RowCondition),
}

/// The condition of a write on the stored row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowCondition {
    /// The row exists.
    Exists,
    /// The row exists and has this ETag.
    Matches(String),
}

/// The result of a write.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) id: RowId,
    /// The new ETag; `None` after a delete.
    pub(crate) etag: Option<String>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            primary: Accounts::new(),
            secondary: None,
            lingering: None,
            last_write: DateTime::MIN,
            last_table: DateTime::MIN,
            epoch: 0,
            #[cfg(feature = "durable")]
            journal: None,
        }
    }
}

impl Store {
    /// Separates the secondary from the primary, so that it can lag from now on.
    pub(crate) fn part_regions(&mut self) {
        self.secondary.get_or_insert_with(|| Secondary::of(&self.primary));
    }

    /// Keeps deleted tables from now on while their names are unavailable.
    pub(crate) fn keep_deleted(&mut self) {
        self.lingering.get_or_insert_default();
    }

    /// Returns `true` if a table is being deleted.
    pub(crate) fn is_leaving(&self, replica: Replica<'_>, name: &str, now: DateTime) -> bool {
        let key = replica.rules.table_key(name);
        let account = self.primary.get(replica.account);
        account.is_some_and(|account| account.leaving.get(&key).is_some_and(|until| now < *until))
    }

    /// Brings the secondary to the state of `lag` before `now`, unless it is ahead of that already.
    pub(crate) fn catch_up(&mut self, now: DateTime, lag: Duration) {
        if let Some(secondary) = &mut self.secondary {
            secondary.catch_up(now, lag);
        }
    }

    /// Returns all accounts in the primary, and the Timestamp of the latest write.
    pub(crate) fn all(&self) -> (&Accounts, DateTime) {
        (&self.primary, self.last_write)
    }

    /// Returns an account in the addressed location, or `None` if nothing was written to it.
    pub(crate) fn account(&self, replica: Replica<'_>) -> Option<&Account> {
        let accounts = match &self.secondary {
            Some(secondary) if replica.is_behind => &secondary.accounts,
            _ => &self.primary,
        };
        accounts.get(replica.account)
    }

    /// Returns an account's properties in the addressed location.
    pub(crate) fn properties(&self, replica: Replica<'_>) -> ServiceProperties {
        let new = || Account::default().properties;
        self.account(replica)
            .map_or_else(new, |account| account.properties.clone())
    }

    pub(crate) fn table(&self, replica: Replica<'_>, name: &str) -> Option<&Table> {
        let key = replica.rules.table_key(name);
        if replica.deleted == Deleted::Lingering {
            let key = (replica.account.to_owned(), key);
            return self.lingering.as_ref()?.get(&key);
        }
        self.account(replica)?.tables.get(&key)
    }

    pub(crate) fn create_table(&mut self, replica: Replica<'_>, name: &str, now: DateTime) -> Result<()> {
        let key = replica.rules.table_key(name);
        if let Some(account) = self.primary.get(replica.account) {
            if account.tables.contains_key(&key) {
                return Err(ServiceError::TABLE_ALREADY_EXISTS);
            }
            if account.leaving.get(&key).is_some_and(|until| now < *until) {
                return Err(ServiceError::TABLE_BEING_DELETED);
            }
        }
        let table = Table {
            name: name.to_owned(),
            created: tick(&mut self.last_table, now),
            policies: Vec::new(),
            rows: Rows::new(replica.rules),
        };
        self.put(replica, vec![Effect::Table(key, Some(table))], now);
        Ok(())
    }

    /// Deletes a table. Its name is available again after `time_to_go`.
    pub(crate) fn delete_table(
        &mut self,
        replica: Replica<'_>,
        name: &str,
        now: DateTime,
        time_to_go: Duration,
    ) -> Result<()> {
        let key = replica.rules.table_key(name);
        let account = self.primary.get(replica.account);
        let (before, table) = account
            .and_then(|account| Some((&account.leaving, account.tables.get(&key)?)))
            .ok_or(ServiceError::RESOURCE_NOT_FOUND)?;
        if let Some(lingering) = &mut self.lingering {
            lingering.insert((replica.account.to_owned(), key.clone()), table.clone());
        }
        let mut leaving = before.clone();
        leaving.retain(|_, until| now < *until);
        if !time_to_go.is_zero() {
            leaving.insert(key.clone(), now + time_to_go);
        }
        let mut effects = Vec::new();
        if leaving != *before {
            effects.push(Effect::Leaving(leaving));
        }
        effects.push(Effect::Table(key, None));
        self.put(replica, effects, now);
        Ok(())
    }

    /// Deletes the tables of an account, in one change. Their names are available immediately.
    pub(crate) fn clear_account(&mut self, replica: Replica<'_>, now: DateTime) {
        let Some(account) = self.primary.get(replica.account) else {
            return;
        };
        let tables = account.tables.keys().map(|key| Effect::Table(key.clone(), None));
        let effects = tables.chain([Effect::Leaving(BTreeMap::new())]).collect();
        self.put(replica, effects, now);
    }

    /// Replaces a table's policies.
    pub(crate) fn set_policies(
        &mut self,
        replica: Replica<'_>,
        name: &str,
        policies: Vec<StoredAccessPolicy>,
        now: DateTime,
    ) -> Result<()> {
        self.table(replica, name).ok_or(ServiceError::TABLE_NOT_FOUND)?;
        let effect = Effect::Policies(replica.rules.table_key(name), policies);
        self.put(replica, vec![effect], now);
        Ok(())
    }

    /// Replaces an account's properties.
    pub(crate) fn set_properties(&mut self, replica: Replica<'_>, properties: ServiceProperties, now: DateTime) {
        self.put(replica, vec![Effect::Properties(properties)], now);
    }

    fn put(&mut self, replica: Replica<'_>, effects: Vec<Effect>, now: DateTime) {
        if let Some(secondary) = &mut self.secondary {
            for effect in effects.iter().cloned() {
                secondary.send(now, replica.account, effect);
            }
        }
        #[cfg(feature = "durable")]
        if let Some(journal) = &self.journal {
            journal.record(Entry::Write(replica.account.to_owned(), effects.clone()));
        }
        let account = self.primary.entry(replica.account.to_owned()).or_default();
        for effect in effects {
            account.apply(effect);
        }
    }

    /// Applies all changes, or none. An error names the failed change and the reason.
    pub(crate) fn apply(
        &mut self,
        replica: Replica<'_>,
        table: &str,
        changes: Vec<Change<'_>>,
        now: DateTime,
    ) -> std::result::Result<Vec<Applied>, (usize, ServiceError)> {
        self.apply_stamped(replica, table, changes, now, |time| time)
    }

    /// Applies all changes, or none. `timestamp` returns a unique Timestamp for a change at a time. Each change has a
    /// later time than the previous one.
    pub(crate) fn apply_stamped(
        &mut self,
        replica: Replica<'_>,
        table: &str,
        changes: Vec<Change<'_>>,
        now: DateTime,
        timestamp: impl Fn(DateTime) -> DateTime,
    ) -> std::result::Result<Vec<Applied>, (usize, ServiceError)> {
        let Self {
            primary,
            secondary,
            lingering,
            last_write,
            #[cfg(feature = "durable")]
            journal,
            ..
        } = self;
        let key = replica.rules.table_key(table);
        let is_lingering = replica.deleted == Deleted::Lingering;
        let table = match lingering {
            Some(lingering) if is_lingering => lingering.get_mut(&(replica.account.to_owned(), key.clone())),
            _ => primary
                .get_mut(replica.account)
                .and_then(|account| account.tables.get_mut(&key)),
        };
        let rows = &mut table.ok_or_else(|| (0, replica.missing_table()))?.rows;
        let mut applied = Vec::with_capacity(changes.len());
        let mut undo: Vec<Option<Row>> = Vec::with_capacity(changes.len());
        for (index, Change { id, action }) in changes.into_iter().enumerate() {
            let mut etag = None;
            let changed = rows.change(id.clone(), |before| {
                let properties = outcome(&id, action, before, replica.rules)?;
                let row = properties.map(|properties| Row::new(&properties, timestamp(tick(last_write, now))));
                etag = row.as_ref().map(|row| row.etag(replica.rules));
                Ok(row)
            });
            match changed {
                Ok(before) => undo.push(before),
                Err(service_error) => {
                    // Undoes the changes in reverse, in case a row occurs twice.
                    for (Applied { id, .. }, before) in applied.into_iter().zip(undo).rev() {
                        rows.set(id, before);
                    }
                    return Err((index, service_error));
                }
            }
            applied.push(Applied { id, etag });
        }
        if is_lingering {
            return Ok(applied);
        }
        let effects = || {
            let effect = |Applied { id, .. }: &Applied| Effect::Row(key.clone(), id.clone(), rows.get(id).cloned());
            applied.iter().map(effect)
        };
        if let Some(secondary) = secondary {
            for effect in effects() {
                secondary.send(now, replica.account, effect);
            }
        }
        #[cfg(feature = "durable")]
        if let (Some(journal), false) = (journal, applied.is_empty()) {
            journal.record(Entry::Write(replica.account.to_owned(), effects().collect()));
        }
        Ok(applied)
    }
}

/// Returns a time later than all before, so that no two writes have the same ETag, and no two tables the same origin.
fn tick(last: &mut DateTime, now: DateTime) -> DateTime {
    let next = DateTime::from_ticks(last.ticks() + 1).unwrap_or(DateTime::MAX);
    *last = now.max(next);
    *last
}

/// Returns the properties after an action, or `None` if it deletes the row.
fn outcome<'a>(
    id: &RowId,
    action: Action<'a>,
    before: Option<&'a Row>,
    rules: &ServiceRules,
) -> Result<Option<Properties<'a>>> {
    let mut properties = match action {
        Action::Insert(properties) => {
            if before.is_some() {
                return Err(ServiceError::ENTITY_ALREADY_EXISTS);
            }
            // The only write that keeps the order in which properties were sent (seen in 31 of 31 recorded reads).
            check_limits(id, &properties, rules)?;
            return Ok(Some(properties));
        }
        Action::Delete(condition) => return condition.check(before, rules).map(|()| None),
        Action::Replace(properties, condition) => {
            condition.map_or(Ok(()), |condition| condition.check(before, rules))?;
            properties
        }
        Action::Merge(changes, condition) => {
            condition.map_or(Ok(()), |condition| condition.check(before, rules))?;
            merged(before.into_iter().flat_map(Row::properties).collect(), changes)
        }
    };
    if rules.sorts_properties {
        sort(&mut properties);
    }
    check_limits(id, &properties, rules)?;
    Ok(Some(properties))
}

impl RowCondition {
    fn check(&self, row: Option<&Row>, rules: &ServiceRules) -> Result<()> {
        match (self, row) {
            (_, None) => Err(ServiceError::RESOURCE_NOT_FOUND),
            (Self::Matches(etag), _) if is_etag_with_doubled_quotes(etag) => Err(rules.doubled_quotes.clone()),
            (Self::Matches(etag), Some(row)) if *etag != row.etag(rules) => Err(ServiceError::CONDITION_NOT_SATISFIED),
            (Self::Exists | Self::Matches(_), Some(_)) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::{Edm, EdmValue};

    use super::*;
    use crate::rules::STORAGE;

    fn properties(names: &[(&'static str, i32)]) -> Properties<'static> {
        names
            .iter()
            .map(|(name, value)| ((*name).into(), EdmValue::from(*value)))
            .collect()
    }

    fn change<'a>(row_key: &str, action: Action<'a>) -> Change<'a> {
        Change {
            id: RowId::new("p", row_key),
            action,
        }
    }

    fn replica(account: &str) -> Replica<'_> {
        Replica {
            account,
            is_behind: false,
            deleted: Deleted::Missing,
            rules: &STORAGE,
        }
    }

    fn now() -> DateTime {
        DateTime::now()
    }

    fn store() -> Store {
        let mut store = Store::default();
        store.create_table(replica("a"), "Table", now()).unwrap();
        store
    }

    /// Returns the rows as text: keys and properties in order.
    fn rows(store: &Store) -> Vec<String> {
        let rows = &store.table(replica("a"), "table").unwrap().rows;
        rows.iter()
            .map(|(id, row)| {
                let names = row.properties().map(|(name, value)| match value {
                    Edm::Int32(value) => format!(" {name}={value}"),
                    other => panic!("{other:?}"),
                });
                format!("{}:{}", id.row_key, names.collect::<String>())
            })
            .collect()
    }

    #[test]
    fn insert_keeps_the_order_of_properties_and_every_other_write_sorts_them() {
        let mut store = store();
        let mut write = |change| store.apply(replica("a"), "TABLE", vec![change], now()).unwrap();
        write(change("1", Action::Insert(properties(&[("b", 1), ("a", 2)]))));
        write(change(
            "2",
            Action::Replace(properties(&[("b", 1), ("a", 2), ("B", 3)]), None),
        ));
        write(change("3", Action::Insert(properties(&[("b", 1), ("a", 2)]))));
        write(change(
            "3",
            Action::Merge(properties(&[("c", 3), ("a", 4)]), Some(RowCondition::Exists)),
        ));
        assert_eq!(rows(&store), ["1: b=1 a=2", "2: B=3 a=2 b=1", "3: a=4 b=1 c=3"]);
    }

    #[test]
    fn conditions_match_the_service() {
        let mut store = store();
        let mut write = |change| {
            store
                .apply(replica("a"), "Table", vec![change], now())
                .map_err(|(index, service_error)| (index, service_error.code))
        };
        let matches = |etag: &str| RowCondition::Matches(etag.to_owned());
        let first = write(change("1", Action::Insert(Properties::new()))).unwrap()[0]
            .etag
            .clone()
            .unwrap();
        for (action, code) in [
            (Action::Insert(Properties::new()), "EntityAlreadyExists"),
            (
                Action::Replace(Properties::new(), Some(matches("W/\"wrong\""))),
                "UpdateConditionNotSatisfied",
            ),
            (Action::Delete(matches("W/\"wrong\"")), "UpdateConditionNotSatisfied"),
        ] {
            assert_eq!(write(change("1", action)).unwrap_err(), (0, code));
        }
        for action in [
            Action::Replace(Properties::new(), Some(RowCondition::Exists)),
            Action::Merge(Properties::new(), Some(matches(&first))),
            Action::Delete(RowCondition::Exists),
        ] {
            assert_eq!(write(change("missing", action)).unwrap_err(), (0, "ResourceNotFound"));
        }
        let second = write(change("1", Action::Replace(Properties::new(), Some(matches(&first))))).unwrap();
        assert_ne!(second[0].etag.as_ref(), Some(&first));
        assert!(
            write(change("1", Action::Delete(matches(&first)))).is_err(),
            "the version is gone"
        );
        assert_eq!(
            write(change("1", Action::Delete(RowCondition::Exists))).unwrap()[0].etag,
            None
        );
    }

    #[test]
    fn failed_batch_changes_nothing() {
        let mut store = store();
        store
            .apply(
                replica("a"),
                "Table",
                vec![change("1", Action::Insert(properties(&[("a", 1)])))],
                now(),
            )
            .unwrap();
        store
            .apply(
                replica("a"),
                "Table",
                vec![change("2", Action::Insert(properties(&[("a", 2)])))],
                now(),
            )
            .unwrap();
        let before = format!("{:?}", store.table(replica("a"), "Table"));
        let failed = store.apply(
            replica("a"),
            "Table",
            vec![
                change("0", Action::Insert(properties(&[("a", 0)]))),
                change("1", Action::Delete(RowCondition::Exists)),
                change("2", Action::Merge(properties(&[("a", 3)]), None)),
                change("9", Action::Delete(RowCondition::Exists)),
            ],
            now(),
        );
        assert!(matches!(failed, Err((3, service_error)) if service_error == ServiceError::RESOURCE_NOT_FOUND));
        assert_eq!(format!("{:?}", store.table(replica("a"), "Table")), before);
    }

    #[test]
    fn etags_are_never_repeated() {
        let mut store = store();
        let changes = (0..1_000)
            .map(|n| change(&n.to_string(), Action::Insert(Properties::new())))
            .collect();
        let applied = store.apply(replica("a"), "Table", changes, now()).unwrap();
        let etags: std::collections::HashSet<_> = applied.iter().map(|applied| applied.etag.clone()).collect();
        assert_eq!(etags.len(), 1_000);
    }

    #[test]
    fn entity_beyond_the_limits_is_rejected_by_every_write() {
        let mut store = store();
        let many = |from: i32, to: i32| {
            (from..to)
                .map(|n| (format!("P{n}").into(), EdmValue::from(n)))
                .collect()
        };
        store
            .apply(
                replica("a"),
                "Table",
                vec![change("1", Action::Insert(many(0, 252)))],
                now(),
            )
            .unwrap();
        let failed = store.apply(
            replica("a"),
            "Table",
            vec![change("1", Action::Merge(many(252, 253), None))],
            now(),
        );
        assert_eq!(failed.unwrap_err().1, ServiceError::TOO_MANY_PROPERTIES);
        let large: Properties = (0..17)
            .map(|n| (format!("P{n}").into(), EdmValue::from(vec![0_u8; 65_536])))
            .collect();
        let failed = store.apply(replica("a"), "Table", vec![change("2", Action::Insert(large))], now());
        assert_eq!(failed.unwrap_err().1, ServiceError::ENTITY_TOO_LARGE);
    }

    #[test]
    fn table_names_compare_without_case_and_keep_it() {
        let mut store = store();
        assert_eq!(
            store.create_table(replica("a"), "TABLE", now()),
            Err(ServiceError::TABLE_ALREADY_EXISTS)
        );
        assert_eq!(store.table(replica("a"), "tAbLe").unwrap().name, "Table");
        assert!(store.table(replica("b"), "Table").is_none(), "accounts are apart");
        store.create_table(replica("b"), "Table", now()).unwrap();
        store
            .delete_table(replica("a"), "taBLE", now(), Duration::ZERO)
            .unwrap();
        assert_eq!(
            store.delete_table(replica("a"), "Table", now(), Duration::ZERO),
            Err(ServiceError::RESOURCE_NOT_FOUND)
        );
        assert!(
            store
                .apply(
                    replica("a"),
                    "Table",
                    vec![change("1", Action::Insert(Properties::new()))],
                    now()
                )
                .is_err()
        );
        assert!(store.table(replica("b"), "Table").is_some());
    }
}
