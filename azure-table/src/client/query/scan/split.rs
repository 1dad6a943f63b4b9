//! Splits a filter into parts that are queried one by one. Each row is in one part, and the parts are in the order of
//! their rows.
//!
//! A filter is split at its sets of keys: an `or` of conditions on keys, one of which every row must meet. Conditions
//! of a set that may have rows in common stay together.
//!
//! Every row is therefore read once, and the parts in order yield the rows in order, without keeping rows to compare.
//! Conditions that stay together also get the bounds of the whole set. Otherwise the service would scan the table for
//! the `or`.
//!
//! Parts share their common conditions, since there may be many parts with long conditions.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::key_range::{Furthest, KeyRange};
use azure_table_wire::value::ordinal;

use crate::filter::exclusion::is_exclusion;

/// The maximum number of parts of one filter.
pub(crate) const MAX_PARTS: usize = 100_000;

/// The error of a filter with more than [`MAX_PARTS`] parts.
#[derive(Debug)]
pub(crate) struct TooMany;

/// The conditions of one part, all of which must hold. A part without conditions has all rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartFilter {
    /// The conditions on its keys.
    own: Vec<Arc<Expression>>,
    /// The conditions that all parts have.
    shared: Arc<[Expression]>,
}

impl PartFilter {
    pub(crate) fn new(own: Option<Expression>, shared: Arc<[Expression]>) -> Self {
        let own = own.into_iter().flat_map(conditions).map(Arc::new).collect();
        Self { own, shared }
    }

    /// Returns the conditions on its keys.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Expression> {
        self.own.iter().map(|one| &**one)
    }

    /// Returns the conditions that all parts have.
    pub(crate) fn shared(&self) -> &[Expression] {
        &self.shared
    }

    /// Returns the whole condition, with a copy of the shared conditions.
    pub(crate) fn expression(&self) -> Option<Expression> {
        let mut all: VecDeque<_> = self.own().chain(self.shared()).cloned().collect();
        match all.len() {
            0 | 1 => all.pop_front(),
            _ => Some(Expression::And(all)),
        }
    }
}

/// Returns the parts, in the order of the keys. Empty if no row can meet the filter.
pub(crate) fn parts(filter: Expression) -> Result<Vec<PartFilter>, TooMany> {
    let is_of_keys = |one: &Expression| KeyRange::of([one]).is_narrow() || is_set_of_keys(one);
    let (own, shared): (Vec<_>, Vec<_>) = conditions(filter).into_iter().partition(is_of_keys);
    let shared = Arc::from(shared);
    let mut parts = Vec::new();
    split(own.into_iter().map(Arc::new).collect(), &shared, &mut parts)?;
    Ok(parts)
}

/// Adds the parts of the rows that meet all conditions.
fn split(
    mut own: Vec<Arc<Expression>>,
    shared: &Arc<[Expression]>,
    parts: &mut Vec<PartFilter>,
) -> Result<(), TooMany> {
    let known = range(&own);
    if known.is_empty() {
        return Ok(());
    }
    let Some((index, members)) = cut(&own) else {
        if parts.len() == MAX_PARTS {
            return Err(TooMany);
        }
        let bounds = bounds(&own, &known);
        own.splice(..0, bounds.into_iter().map(Arc::new));
        parts.push(PartFilter {
            own,
            shared: Arc::clone(shared),
        });
        return Ok(());
    };
    // Each condition of the set moves to its part: a copy would be the most costly step of a large set.
    let mut set = Vec::with_capacity(members.len());
    flatten(Arc::unwrap_or_clone(own.remove(index)), &mut set);
    for group in members.chunk_by(|_, next| !next.begins_group) {
        let mut group = group.iter().filter_map(|member| set.get_mut(member.index)?.take());
        let (before, behind) = own.split_at(index);
        let mut part = Vec::with_capacity(own.len() + 1);
        part.extend(before.iter().cloned());
        match (group.next(), group.next()) {
            (None, _) => {}
            (Some(one), None) => match one {
                Expression::And(all) => part.extend(all.into_iter().flat_map(conditions).map(Arc::new)),
                one => part.push(Arc::new(one)),
            },
            (Some(one), Some(other)) => {
                part.push(Arc::new(Expression::Or(
                    [one, other].into_iter().chain(group).collect(),
                )));
            }
        }
        part.extend(behind.iter().cloned());
        split(part, shared, parts)?;
    }
    Ok(())
}

/// Returns the index of the set to split, and the members of its groups.
fn cut(own: &[Arc<Expression>]) -> Option<(usize, Vec<SetMember>)> {
    // Sets of partitions first, because RowKeys have an order only within one partition.
    for is_of_partitions in [true, false] {
        for (index, condition) in own.iter().enumerate() {
            let Some(set) = set_of_keys(condition) else { continue };
            if set.iter().all(|(range, _)| range.names_partitions()) != is_of_partitions {
                continue;
            }
            let others = own[..index].iter().chain(&own[index + 1..]).map(|one| &**one);
            let members = groups(&set, KeyRange::of(others));
            let is_whole = members.len() == set.len() && !members.iter().skip(1).any(|member| member.begins_group);
            if !is_whole {
                return Some((index, members));
            }
        }
    }
    None
}

fn range(own: &[Arc<Expression>]) -> KeyRange<'_> {
    KeyRange::of(own.iter().map(|one| &**one))
}

/// Returns `true` if the condition is an `or` of conditions on keys.
fn is_set_of_keys(condition: &Expression) -> bool {
    let is_of_keys = |one| is_set_of_keys(one) || KeyRange::of([one]).is_narrow();
    matches!(condition, Expression::Or(any) if any.iter().all(is_of_keys) && !is_exclusion(any))
}

/// Returns the conditions of a set of keys with their ranges, including nested sets.
fn set_of_keys(condition: &Expression) -> Option<Vec<(KeyRange<'_>, &Expression)>> {
    fn flatten<'a>(any: &'a VecDeque<Expression>, set: &mut Vec<(KeyRange<'a>, &'a Expression)>) -> bool {
        any.iter().all(|one| match one {
            Expression::Or(any) => flatten(any, set),
            other => {
                let range = KeyRange::of([other]);
                set.push((range, other));
                range.is_narrow()
            }
        })
    }
    let Expression::Or(any) = condition else { return None };
    if is_exclusion(any) {
        return None;
    }
    let mut set = Vec::with_capacity(any.len());
    flatten(any, &mut set).then_some(set)
}

/// Adds the conditions of a set, in the order of [`set_of_keys`].
fn flatten(condition: Expression, set: &mut Vec<Option<Expression>>) {
    match condition {
        Expression::Or(any) => any.into_iter().for_each(|one| flatten(one, set)),
        other => set.push(Some(other)),
    }
}

/// Returns the bounds that the remaining sets imply for the PartitionKey. The service would not derive them, and would
/// scan the table.
fn bounds(own: &[Arc<Expression>], known: &KeyRange<'_>) -> Vec<Expression> {
    if known.is_one_partition() {
        return Vec::new();
    }
    let hull = own.iter().filter_map(|one| set_of_keys(one)).find_map(|set| {
        let hull = KeyRange::hull(set.into_iter().map(|(range, _)| range))?;
        hull.names_partitions().then(|| hull.partition_conditions())
    });
    match hull {
        Some(conditions) if !known.names_partitions() => conditions,
        _ => Vec::new(),
    }
}

/// A condition of a set. Members are in the order of the keys.
struct SetMember {
    /// The index in the set.
    index: usize,
    /// `true` if it has no row in common with the members before it.
    begins_group: bool,
}

/// Returns the conditions of a set in groups that have no row in common while the `others` hold as well.
///
/// The conditions are in the order of the keys, without duplicates.
fn groups<'a>(set: &[(KeyRange<'a>, &'a Expression)], others: KeyRange<'a>) -> Vec<SetMember> {
    let mut ranges: Vec<_> = set
        .iter()
        .enumerate()
        .map(|(index, (range, one))| {
            if others.is_narrow() {
                (others.and(one), index, *one)
            } else {
                (*range, index, *one)
            }
        })
        .filter(|(range, ..)| !range.is_empty())
        .collect();
    ranges.sort_by(|(a, ..), (b, ..)| {
        let ((a_partition, a_row), (b_partition, b_row)) = (a.start(), b.start());
        ordinal::compare(a_partition, b_partition).then_with(|| ordinal::compare(a_row, b_row))
    });
    let mut members: Vec<SetMember> = Vec::with_capacity(ranges.len());
    let mut furthest = Furthest::default();
    // The texts of the conditions of a group, to find duplicates: an expression has no order and no hash.
    let mut known = HashSet::new();
    let mut first = None;
    for (range, index, one) in ranges {
        let begins_group = members.is_empty() || furthest.ends_before(&range);
        if begins_group {
            first = Some(one);
        } else if let Some(first) = first.take() {
            known = HashSet::from([first.to_string()]);
        }
        if begins_group || known.insert(one.to_string()) {
            members.push(SetMember { index, begins_group });
        }
        furthest.extend(range);
    }
    members
}

/// Splits a conjunction into its conditions.
pub(crate) fn conditions(filter: Expression) -> Vec<Expression> {
    match filter {
        Expression::And(all) => all.into_iter().flat_map(conditions).collect(),
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::filter::expression::Comparison;
    use azure_table_wire::filter::parse::parse_to;
    use azure_table_wire::value::edm::EdmValue;

    use super::*;

    fn texts(filter: &str) -> Vec<String> {
        let parts = parts(parse_to(filter).unwrap()).unwrap();
        parts
            .iter()
            .map(|part| part.expression().unwrap().to_string())
            .collect()
    }

    #[test]
    fn only_sets_of_keys_are_split() {
        for (filter, expected) in [
            ("A eq 1 or A eq 2", &["A eq 1 or A eq 2"][..]),
            ("PartitionKey eq 'a'", &["PartitionKey eq 'a'"]),
            (
                "(PartitionKey eq 'b' or PartitionKey eq 'a' or PartitionKey eq 'b') and A eq 1",
                &["PartitionKey eq 'a' and A eq 1", "PartitionKey eq 'b' and A eq 1"],
            ),
            (
                "(RowKey eq '2' or RowKey eq '1') and (PartitionKey eq 'a' or PartitionKey eq 'b')",
                &[
                    "RowKey eq '1' and PartitionKey eq 'a'",
                    "RowKey eq '2' and PartitionKey eq 'a'",
                    "RowKey eq '1' and PartitionKey eq 'b'",
                    "RowKey eq '2' and PartitionKey eq 'b'",
                ],
            ),
            (
                "PartitionKey eq 'a' and (RowKey lt '3' or RowKey ge '5')",
                &[
                    "PartitionKey eq 'a' and RowKey lt '3'",
                    "PartitionKey eq 'a' and RowKey ge '5'",
                ],
            ),
            (
                "PartitionKey eq 'a' and (RowKey lt '3' or RowKey ge '2' or RowKey eq '9')",
                &["PartitionKey eq 'a' and (RowKey lt '3' or RowKey ge '2' or RowKey eq '9')"],
            ),
            // Nested sets, as joining two sets creates them.
            (
                "PartitionKey eq 'a' or (PartitionKey eq 'c' or PartitionKey eq 'b')",
                &["PartitionKey eq 'a'", "PartitionKey eq 'b'", "PartitionKey eq 'c'"],
            ),
            // Conditions that stay together still have bounds.
            (
                "(PartitionKey eq 'b' or (PartitionKey eq 'b' and RowKey eq '1') or PartitionKey eq 'c') and A eq 1",
                &[
                    "PartitionKey eq 'b' and (PartitionKey eq 'b' or (PartitionKey eq 'b' and RowKey eq '1')) and A eq 1",
                    "PartitionKey eq 'c' and A eq 1",
                ],
            ),
            (
                "(PartitionKey ge 'b' and PartitionKey lt 'e') or PartitionKey eq 'c' or (PartitionKey ge 'd' and PartitionKey lt 'f')",
                &[
                    "PartitionKey ge 'b' and PartitionKey lt 'f' and ((PartitionKey ge 'b' and PartitionKey lt 'e') or \
                     PartitionKey eq 'c' or (PartitionKey ge 'd' and PartitionKey lt 'f'))",
                ],
            ),
            // RowKeys have no order in a query without a partition.
            ("RowKey eq '1' or RowKey eq '2'", &["RowKey eq '1' or RowKey eq '2'"]),
            (
                "(PartitionKey eq 'a' and RowKey eq '1') or (PartitionKey eq 'b' and (RowKey eq '3' or RowKey eq '2'))",
                &[
                    "PartitionKey eq 'a' and RowKey eq '1'",
                    "PartitionKey eq 'b' and RowKey eq '2'",
                    "PartitionKey eq 'b' and RowKey eq '3'",
                ],
            ),
            ("PartitionKey lt ''", &[]),
            (
                "PartitionKey eq 'a' and (PartitionKey eq 'b' or PartitionKey eq 'c')",
                &[],
            ),
            ("PartitionKey eq 'a' or A eq 1", &["PartitionKey eq 'a' or A eq 1"]),
        ] {
            assert_eq!(texts(filter), expected, "{filter}");
        }
    }

    #[test]
    fn parts_share_the_conditions_that_they_have_in_common() {
        let any: Vec<String> = (0..2_000).map(|n| format!("PartitionKey eq '{n:04}'")).collect();
        let others: Vec<String> = (0..1_000).map(|n| format!("A ne {n}")).collect();
        let filter = parse_to(&format!("({}) and {}", any.join(" or "), others.join(" and "))).unwrap();
        let parts = parts(filter).unwrap();
        assert_eq!(parts.len(), 2_000);
        assert!(
            parts
                .iter()
                .all(|part| part.own.len() == 1 && part.shared.len() == 1_000)
        );
        assert!(parts.iter().all(|part| Arc::ptr_eq(&part.shared, &parts[0].shared)));
    }

    #[test]
    fn sets_of_50000_ranges_are_split_without_quadratic_time() {
        let ranges = |end: fn(usize) -> usize| {
            let range = |n: usize| {
                let compare = |operator, n: usize| {
                    let key = format!("{n:06}");
                    Expression::comparison("PartitionKey", operator, EdmValue::from(key.as_str()))
                };
                compare(Comparison::Ge, n).and(compare(Comparison::Lt, end(n)))
            };
            (0..50_000).map(range).reduce(Expression::or).unwrap()
        };
        assert_eq!(parts(ranges(|n| n + 1)).unwrap().len(), 50_000);
        // Each range overlaps the next, or all later ones.
        assert_eq!(parts(ranges(|n| n + 2)).unwrap().len(), 1);
        assert_eq!(parts(ranges(|n| 100_000 - n)).unwrap().len(), 1);
        // Many ranges with the same end.
        assert_eq!(parts(ranges(|n| n / 10_000 * 10_000 + 20_000)).unwrap().len(), 1);
    }

    #[test]
    fn two_large_sets_have_too_many_parts() {
        let set = |name: &str| {
            let all: Vec<String> = (0..400).map(|n| format!("{name} eq '{n:03}'")).collect();
            format!("({})", all.join(" or "))
        };
        let filter = parse_to(&format!("{} and {}", set("PartitionKey"), set("RowKey"))).unwrap();
        parts(filter).unwrap_err();
    }
}
