//! The part of a table that the service reads for a filter.
//!
//! Defines [`AccessPath`] and derives it from the conditions on the keys. Only conditions that every row must meet
//! count: a condition inside an `or` or a `not` narrows nothing.
//!
//! Source: "Design for querying" (storage table design guide): point query, range query, partition scan, table scan.

use std::fmt;

use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::value::edm::Edm;

use crate::filter::exclusion::is_exclusion;

/// The part of a table that a query reads, from one entity to the whole table.
///
/// The query may return fewer rows, but the rows that the service reads determine the time and the cost.
///
/// Source: "Design for querying" (storage table design guide).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AccessPath {
    /// One entity: both keys are known.
    Point,
    /// A range of one partition.
    RowRange,
    /// One partition.
    Partition,
    /// A range of partitions.
    PartitionRange,
    /// The whole table.
    TableScan,
}

impl fmt::Display for AccessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "one entity",
            Self::RowRange => "a range of one partition",
            Self::Partition => "one partition",
            Self::PartitionRange => "a range of partitions",
            Self::TableScan => "the whole table",
        })
    }
}

/// The conditions of a filter on the keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    partition: Bound,
    row: Bound,
    /// A key is compared inside an `or`, other than to exclude a prefix.
    pub has_key_in_or: bool,
    /// The filter contains raw text, which was not analyzed.
    pub has_raw: bool,
    /// The number of comparisons, without those in raw text.
    pub comparisons: usize,
    /// The compared properties other than the keys, with the types of the values.
    pub properties: Vec<(Box<str>, &'static str)>,
}

/// The condition on a key, the weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    #[default]
    Free,
    Range,
    Exact,
}

impl Access {
    /// Returns the access of conditions that all must hold.
    pub(crate) fn of<'a>(conditions: impl IntoIterator<Item = &'a Expression>) -> Self {
        let mut access = Self::default();
        for condition in conditions {
            access.look(condition, true, false);
        }
        access
    }

    /// Returns the part of the table that the service reads.
    pub(crate) fn path(&self) -> AccessPath {
        self.path_beside(&Self::default())
    }

    /// Returns the path of a query to which the conditions of `other` apply as well.
    pub(crate) fn path_beside(&self, other: &Self) -> AccessPath {
        match (self.partition.max(other.partition), self.row.max(other.row)) {
            (Bound::Exact, Bound::Exact) => AccessPath::Point,
            (Bound::Exact, Bound::Range) => AccessPath::RowRange,
            (Bound::Exact, Bound::Free) => AccessPath::Partition,
            (Bound::Range, _) => AccessPath::PartitionRange,
            (Bound::Free, _) => AccessPath::TableScan,
        }
    }

    /// Returns `true` if a RowKey is known without its partition.
    pub(crate) fn has_row_alone(&self) -> bool {
        self.partition == Bound::Free && self.row > Bound::Free
    }

    fn look(&mut self, expression: &Expression, is_demanded: bool, is_in_or: bool) {
        match expression {
            Expression::Comparison { name, operator, value } => {
                self.comparisons += 1;
                let bound = match operator {
                    // No bound: the empty text sorts before all others.
                    Comparison::Ge | Comparison::Gt if *value == Edm::String("".into()) => Bound::Free,
                    Comparison::Eq => Bound::Exact,
                    Comparison::Ne => Bound::Free,
                    _ => Bound::Range,
                };
                let key = match &**name {
                    "PartitionKey" => &mut self.partition,
                    "RowKey" => &mut self.row,
                    _ => return self.look_at(name, value),
                };
                if is_demanded {
                    *key = bound.max(*key);
                }
                self.has_key_in_or |= is_in_or;
            }
            Expression::And(all) => all.iter().for_each(|part| self.look(part, is_demanded, is_in_or)),
            Expression::Or(any) => {
                let is_in_or = is_in_or || !is_exclusion(any);
                any.iter().for_each(|part| self.look(part, false, is_in_or));
            }
            Expression::Not(inner) => self.look(inner, false, is_in_or),
            Expression::Raw(_) => self.has_raw = true,
        }
    }

    fn look_at(&mut self, name: &str, value: &Edm<'_>) {
        let type_name = value.edm_type().name();
        let is_known = |(known, of): &(Box<str>, _)| **known == *name && *of == type_name;
        if name != "Timestamp" && !self.properties.iter().any(is_known) {
            self.properties.push((name.into(), type_name));
        }
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::EdmValue;

    use super::*;

    fn compare(name: &'static str, operator: Comparison) -> Expression {
        Expression::comparison(name, operator, EdmValue::from("x"))
    }

    #[test]
    fn only_conditions_that_every_row_must_meet_narrow_the_path() {
        use Comparison::{Eq, Ge, Lt, Ne};
        let pk = |operator| compare("PartitionKey", operator);
        let rk = |operator| compare("RowKey", operator);
        let path = |expression: Expression| Access::of(Some(&expression)).path();
        assert_eq!(Access::of(None).path(), AccessPath::TableScan);
        assert_eq!(path(pk(Eq).and(rk(Eq))), AccessPath::Point);
        assert_eq!(path(pk(Eq).and(rk(Ge)).and(rk(Lt))), AccessPath::RowRange);
        assert_eq!(path(pk(Eq).and(compare("V", Eq))), AccessPath::Partition);
        assert_eq!(path(pk(Ge).and(rk(Eq))), AccessPath::PartitionRange);
        for scan in [
            rk(Eq),
            pk(Ne),
            compare("V", Eq),
            pk(Eq).or(pk(Eq)),
            Expression::Not(Box::new(pk(Eq))),
            Expression::Raw("PartitionKey eq 'x'".into()),
        ] {
            assert_eq!(path(scan.clone()), AccessPath::TableScan, "{scan}");
        }
        assert_eq!(path(pk(Eq).and(rk(Eq).or(rk(Eq)))), AccessPath::Partition);
        assert!(Access::of(Some(&rk(Eq).or(rk(Eq)))).has_key_in_or);
        let excluded = crate::filter::exclusion::excluding("RowKey", "~");
        assert!(!Access::of(Some(&excluded)).has_key_in_or);
        assert!(Access::of(Some(&excluded.or(rk(Eq)))).has_key_in_or);
        assert!(Access::of(Some(&rk(Eq))).has_row_alone());
    }
}
