//! The operations of the matrix, one entry each.

/// Defines entries: the name, the methods that it calls, its settings, and the choice of its values.
///
/// ```ignore
/// entries! {
///     "batch with a retrieve" ["TableBatch::submit"] .batches() => |given| choose(given);
/// }
/// ```
///
/// is `&[Entry::new("batch with a retrieve", &["TableBatch::submit"], |given| choose(given)).batches()]`.
macro_rules! entries {
    ($($name:literal [$($method:literal),*] $(.$set:ident($($to:expr),*))* => |$given:tt| $choose:expr;)*) => {
        &[$(Entry::new($name, &[$($method),*], |$given| $choose)$(.$set($($to),*))*),*]
    };
}

mod bulk;
mod grouped;
mod policies;
mod queries;
mod reads;
mod selected;
mod service;
mod tables;
mod writes;

use azure_table::{ETag, TableOperation};

use super::model::{Cell, Demand, State, Write, key};
use super::operation::{Entry, Given};

pub(crate) use self::policies::policy;
pub(crate) use self::service::{properties, retention};

/// All of them.
pub(crate) fn all() -> Vec<Entry> {
    [
        writes::ENTRIES,
        reads::ENTRIES,
        queries::ENTRIES,
        bulk::ENTRIES,
        grouped::ENTRIES,
        selected::ENTRIES,
        tables::ENTRIES,
        policies::ENTRIES,
        service::ENTRIES,
    ]
    .concat()
}

/// The kinds of writes of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Insert,
    Replace,
    Merge,
    InsertOrReplace,
    InsertOrMerge,
    Delete,
    Patch,
}

const KINDS: [Kind; 7] = [
    Kind::Insert,
    Kind::Replace,
    Kind::Merge,
    Kind::InsertOrReplace,
    Kind::InsertOrMerge,
    Kind::Delete,
    Kind::Patch,
];

impl Given<'_> {
    /// Returns one of `all`, mostly one whose state the operation needs.
    fn pick(&self, all: &[&str], exists: impl Fn(&str) -> bool) -> String {
        pick(all, exists, !self.inserts)
    }

    /// A row.
    fn row(&self) -> String {
        self.pick(&super::model::ROWS, |row| self.state.rows.contains_key(row))
    }

    fn write(&self, kind: Kind) -> Write {
        write(kind, self.state, self.row(), self.value)
    }
}

/// A write of any kind, which mostly fits the state.
fn any_write(given: &Given<'_>, value: i64) -> Write {
    let kind = *fastrand::choice(&KINDS).unwrap();
    let inserts = kind == Kind::Insert;
    Given {
        value,
        inserts,
        ..*given
    }
    .write(kind)
}

fn pick(all: &[&str], exists: impl Fn(&str) -> bool, wanted: bool) -> String {
    let any = *fastrand::choice(all).unwrap();
    let fitting = all.iter().filter(|name| exists(name) == wanted);
    let fitting = fitting.collect::<Vec<_>>();
    match fastrand::choice(&fitting) {
        Some(fitting) if fastrand::u8(..) < 200 => (**fitting).to_owned(),
        _ => any.to_owned(),
    }
}

fn demand(state: &State, row: &str) -> Demand {
    const STALE: &str = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"";
    let stored = state.rows.get(row).and_then(|stored| stored.etag.clone());
    match (fastrand::u8(..8), stored) {
        (0..3, Some(etag)) => Demand::Version(etag),
        (3, _) => Demand::Version(ETag::new(STALE)),
        _ => Demand::Exists,
    }
}

fn write(kind: Kind, state: &State, row: String, value: i64) -> Write {
    let b = fastrand::bool().then_some(value);
    let cell = Cell::new(&row, value, b);
    match kind {
        Kind::Insert => Write::Insert(cell),
        Kind::Replace => Write::Replace(cell, demand(state, &row)),
        Kind::Merge => Write::Merge(cell, demand(state, &row)),
        Kind::InsertOrReplace => Write::InsertOrReplace(cell),
        Kind::InsertOrMerge => Write::InsertOrMerge(cell),
        Kind::Delete => Write::Delete(row.clone(), demand(state, &row)),
        Kind::Patch => Write::Patch(row.clone(), value, demand(state, &row)),
    }
}

/// A write as a value.
fn operation(write: &Write) -> TableOperation {
    let (operation, demand) = match write {
        Write::Insert(cell) => return TableOperation::insert(cell),
        Write::InsertOrReplace(cell) => return TableOperation::insert_or_replace(cell),
        Write::InsertOrMerge(cell) => return TableOperation::insert_or_merge(cell),
        Write::Replace(cell, demand) => (TableOperation::replace(cell), demand),
        Write::Merge(cell, demand) => (TableOperation::merge(cell), demand),
        Write::Delete(row, demand) => (TableOperation::delete::<Cell>(key(row)), demand),
        Write::Patch(row, a, demand) => (TableOperation::patch::<Cell>(key(row), [Cell::A.set(*a)]), demand),
    };
    match demand {
        Demand::Exists => operation,
        Demand::Version(etag) => operation.if_match(etag.clone()),
    }
}
