//! A filter cut into parts that can be asked one by one: each row is in one part, and the parts have the order of their
//! rows.
//!
//! What is cut are its sets of keys: an `or` of conditions on keys, one of which every row must meet. Conditions of a
//! set that may have rows in common stay together.
//!
//! So every row comes once, and parts in order give rows in order, with nothing kept to compare. What stays together
//! gets the bounds of the whole as well, or the service would scan the table for its `or`.

use std::collections::VecDeque;

use crate::filter::expression::Expression;
use crate::filter::key_range::KeyRange;
use crate::model::ordinal;

/// The most parts of one filter.
pub(crate) const MAX_PARTS: usize = 100_000;

/// There are more than [`MAX_PARTS`].
#[derive(Debug)]
pub(crate) struct TooMany;

/// The parts, in the order of the keys; none if no row can meet the filter.
pub(crate) fn parts(filter: Expression) -> Result<Vec<Expression>, TooMany> {
    let mut parts = Vec::new();
    split(conditions(filter), &mut parts)?;
    Ok(parts)
}

/// Adds the parts of the rows that meet all conditions.
fn split(all: Vec<Expression>, parts: &mut Vec<Expression>) -> Result<(), TooMany> {
    if KeyRange::of(&all).is_empty() {
        return Ok(());
    }
    // Sets of partitions first: only within one partition RowKeys have an order.
    for is_of_partitions in [true, false] {
        for (index, condition) in all.iter().enumerate() {
            let Some(set) = set_of_keys(condition) else { continue };
            if set.iter().all(|one| KeyRange::of([one]).names_partitions()) != is_of_partitions {
                continue;
            }
            let others = || all[..index].iter().chain(&all[index + 1..]);
            let groups = groups(&set, others);
            if let [group] = &*groups
                && group.len() == set.len()
            {
                continue;
            }
            for group in groups {
                let chosen = match &*group {
                    [one] => conditions((*one).clone()),
                    several => vec![Expression::Or(several.iter().copied().cloned().collect())],
                };
                let before = all[..index].iter().cloned();
                split(
                    before.chain(chosen).chain(all[index + 1..].iter().cloned()).collect(),
                    parts,
                )?;
            }
            return Ok(());
        }
    }
    if parts.len() == MAX_PARTS {
        return Err(TooMany);
    }
    let mut all = all;
    all.splice(0..0, bounds(&all));
    parts.push(match <[Expression; 1]>::try_from(all) {
        Ok([one]) => one,
        Err(all) => Expression::And(all.into()),
    });
    Ok(())
}

/// The conditions of a set of keys, those of sets within it too.
fn set_of_keys(condition: &Expression) -> Option<Vec<Expression>> {
    fn flatten(any: &VecDeque<Expression>, set: &mut Vec<Expression>) {
        for one in any {
            match one {
                Expression::Or(any) => flatten(any, set),
                other => set.push(other.clone()),
            }
        }
    }
    let Expression::Or(any) = condition else { return None };
    let mut set = Vec::with_capacity(any.len());
    flatten(any, &mut set);
    set.iter().all(|one| KeyRange::of([one]).is_narrow()).then_some(set)
}

/// What the sets that stayed together say of the PartitionKey as a whole. The service would not see it, and read the
/// table.
fn bounds(all: &[Expression]) -> Vec<Expression> {
    let known = KeyRange::of(all);
    if known.is_one_partition() {
        return Vec::new();
    }
    let hull = all.iter().filter_map(set_of_keys).find_map(|set| {
        let hull = KeyRange::hull(set.iter().map(|one| KeyRange::of([one])))?;
        hull.names_partitions().then(|| hull.partition_conditions())
    });
    match hull {
        Some(conditions) if !known.names_partitions() => conditions,
        _ => Vec::new(),
    }
}

/// The conditions of a set in groups that have no row in common, where the others hold too; in the order of the keys,
/// each once.
fn groups<'a, I>(set: &'a [Expression], others: impl Fn() -> I) -> Vec<Vec<&'a Expression>>
where
    I: Iterator<Item = &'a Expression>,
{
    let mut ranges: Vec<(KeyRange<'a>, &'a Expression)> = set
        .iter()
        .map(|one| (KeyRange::of(others().chain([one])), one))
        .filter(|(range, _)| !range.is_empty())
        .collect();
    ranges.sort_by(|(a, _), (b, _)| {
        let ((a_partition, a_row), (b_partition, b_row)) = (a.start(), b.start());
        ordinal::compare(a_partition, b_partition).then_with(|| ordinal::compare(a_row, b_row))
    });
    let mut groups: Vec<Vec<(KeyRange<'a>, &'a Expression)>> = Vec::new();
    for (range, one) in ranges {
        match groups.last_mut() {
            Some(last) if !last.iter().all(|(before, _)| before.ends_before(&range)) => {
                if !last.iter().any(|(_, known)| *known == one) {
                    last.push((range, one));
                }
            }
            _ => groups.push(vec![(range, one)]),
        }
    }
    let conditions = |group: Vec<(KeyRange<'a>, &'a Expression)>| group.into_iter().map(|(_, one)| one).collect();
    groups.into_iter().map(conditions).collect()
}

/// The conditions that all must hold, one by one.
fn conditions(filter: Expression) -> Vec<Expression> {
    match filter {
        Expression::And(all) => all.into_iter().flat_map(conditions).collect(),
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::parse::parse;

    fn texts(filter: &str) -> Vec<String> {
        let parts = parts(parse(filter).unwrap()).unwrap();
        parts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sets_of_keys_are_cut_and_nothing_else() {
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
            // Sets within sets, as they come of two sets joined.
            (
                "PartitionKey eq 'a' or (PartitionKey eq 'c' or PartitionKey eq 'b')",
                &["PartitionKey eq 'a'", "PartitionKey eq 'b'", "PartitionKey eq 'c'"],
            ),
            // What stays together still has bounds.
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
            // Keys of a table that is not asked for by partition have no order.
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
    fn a_pair_of_large_sets_is_too_many() {
        let set = |name: &str| {
            let all: Vec<String> = (0..400).map(|n| format!("{name} eq '{n:03}'")).collect();
            format!("({})", all.join(" or "))
        };
        let filter = parse(&format!("{} and {}", set("PartitionKey"), set("RowKey"))).unwrap();
        parts(filter).unwrap_err();
    }
}
