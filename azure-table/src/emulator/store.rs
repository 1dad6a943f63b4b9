//! What the emulator remembers: accounts, their tables, their rows in order.
//!
//! Owns the changes of rows, their conditions and their atomicity, and the clock of Timestamps. Knows nothing of HTTP
//! or JSON. One lock around it (in `emulator.rs`) makes every request atomic.
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge
//! Entity", "Delete Entity", "Performing entity group transactions".

use std::collections::{BTreeMap, HashMap};

use crate::emulator::refusal::{Refusal, Result};
use crate::emulator::row::{Properties, Row, RowId, check_limits, merged, sort};
use crate::model::datetime::DateTime;

/// All accounts.
#[derive(Debug)]
pub(crate) struct Store {
    accounts: HashMap<String, Tables>,
    last_write: DateTime,
}

/// An account's tables by lower-case name, which is also their order.
pub(crate) type Tables = BTreeMap<String, Table>;

/// A table and its rows.
#[derive(Debug)]
pub(crate) struct Table {
    /// As it was given at creation; names compare without case.
    pub(crate) name: String,
    pub(crate) created: DateTime,
    pub(crate) rows: BTreeMap<RowId, Row>,
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
            accounts: HashMap::new(),
            last_write: DateTime::MIN,
        }
    }
}

impl Store {
    /// An account's tables, in order.
    pub(crate) fn tables(&self, account: &str) -> Option<&Tables> {
        self.accounts.get(account)
    }

    pub(crate) fn table(&self, account: &str, name: &str) -> Option<&Table> {
        self.accounts.get(account)?.get(&name.to_ascii_lowercase())
    }

    pub(crate) fn create_table(&mut self, account: &str, name: &str) -> Result<()> {
        let tables = self.accounts.entry(account.to_owned()).or_default();
        match tables.entry(name.to_ascii_lowercase()) {
            std::collections::btree_map::Entry::Occupied(_) => Err(Refusal::TABLE_ALREADY_EXISTS),
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(Table {
                    name: name.to_owned(),
                    created: DateTime::now(),
                    rows: BTreeMap::new(),
                });
                Ok(())
            }
        }
    }

    pub(crate) fn delete_table(&mut self, account: &str, name: &str) -> Result<()> {
        let tables = self.accounts.get_mut(account).ok_or(Refusal::RESOURCE_NOT_FOUND)?;
        tables
            .remove(&name.to_ascii_lowercase())
            .map(drop)
            .ok_or(Refusal::RESOURCE_NOT_FOUND)
    }

    /// Makes all changes, or none: then it says which one failed, and why.
    pub(crate) fn apply(
        &mut self,
        account: &str,
        table: &str,
        changes: Vec<Change>,
    ) -> std::result::Result<Vec<Applied>, (usize, Refusal)> {
        let Self { accounts, last_write } = self;
        let table = accounts
            .get_mut(account)
            .and_then(|tables| tables.get_mut(&table.to_ascii_lowercase()));
        let rows = &mut table.ok_or((0, Refusal::TABLE_NOT_FOUND))?.rows;
        let mut applied = Vec::with_capacity(changes.len());
        let mut undo = Vec::with_capacity(changes.len());
        for (index, Change { id, action }) in changes.into_iter().enumerate() {
            let before = rows.get(&id);
            let after = match outcome(&id, action, before) {
                Ok(properties) => properties.map(|properties| Row {
                    properties,
                    timestamp: tick(last_write),
                }),
                Err(refusal) => {
                    // Backwards, should a row ever occur twice.
                    for (id, before) in undo.into_iter().rev() {
                        set(rows, id, before);
                    }
                    return Err((index, refusal));
                }
            };
            applied.push(Applied {
                id: id.clone(),
                etag: after.as_ref().map(Row::etag),
            });
            undo.push((id.clone(), set(rows, id, after)));
        }
        Ok(applied)
    }
}

/// A Timestamp later than all before, so that no two versions have the same ETag.
fn tick(last: &mut DateTime) -> DateTime {
    let next = DateTime::from_ticks(last.ticks() + 1).unwrap_or(DateTime::MAX);
    *last = DateTime::now().max(next);
    *last
}

/// Puts a row in place, or takes it away, and gives what was there.
fn set(rows: &mut BTreeMap<RowId, Row>, id: RowId, row: Option<Row>) -> Option<Row> {
    match row {
        Some(row) => rows.insert(id, row),
        None => rows.remove(&id),
    }
}

/// The properties after an action; `None` where the row is gone then.
fn outcome(id: &RowId, action: Action, before: Option<&Row>) -> Result<Option<Properties>> {
    let mut properties = match action {
        Action::Insert(properties) => {
            if before.is_some() {
                return Err(Refusal::ENTITY_ALREADY_EXISTS);
            }
            // The only write that keeps the order in which properties were sent (seen in 31 of 31 recorded reads).
            check_limits(id, &properties)?;
            return Ok(Some(properties));
        }
        Action::Delete(condition) => return condition.check(before).map(|()| None),
        Action::Replace(properties, condition) => {
            condition.map_or(Ok(()), |condition| condition.check(before))?;
            properties
        }
        Action::Merge(changes, condition) => {
            condition.map_or(Ok(()), |condition| condition.check(before))?;
            merged(before.map(|row| row.properties.clone()).unwrap_or_default(), changes)
        }
    };
    sort(&mut properties);
    check_limits(id, &properties)?;
    Ok(Some(properties))
}

impl Condition {
    fn check(&self, row: Option<&Row>) -> Result<()> {
        match (self, row) {
            (_, None) => Err(Refusal::RESOURCE_NOT_FOUND),
            (Self::Matches(etag), Some(row)) if *etag != row.etag() => Err(Refusal::CONDITION_NOT_SATISFIED),
            (Self::Exists | Self::Matches(_), Some(_)) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::edm::EdmValue;

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

    fn store() -> Store {
        let mut store = Store::default();
        store.create_table("a", "Table").unwrap();
        store
    }

    /// The rows as text: keys and properties in order.
    fn rows(store: &Store) -> Vec<String> {
        let rows = &store.table("a", "table").unwrap().rows;
        rows.iter()
            .map(|(id, row)| {
                let names = row.properties.iter().map(|(name, value)| match value {
                    EdmValue::Int32(value) => format!(" {name}={value}"),
                    other => panic!("{other:?}"),
                });
                format!("{}:{}", id.row_key, names.collect::<String>())
            })
            .collect()
    }

    #[test]
    fn an_insert_keeps_the_order_of_properties_and_every_other_write_sorts_them() {
        let mut store = store();
        let mut write = |change| store.apply("a", "TABLE", vec![change]).unwrap();
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
                .apply("a", "Table", vec![change])
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
            .apply("a", "Table", vec![change("1", Action::Insert(properties(&[("a", 1)])))])
            .unwrap();
        store
            .apply("a", "Table", vec![change("2", Action::Insert(properties(&[("a", 2)])))])
            .unwrap();
        let before = format!("{:?}", store.table("a", "Table"));
        let failed = store.apply(
            "a",
            "Table",
            vec![
                change("0", Action::Insert(properties(&[("a", 0)]))),
                change("1", Action::Delete(Condition::Exists)),
                change("2", Action::Merge(properties(&[("a", 3)]), None)),
                change("9", Action::Delete(Condition::Exists)),
            ],
        );
        assert!(matches!(failed, Err((3, refusal)) if refusal == Refusal::RESOURCE_NOT_FOUND));
        assert_eq!(format!("{:?}", store.table("a", "Table")), before);
    }

    #[test]
    fn versions_are_never_repeated() {
        let mut store = store();
        let changes = (0..1_000)
            .map(|n| change(&n.to_string(), Action::Insert(Properties::new())))
            .collect();
        let applied = store.apply("a", "Table", changes).unwrap();
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
            .apply("a", "Table", vec![change("1", Action::Insert(many(0, 252)))])
            .unwrap();
        let failed = store.apply("a", "Table", vec![change("1", Action::Merge(many(252, 253), None))]);
        assert_eq!(failed.unwrap_err().1, Refusal::TOO_MANY_PROPERTIES);
        let large: Properties = (0..17)
            .map(|n| (format!("P{n}").into(), EdmValue::from(vec![0_u8; 65_536])))
            .collect();
        let failed = store.apply("a", "Table", vec![change("2", Action::Insert(large))]);
        assert_eq!(failed.unwrap_err().1, Refusal::ENTITY_TOO_LARGE);
    }

    #[test]
    fn table_names_compare_without_case_and_keep_it() {
        let mut store = store();
        assert_eq!(store.create_table("a", "TABLE"), Err(Refusal::TABLE_ALREADY_EXISTS));
        assert_eq!(store.table("a", "tAbLe").unwrap().name, "Table");
        assert!(store.table("b", "Table").is_none(), "accounts are apart");
        store.create_table("b", "Table").unwrap();
        store.delete_table("a", "taBLE").unwrap();
        assert_eq!(store.delete_table("a", "Table"), Err(Refusal::RESOURCE_NOT_FOUND));
        assert!(
            store
                .apply("a", "Table", vec![change("1", Action::Insert(Properties::new()))])
                .is_err()
        );
        assert!(store.table("b", "Table").is_some());
    }
}
