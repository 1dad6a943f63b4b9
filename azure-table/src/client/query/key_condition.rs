//! The conditions of a query on the keys: partitions, prefixes and ranges.

use std::slice;

use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::value::edm::EdmValue;

use crate::entity::variant_mark::VariantMark;
use crate::filter::nested::Variant;
use crate::filter::typed::{self, Filter};
use crate::key::key_start::{KeyStart, Start};
use crate::key::prefix::KeyPrefix;
use crate::key::table_key::after_prefix;

const PARTITION_KEY: &str = "PartitionKey";
const ROW_KEY: &str = "RowKey";

fn compare(name: &'static str, operator: Comparison, text: &str) -> Expression {
    Expression::comparison(name, operator, EdmValue::from(text))
}

/// Returns the condition that both hold. `None` holds for every row.
pub(super) fn both(one: Option<Expression>, other: Option<Expression>) -> Option<Expression> {
    one.into_iter().chain(other).reduce(Expression::and)
}

/// Returns the condition that a key begins with `start`.
pub(super) fn starts(name: &'static str, start: &Start) -> Expression {
    match start {
        Start::Whole(text) => compare(name, Comparison::Eq, text),
        Start::Prefix(prefix) => {
            let from = compare(name, Comparison::Ge, prefix);
            end(name, start).into_iter().fold(from, Expression::and)
        }
    }
}

/// Returns the condition that a key sorts no later than the keys that begin with `start`, or `None` if no key sorts
/// later.
fn end(name: &'static str, start: &Start) -> Option<Expression> {
    match start {
        Start::Whole(text) => Some(compare(name, Comparison::Le, text)),
        Start::Prefix(prefix) => after_prefix(prefix).map(|end| compare(name, Comparison::Lt, &end)),
    }
}

/// Returns the condition of the rows under a prefix.
pub(super) fn under_prefix<E>(prefix: &KeyPrefix<E>) -> Filter<E> {
    let keys = Filter::of(under(&prefix.start));
    match prefix.marks[..] {
        [Some(VariantMark::RowKeyPrefix(mark))] if prefix.start.first().1.starts_with(mark) => keys,
        _ => of_variants(keys, slice::from_ref(prefix)),
    }
}

/// Returns the condition of keys from the first under `from` to the last under `to`, which is not before `from`, and of
/// the variants of both. A range over partitions has all RowKeys of those between its ends.
pub(super) fn between<E>(from: KeyPrefix<E>, to: KeyPrefix<E>) -> Filter<E> {
    of_variants(Filter::of(in_range(&from.start, &to.start)), &[from, to])
}

/// Returns the condition of rows of these variants, each with all marks of a prefix. Any row is of a prefix without one.
fn of_variants<E>(keys: Filter<E>, prefixes: &[KeyPrefix<E>]) -> Filter<E> {
    let mut variants: Vec<&[Option<VariantMark>]> = prefixes.iter().map(|prefix| &prefix.marks[..]).collect();
    variants.dedup();
    let only = |mark: &VariantMark| Variant::<E, ()>::new(*mark).only();
    let variants = variants.into_iter();
    let variants: Option<Vec<Filter<E>>> = variants
        .map(|marks| marks.iter().flatten().map(only).reduce(Filter::and))
        .collect();
    let variants = variants.map(|variants| typed::any_of(variants.into_iter()));
    let mut filter = variants.into_iter().fold(keys, Filter::and);
    filter.is_wide |= prefixes.iter().any(|prefix| prefix.marks.contains(&None));
    filter
}

/// Returns the condition that keys begin with `start`.
fn under(start: &KeyStart) -> Expression {
    let partition = starts(PARTITION_KEY, &start.partition_key);
    match &start.row_key {
        None => partition,
        // Every row of the partition.
        Some(Start::Prefix(prefix)) if prefix.is_empty() => partition,
        Some(row_key) => partition.and(starts(ROW_KEY, row_key)),
    }
}

/// Returns the condition of keys from the first under `from` to the last under `to`, which is not before `from`.
fn in_range(from: &KeyStart, to: &KeyStart) -> Expression {
    if from == to {
        return under(from);
    }
    let (first_partition, first_row) = from.first();
    let from_row = (!first_row.is_empty()).then(|| compare(ROW_KEY, Comparison::Ge, first_row));
    let to_row = to.row_key.as_ref().and_then(|row_key| end(ROW_KEY, row_key));
    let is_one_partition = from.partition_key == to.partition_key && matches!(to.partition_key, Start::Whole(_));
    if is_one_partition {
        let partition = starts(PARTITION_KEY, &to.partition_key);
        return from_row.into_iter().chain(to_row).fold(partition, Expression::and);
    }
    // Only the rows of the first and the last partition are bounded by their RowKeys.
    let from_row = from_row.map(|row| compare(PARTITION_KEY, Comparison::Gt, first_partition).or(row));
    let to_row = to_row.map(|row| compare(PARTITION_KEY, Comparison::Lt, to.partition_key.text()).or(row));
    let to_partition = end(PARTITION_KEY, &to.partition_key);
    let from_partition = compare(PARTITION_KEY, Comparison::Ge, first_partition);
    let others = to_partition.into_iter().chain(from_row).chain(to_row);
    others.fold(from_partition, Expression::and)
}

/// Returns the condition of the rows under any of these, within the range of all, so that the service reads no other
/// rows.
pub(super) fn under_any<E>(prefixes: &[KeyPrefix<E>]) -> Filter<E> {
    let starts = prefixes.iter().map(|prefix| &prefix.start);
    let first = starts.clone().min_by(|start, other| start.first_cmp(other));
    let last = starts.max_by(|start, other| start.end_cmp(other));
    let Some((first, last)) = first.zip(last) else {
        return typed::nothing();
    };
    let all = Filter::of(in_range(first, last));
    match first == last && prefixes.iter().all(|prefix| prefix.marks.iter().all(Option::is_none)) {
        true => of_variants(all, prefixes),
        false => all & typed::any_of(prefixes.iter().map(under_prefix)),
    }
}

#[cfg(test)]
mod tests {
    use Start::{Prefix, Whole};

    use super::*;
    use crate::entity::dynamic::DynamicEntity;

    fn rows(partition_key: &str, row_key: Start) -> KeyStart {
        KeyStart {
            partition_key: Whole(partition_key.into()),
            row_key: Some(row_key),
        }
    }

    fn partitions(prefix: &str) -> KeyStart {
        KeyStart {
            partition_key: Prefix(prefix.into()),
            row_key: None,
        }
    }

    #[test]
    fn range_of_one_partition_has_no_or() {
        let range = in_range(
            &rows("p", Prefix("e1_2020".into())),
            &rows("p", Prefix("e1_2025".into())),
        );
        let text = "PartitionKey eq 'p' and RowKey ge 'e1_2020' and RowKey lt 'e1_2026'";
        assert_eq!(range.to_string(), text);
        let range = in_range(&rows("p", Prefix(String::new())), &rows("p", Whole("e1".into())));
        assert_eq!(range.to_string(), "PartitionKey eq 'p' and RowKey le 'e1'");
    }

    #[test]
    fn range_over_partitions_bounds_rows_of_the_first_and_the_last_one() {
        let range = in_range(&rows("a", Whole("5".into())), &rows("c", Prefix("7".into())));
        let text = "PartitionKey ge 'a' and PartitionKey le 'c' and (PartitionKey gt 'a' or RowKey ge '5') and (PartitionKey lt \
                    'c' or RowKey lt '8')";
        assert_eq!(range.to_string(), text);
        let range = in_range(&partitions("a"), &partitions("c"));
        assert_eq!(range.to_string(), "PartitionKey ge 'a' and PartitionKey lt 'd'");
    }

    #[test]
    fn several_prefixes_are_within_their_common_range() {
        let (parent, children) = (rows("p", Whole("e1".into())), rows("p", Prefix("e1_".into())));
        let prefix = |start: &KeyStart| KeyPrefix::<DynamicEntity>::of(start.clone(), None);
        let any = under_any(&[prefix(&children), prefix(&parent)]).to_string();
        assert!(
            any.starts_with("PartitionKey eq 'p' and RowKey ge 'e1' and RowKey lt 'e1`' and ("),
            "{any}"
        );
        assert_eq!(
            under_any(&[prefix(&parent), prefix(&parent)]),
            Filter::of(under(&parent))
        );
        // The wider of two nested prefixes is the range of both.
        let wide = rows("p", Prefix("e".into()));
        assert_eq!(under_any(&[prefix(&wide), prefix(&parent)]), Filter::of(under(&wide)));
        assert_eq!(under_any::<DynamicEntity>(&[]), typed::nothing());
    }
}
