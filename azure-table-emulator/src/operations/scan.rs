//! A scan: the evaluation of a filter row by row, in turns.
//!
//! Ensures that each property of a row is decoded once, however many comparisons use it. `filter/evaluate.rs` defines
//! the meaning of a filter. Also limits the work of a query before it releases the store and yields to other tasks. The
//! end of a turn depends on the rows and the filter, not on the time, so that tests on a paused clock are
//! deterministic.

use std::borrow::Cow;
use std::cell::OnceCell;

use azure_table_wire::filter::evaluate::matches;
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::key_range::KeyRange;
use azure_table_wire::value::edm::Edm;

use crate::rules::ServiceRules;
use crate::store::row::{Row, RowId};

/// An optional filter. Without one, every row matches.
#[derive(Debug)]
pub(crate) struct RowFilter<'a> {
    filter: Option<&'a Expression>,
    comparisons: usize,
    /// The compared properties, in order.
    names: Vec<&'a str>,
    /// The service finds no row by this filter.
    finds_nothing: bool,
}

impl<'a> RowFilter<'a> {
    pub(crate) fn new(filter: Option<&'a Expression>, rules: &ServiceRules) -> Self {
        let mut names = Vec::new();
        if let Some(filter) = filter {
            names_in(filter, &mut names);
        }
        let comparisons = names.len();
        names.sort_unstable();
        names.dedup();
        Self {
            filter,
            comparisons,
            finds_nothing: !rules.filters_by_timestamp && names.contains(&"Timestamp"),
            names,
        }
    }

    /// Returns the number of comparisons in the filter.
    pub(crate) fn comparisons(&self) -> usize {
        self.comparisons
    }

    /// Returns the range of keys that can match.
    pub(crate) fn range(&self) -> KeyRange<'a> {
        KeyRange::of(self.filter)
    }

    /// Returns `true` if a row matches.
    pub(crate) fn accepts(&self, id: &RowId, row: &Row) -> bool {
        let Some(filter) = self.filter else {
            return true;
        };
        if self.finds_nothing {
            return false;
        }
        if self.comparisons == self.names.len() {
            return matches(filter, &|name: &str| row.value(id, name));
        }
        let values: Vec<OnceCell<Option<Edm<'_>>>> = vec![OnceCell::new(); self.names.len()];
        matches(filter, &|name: &str| {
            let index = self.names.binary_search_by(|known| (*known).cmp(name)).ok()?;
            let value = values.get(index)?.get_or_init(|| row.value(id, name));
            value.as_ref().map(borrowed)
        })
    }

    /// Returns `true` if a table of this name matches.
    pub(crate) fn accepts_table(&self, name: &str) -> bool {
        let property = |property: &str| (property == "TableName").then_some(Edm::String(Cow::Borrowed(name)));
        self.filter.is_none_or(|filter| matches(filter, &property))
    }
}

fn names_in<'a>(filter: &'a Expression, names: &mut Vec<&'a str>) {
    match filter {
        Expression::Comparison { name, .. } => names.push(name),
        Expression::And(parts) | Expression::Or(parts) => parts.iter().for_each(|part| names_in(part, names)),
        Expression::Not(inner) => names_in(inner, names),
        Expression::Raw(_) => {}
    }
}

/// Returns the same value, borrowing its text and bytes.
fn borrowed<'a>(value: &'a Edm<'_>) -> Edm<'a> {
    match value {
        Edm::String(text) => Edm::String(Cow::Borrowed(text)),
        Edm::Binary(bytes) => Edm::Binary(Cow::Borrowed(bytes)),
        Edm::Boolean(value) => Edm::Boolean(*value),
        Edm::Int32(value) => Edm::Int32(*value),
        Edm::Int64(value) => Edm::Int64(*value),
        Edm::Double(value) => Edm::Double(*value),
        Edm::DateTime(value) => Edm::DateTime(*value),
        Edm::Guid(value) => Edm::Guid(*value),
    }
}

/// The work of a turn: comparisons, rows, and quarters of a KiB. About 0.1 ms.
const WORK: usize = 2_048;
/// The bytes of a row that take as long to read as a comparison.
const BYTES: usize = 256;

/// The remaining work of a turn.
#[derive(Debug)]
pub(crate) struct ScanTurn(usize);

impl ScanTurn {
    pub(crate) fn new() -> Self {
        Self(WORK)
    }

    /// Takes the work on an item of `bytes` bytes with this number of comparisons from the turn. Returns `false` if the
    /// turn was used up before.
    pub(crate) fn take(&mut self, comparisons: usize, bytes: usize) -> bool {
        let has_room = self.0 > 0;
        self.0 = self.0.saturating_sub(1 + comparisons + bytes / BYTES);
        has_room
    }
}
