//! What the emulator remembers: accounts, their settings, their tables, their rows in order.
//!
//! Owns the changes of rows, their conditions and their atomicity, the uniqueness of Timestamps, and the names of tables that
//! are on their way out. The copy in the second region is `store/secondary.rs`, the rows of a table and who reads them `store/rows.rs`.
//! Knows nothing of HTTP or JSON. One lock around it (in `emulator.rs`) makes every write atomic.
//! Not confirmed: the properties that a new account has (here all is off).
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge
//! Entity", "Delete Entity", "Delete Table", "Performing entity group transactions".

pub(crate) mod json_text;
pub(crate) mod members;
pub(crate) mod row;
mod rows;
mod secondary;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::emulator::request::address::Site;
use crate::emulator::rules::Rules;
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::store::row::{Properties, Row, RowId, check_limits, merged, sort};
use crate::emulator::store::secondary::Secondary;
use crate::model::datetime::DateTime;
use crate::protocol::access_policy::StoredAccessPolicy;
use crate::protocol::service_properties::ServiceProperties;
use crate::protocol::service_properties::analytics::{Logging, Metrics};

pub(crate) use crate::emulator::store::rows::{Changed, Reader, Rows};

/// All accounts, in both regions.
#[derive(Debug)]
pub(crate) struct Store {
    primary: Accounts,
    /// Where the second region is behind the first.
    secondary: Option<Secondary>,
    last_write: DateTime,
}

pub(crate) type Accounts = HashMap<String, Account>;

/// An account's tables by the form of their names that counts, which is also their order.
pub(crate) type Tables = BTreeMap<String, Table>;

/// What belongs to one account.
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
    /// Without its rows, which come one by one; `None` where it is gone.
    Table(String, Option<Table>),
    Policies(String, Vec<StoredAccessPolicy>),
    /// `None` where it is gone.
    Row(String, RowId, Option<Row>),
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
    fn make(&mut self, effect: Effect) {
        match effect {
            Effect::Properties(properties) => self.properties = properties,
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

/// One write.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) id: RowId,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Insert(Properties),
    /// Without a condition the row may be missing, and is made then.
    Replace(Properties, Option<Condition>),
    /// Without a condition the row may be missing, and is made then.
    Merge(Properties, Option<Condition>),
    Delete(Condition),
}

/// What a write demands of the stored row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It is there.
    Exists,
    /// It is there and has this ETag.
    Matches(String),
}

/// What a write left behind.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) id: RowId,
    /// The new version; `None` after a delete.
    pub(crate) etag: Option<String>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            primary: Accounts::new(),
            secondary: None,
            last_write: DateTime::MIN,
        }
    }
}

impl Store {
    /// Lets the second region be behind, from now on.
    pub(crate) fn part_regions(&mut self) {
        self.secondary.get_or_insert_with(|| Secondary::of(&self.primary));
    }

    /// Brings the second region to the state of `time`, if it was not there already.
    pub(crate) fn catch_up(&mut self, time: DateTime) {
        if let Some(secondary) = &mut self.secondary {
            secondary.catch_up(time);
        }
    }

    /// All accounts as the first region has them, and the time of the last version of a row.
    pub(crate) fn all(&self) -> (&Accounts, DateTime) {
        (&self.primary, self.last_write)
    }

    /// Puts others in their place, in both regions.
    pub(crate) fn replace_all(&mut self, accounts: Accounts, last_write: DateTime) {
        if let Some(secondary) = &mut self.secondary {
            *secondary = Secondary::of(&accounts);
        }
        self.primary = accounts;
        self.last_write = last_write;
    }

    /// An account, in the region that is asked; `None` where nothing was written to it.
    pub(crate) fn account(&self, site: &Site) -> Option<&Account> {
        let accounts = match &self.secondary {
            Some(secondary) if site.is_behind => &secondary.accounts,
            _ => &self.primary,
        };
        accounts.get(&site.account)
    }

    /// An account's properties, in the region that is asked.
    pub(crate) fn properties(&self, site: &Site) -> ServiceProperties {
        let new = || Account::default().properties;
        self.account(site)
            .map_or_else(new, |account| account.properties.clone())
    }

    pub(crate) fn table(&self, site: &Site, name: &str) -> Option<&Table> {
        self.account(site)?.tables.get(&site.rules.table_key(name))
    }

    pub(crate) fn create_table(&mut self, site: &Site, name: &str, now: DateTime) -> Result<()> {
        let key = site.rules.table_key(name);
        if let Some(account) = self.primary.get(&site.account) {
            if account.tables.contains_key(&key) {
                return Err(Refusal::TABLE_ALREADY_EXISTS);
            }
            if account.leaving.get(&key).is_some_and(|until| now < *until) {
                return Err(Refusal::TABLE_BEING_DELETED);
            }
        }
        let table = Table {
            name: name.to_owned(),
            created: now,
            policies: Vec::new(),
            rows: Rows::default(),
        };
        self.put(site, Effect::Table(key, Some(table)), now);
        Ok(())
    }

    /// Takes a table away. Its name is free again after `time_to_go`.
    pub(crate) fn delete_table(&mut self, site: &Site, name: &str, now: DateTime, time_to_go: Duration) -> Result<()> {
        let key = site.rules.table_key(name);
        let account = self.primary.get_mut(&site.account);
        let account = account.filter(|account| account.tables.contains_key(&key));
        let leaving = &mut account.ok_or(Refusal::RESOURCE_NOT_FOUND)?.leaving;
        leaving.retain(|_, until| now < *until);
        if !time_to_go.is_zero() {
            leaving.insert(key.clone(), now + time_to_go);
        }
        self.put(site, Effect::Table(key, None), now);
        Ok(())
    }

    /// Gives a table other policies.
    pub(crate) fn set_policies(
        &mut self,
        site: &Site,
        name: &str,
        policies: Vec<StoredAccessPolicy>,
        now: DateTime,
    ) -> Result<()> {
        self.table(site, name).ok_or(Refusal::TABLE_NOT_FOUND)?;
        self.put(site, Effect::Policies(site.rules.table_key(name), policies), now);
        Ok(())
    }

    /// Gives an account other properties.
    pub(crate) fn set_properties(&mut self, site: &Site, properties: ServiceProperties, now: DateTime) {
        self.put(site, Effect::Properties(properties), now);
    }

    fn put(&mut self, site: &Site, effect: Effect, now: DateTime) {
        if let Some(secondary) = &mut self.secondary {
            secondary.send(now, &site.account, effect.clone());
        }
        self.primary.entry(site.account.clone()).or_default().make(effect);
    }

    /// Makes all changes, or none: then it says which one failed, and why.
    pub(crate) fn apply(
        &mut self,
        site: &Site,
        table: &str,
        changes: Vec<Change>,
        now: DateTime,
    ) -> std::result::Result<Vec<Applied>, (usize, Refusal)> {
        let Self {
            primary,
            secondary,
            last_write,
        } = self;
        let key = site.rules.table_key(table);
        let table = primary
            .get_mut(&site.account)
            .and_then(|account| account.tables.get_mut(&key));
        let rows = &mut table.ok_or((0, Refusal::TABLE_NOT_FOUND))?.rows;
        let mut applied = Vec::with_capacity(changes.len());
        let mut undo: Vec<Option<Row>> = Vec::with_capacity(changes.len());
        for (index, Change { id, action }) in changes.into_iter().enumerate() {
            let before = rows.get(&id);
            let after = match outcome(&id, action, before, site.rules) {
                Ok(properties) => properties.map(|properties| Row::new(&properties, tick(last_write, now))),
                Err(refusal) => {
                    // Backwards, should a row ever occur twice.
                    for (Applied { id, .. }, before) in applied.into_iter().zip(undo).rev() {
                        rows.set(id, before);
                    }
                    return Err((index, refusal));
                }
            };
            applied.push(Applied {
                id: id.clone(),
                etag: after.as_ref().map(|row| row.etag(site.rules)),
            });
            undo.push(rows.set(id, after));
        }
        if let Some(secondary) = secondary {
            for Applied { id, .. } in &applied {
                let effect = Effect::Row(key.clone(), id.clone(), rows.get(id).cloned());
                secondary.send(now, &site.account, effect);
            }
        }
        Ok(applied)
    }
}

/// A Timestamp later than all before, so that no two versions have the same ETag.
fn tick(last: &mut DateTime, now: DateTime) -> DateTime {
    let next = DateTime::from_ticks(last.ticks() + 1).unwrap_or(DateTime::MAX);
    *last = now.max(next);
    *last
}

/// The properties after an action; `None` where the row is gone then.
fn outcome(id: &RowId, action: Action, before: Option<&Row>, rules: &Rules) -> Result<Option<Properties>> {
    let mut properties = match action {
        Action::Insert(properties) => {
            if before.is_some() {
                return Err(Refusal::ENTITY_ALREADY_EXISTS);
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
            let stored = before.into_iter().flat_map(Row::properties);
            let stored = stored.map(|(name, value)| (name.into(), value.into_owned()));
            merged(stored.collect(), changes)
        }
    };
    if rules.sorts_properties {
        sort(&mut properties);
    }
    check_limits(id, &properties, rules)?;
    Ok(Some(properties))
}

impl Condition {
    fn check(&self, row: Option<&Row>, rules: &Rules) -> Result<()> {
        match (self, row) {
            (_, None) => Err(Refusal::RESOURCE_NOT_FOUND),
            (Self::Matches(etag), Some(row)) if *etag != row.etag(rules) => Err(Refusal::CONDITION_NOT_SATISFIED),
            (Self::Exists | Self::Matches(_), Some(_)) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::edm::{Edm, EdmValue};

    fn properties(names: &[(&str, i32)]) -> Properties {
        names
            .iter()
            .map(|(name, value)| ((*name).into(), EdmValue::from(*value)))
            .collect()
    }

    fn change(row_key: &str, action: Action) -> Change {
        Change {
            id: RowId::new("p", row_key),
            action,
        }
    }

    fn site(account: &str) -> Site {
        Site::of(&format!("http://localhost/{account}").parse().unwrap()).unwrap()
    }

    fn now() -> DateTime {
        DateTime::now()
    }

    fn store() -> Store {
        let mut store = Store::default();
        store.create_table(&site("a"), "Table", now()).unwrap();
        store
    }

    /// The rows as text: keys and properties in order.
    fn rows(store: &Store) -> Vec<String> {
        let rows = &store.table(&site("a"), "table").unwrap().rows;
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
    fn an_insert_keeps_the_order_of_properties_and_every_other_write_sorts_them() {
        let mut store = store();
        let mut write = |change| store.apply(&site("a"), "TABLE", vec![change], now()).unwrap();
        write(change("1", Action::Insert(properties(&[("b", 1), ("a", 2)]))));
        write(change(
            "2",
            Action::Replace(properties(&[("b", 1), ("a", 2), ("B", 3)]), None),
        ));
        write(change("3", Action::Insert(properties(&[("b", 1), ("a", 2)]))));
        write(change(
            "3",
            Action::Merge(properties(&[("c", 3), ("a", 4)]), Some(Condition::Exists)),
        ));
        assert_eq!(rows(&store), ["1: b=1 a=2", "2: B=3 a=2 b=1", "3: a=4 b=1 c=3"]);
    }

    #[test]
    fn conditions_are_those_of_the_service() {
        let mut store = store();
        let mut write = |change| {
            store
                .apply(&site("a"), "Table", vec![change], now())
                .map_err(|(index, refusal)| (index, refusal.code))
        };
        let matches = |etag: &str| Condition::Matches(etag.to_owned());
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
            Action::Replace(Properties::new(), Some(Condition::Exists)),
            Action::Merge(Properties::new(), Some(matches(&first))),
            Action::Delete(Condition::Exists),
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
            write(change("1", Action::Delete(Condition::Exists))).unwrap()[0].etag,
            None
        );
    }

    #[test]
    fn a_failed_batch_leaves_no_trace() {
        let mut store = store();
        store
            .apply(
                &site("a"),
                "Table",
                vec![change("1", Action::Insert(properties(&[("a", 1)])))],
                now(),
            )
            .unwrap();
        store
            .apply(
                &site("a"),
                "Table",
                vec![change("2", Action::Insert(properties(&[("a", 2)])))],
                now(),
            )
            .unwrap();
        let before = format!("{:?}", store.table(&site("a"), "Table"));
        let failed = store.apply(
            &site("a"),
            "Table",
            vec![
                change("0", Action::Insert(properties(&[("a", 0)]))),
                change("1", Action::Delete(Condition::Exists)),
                change("2", Action::Merge(properties(&[("a", 3)]), None)),
                change("9", Action::Delete(Condition::Exists)),
            ],
            now(),
        );
        assert!(matches!(failed, Err((3, refusal)) if refusal == Refusal::RESOURCE_NOT_FOUND));
        assert_eq!(format!("{:?}", store.table(&site("a"), "Table")), before);
    }

    #[test]
    fn versions_are_never_repeated() {
        let mut store = store();
        let changes = (0..1_000)
            .map(|n| change(&n.to_string(), Action::Insert(Properties::new())))
            .collect();
        let applied = store.apply(&site("a"), "Table", changes, now()).unwrap();
        let etags: std::collections::HashSet<_> = applied.iter().map(|applied| applied.etag.clone()).collect();
        assert_eq!(etags.len(), 1_000);
    }

    #[test]
    fn an_entity_beyond_the_limits_is_refused_whichever_write_makes_it_so() {
        let mut store = store();
        let many = |from: i32, to: i32| {
            (from..to)
                .map(|n| (format!("P{n}").into(), EdmValue::from(n)))
                .collect()
        };
        store
            .apply(
                &site("a"),
                "Table",
                vec![change("1", Action::Insert(many(0, 252)))],
                now(),
            )
            .unwrap();
        let failed = store.apply(
            &site("a"),
            "Table",
            vec![change("1", Action::Merge(many(252, 253), None))],
            now(),
        );
        assert_eq!(failed.unwrap_err().1, Refusal::TOO_MANY_PROPERTIES);
        let large: Properties = (0..17)
            .map(|n| (format!("P{n}").into(), EdmValue::from(vec![0_u8; 65_536])))
            .collect();
        let failed = store.apply(&site("a"), "Table", vec![change("2", Action::Insert(large))], now());
        assert_eq!(failed.unwrap_err().1, Refusal::ENTITY_TOO_LARGE);
    }

    #[test]
    fn table_names_compare_without_case_and_keep_it() {
        let mut store = store();
        assert_eq!(
            store.create_table(&site("a"), "TABLE", now()),
            Err(Refusal::TABLE_ALREADY_EXISTS)
        );
        assert_eq!(store.table(&site("a"), "tAbLe").unwrap().name, "Table");
        assert!(store.table(&site("b"), "Table").is_none(), "accounts are apart");
        store.create_table(&site("b"), "Table", now()).unwrap();
        store.delete_table(&site("a"), "taBLE", now(), Duration::ZERO).unwrap();
        assert_eq!(
            store.delete_table(&site("a"), "Table", now(), Duration::ZERO),
            Err(Refusal::RESOURCE_NOT_FOUND)
        );
        assert!(
            store
                .apply(
                    &site("a"),
                    "Table",
                    vec![change("1", Action::Insert(Properties::new()))],
                    now()
                )
                .is_err()
        );
        assert!(store.table(&site("b"), "Table").is_some());
    }
}
