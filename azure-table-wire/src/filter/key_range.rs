//! The range of rows that a filter can match, derived from its conditions on the keys.
//!
//! Only conditions that must all hold narrow the range. It is never too narrow, but may be wider than the filter.

use std::cmp::{self, Ordering};

use crate::filter::expression::{Comparison, Expression};
use crate::value::edm::{Edm, EdmValue};
use crate::value::ordinal;

/// A range of rows: a range of partitions and a range of RowKeys.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyRange<'f> {
    partitions: Limits<'f>,
    rows: Limits<'f>,
}

/// A range of the texts of one key.
#[derive(Clone, Copy, Debug, Default)]
struct Limits<'f> {
    from: &'f str,
    to: Option<To<'f>>,
}

#[derive(Clone, Copy, Debug)]
struct To<'f> {
    key: &'f str,
    is_inside: bool,
}

impl<'f> KeyRange<'f> {
    /// Returns the range in which all conditions can hold.
    pub fn of(conditions: impl IntoIterator<Item = &'f Expression>) -> Self {
        conditions.into_iter().fold(Self::default(), Self::and)
    }

    /// Returns the least keys of the range.
    pub fn start(&self) -> (&'f str, &'f str) {
        let row = if self.is_one_partition() { self.rows.from } else { "" };
        (self.partitions.from, row)
    }

    /// Returns the PartitionKey that ends the range, inside of it or right after it.
    pub fn end(&self) -> Option<&'f str> {
        self.partitions.to.map(|to| to.key)
    }

    /// Returns `true` if a row, and so all rows after it, are outside of the range.
    pub fn is_past(&self, partition_key: &str, row_key: &str) -> bool {
        let is_in_only_partition = self.is_one_partition() && partition_key == self.partitions.from;
        self.partitions.is_past(partition_key) || is_in_only_partition && self.rows.is_past(row_key)
    }

    pub fn is_one_partition(&self) -> bool {
        self.partitions
            .to
            .is_some_and(|to| to.is_inside && to.key == self.partitions.from)
    }

    /// Returns `true` if no row can be in the range.
    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty() || self.rows.is_empty()
    }

    /// Returns `true` if the range limits a key.
    pub fn is_narrow(&self) -> bool {
        self.partitions.is_narrow() || self.rows.is_narrow()
    }

    /// Returns `true` if the range limits the PartitionKey.
    pub fn names_partitions(&self) -> bool {
        self.partitions.is_narrow()
    }

    /// Returns the smallest range of partitions that contains all of these, or `None` without any.
    pub fn hull(ranges: impl Iterator<Item = Self>) -> Option<Self> {
        ranges.reduce(|a, b| Self {
            partitions: a.partitions.with(b.partitions),
            rows: Limits::default(),
        })
    }

    /// Returns the conditions on the PartitionKey that describe the range.
    pub fn partition_conditions(&self) -> Vec<Expression> {
        let compare = |operator, key: &str| Expression::comparison("PartitionKey", operator, EdmValue::from(key));
        if self.is_one_partition() {
            return vec![compare(Comparison::Eq, self.partitions.from)];
        }
        let from = (!self.partitions.from.is_empty()).then(|| compare(Comparison::Ge, self.partitions.from));
        let to = self.partitions.to.map(|to| {
            let operator = if to.is_inside { Comparison::Le } else { Comparison::Lt };
            compare(operator, to.key)
        });
        from.into_iter().chain(to).collect()
    }

    /// Returns the range where `condition` holds too.
    pub fn and(mut self, condition: &'f Expression) -> Self {
        self.narrow(condition);
        self
    }

    /// Returns `true` if all rows of this range sort before the rows of `other`, which does not start before it.
    fn ends_before(&self, other: &Self) -> bool {
        if self.is_partition_of(other) {
            self.rows.is_past(other.rows.from)
        } else {
            self.partitions.is_past(other.partitions.from)
        }
    }

    /// Returns `true` if both are in the same single partition.
    fn is_partition_of(&self, other: &Self) -> bool {
        self.is_one_partition() && other.is_one_partition() && self.partitions.from == other.partitions.from
    }

    fn narrow(&mut self, filter: &'f Expression) {
        match filter {
            Expression::And(all) => all.iter().for_each(|part| self.narrow(part)),
            Expression::Comparison {
                name,
                operator,
                value: Edm::String(key),
            } => match &**name {
                "PartitionKey" => self.partitions.narrow(*operator, key),
                "RowKey" => self.rows.narrow(*operator, key),
                _ => {}
            },
            _ => {}
        }
    }
}

/// The furthest end of ranges that arrive in the order of their starts.
#[derive(Debug, Default)]
pub struct Furthest<'f> {
    /// The furthest range over several partitions.
    wide: Option<KeyRange<'f>>,
    /// The furthest range of the latest single partition.
    narrow: Option<KeyRange<'f>>,
}

impl<'f> Furthest<'f> {
    /// Returns `true` if the rows of all ranges sort before the rows of `next`, which starts before none of them.
    pub fn ends_before(&self, next: &KeyRange<'f>) -> bool {
        [&self.wide, &self.narrow]
            .into_iter()
            .flatten()
            .all(|range| range.ends_before(next))
    }

    pub fn extend(&mut self, range: KeyRange<'f>) {
        if !range.is_one_partition() {
            let is_further = |known: &KeyRange<'f>| range.partitions.ends_after(&known.partitions);
            if self.wide.as_ref().is_none_or(is_further) {
                self.wide = Some(range);
            }
            return;
        }
        // Later ranges never reach back to an earlier partition.
        let is_further = |known: &KeyRange<'f>| !known.is_partition_of(&range) || range.rows.ends_after(&known.rows);
        if self.narrow.as_ref().is_none_or(is_further) {
            self.narrow = Some(range);
        }
    }
}

impl To<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        ordinal::compare(self.key, other.key).then(self.is_inside.cmp(&other.is_inside))
    }
}

impl<'f> Limits<'f> {
    fn narrow(&mut self, operator: Comparison, key: &'f str) {
        let begins = matches!(operator, Comparison::Eq | Comparison::Ge | Comparison::Gt);
        // The limit is usually still unset. For thousands of keys, comparing with an empty text took half of the time.
        if begins && (self.from.is_empty() || ordinal::compare(key, self.from).is_gt()) {
            self.from = key;
        }
        if matches!(operator, Comparison::Eq | Comparison::Le | Comparison::Lt) {
            let is_inside = operator != Comparison::Lt;
            let to = To { key, is_inside };
            if self.to.is_none_or(|known| to.compare(&known).is_lt()) {
                self.to = Some(to);
            }
        }
    }

    /// Returns the smallest limits that contain both.
    fn with(self, other: Self) -> Self {
        let from = cmp::min_by(self.from, other.from, |a, b| ordinal::compare(a, b));
        let to = self.to.zip(other.to).map(|(a, b)| cmp::max_by(a, b, To::compare));
        Self { from, to }
    }

    fn ends_after(&self, other: &Self) -> bool {
        match (self.to, other.to) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(a), Some(b)) => a.compare(&b).is_gt(),
        }
    }

    fn is_past(&self, key: &str) -> bool {
        self.to
            .is_some_and(|to| to.compare(&To { key, is_inside: true }).is_lt())
    }

    fn is_empty(&self) -> bool {
        self.is_past(self.from)
    }

    fn is_narrow(&self) -> bool {
        !self.from.is_empty() || self.to.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::evaluate::matches;
    use crate::filter::parse::parse;

    #[test]
    fn only_conditions_on_keys_narrow_the_range() {
        for (filter, start, past) in [
            ("PartitionKey eq 'b'", ("b", ""), [false, false, true]),
            (
                "PartitionKey eq 'b' and RowKey gt '2' and A eq 1",
                ("b", "2"),
                [false, false, true],
            ),
            (
                "PartitionKey eq 'b' and (RowKey ge '1' and RowKey lt '2')",
                ("b", "1"),
                [false, true, true],
            ),
            ("PartitionKey lt 'b'", ("", ""), [false, true, true]),
            ("PartitionKey ge 'b' or A eq 1", ("", ""), [false, false, false]),
            ("RowKey eq '2'", ("", ""), [false, false, false]),
            ("not (PartitionKey eq 'b')", ("", ""), [false, false, false]),
        ] {
            let expression = parse(filter).unwrap();
            let range = KeyRange::of([&expression]);
            assert_eq!(range.start(), start, "{filter}");
            let rows = [("a", "9"), ("b", "2"), ("c", "1")].map(|(p, r)| range.is_past(p, r));
            assert_eq!(rows, past, "{filter}");
        }
    }

    proptest! {
        #[test]
        fn no_row_outside_of_the_range_matches(
            parts in proptest::collection::vec((
                proptest::sample::select(vec!["PartitionKey", "RowKey"]),
                proptest::sample::select(vec!["eq", "ne", "gt", "ge", "lt", "le"]),
                "[a-c]{0,2}",
            ), 1..5),
            partition in "[a-c]{0,2}",
            row in "[a-c]{0,2}",
        ) {
            let text: Vec<String> = parts.iter().map(|(name, op, key)| format!("{name} {op} '{key}'")).collect();
            let expression = parse(&text.join(" and ")).unwrap();
            let range = KeyRange::of([&expression]);
            let id = (partition.as_str(), row.as_str());
            let property = |name: &str| {
                Some(Edm::String(if name == "RowKey" { row.as_str() } else { partition.as_str() }.into()))
            };
            if matches(&expression, &property) {
                prop_assert!(id >= range.start() && !range.is_past(id.0, id.1) && !range.is_empty());
            }
        }
    }
}
