//! Conditions on the keys, as ranges: nothing is rewritten that the user did not say.

use crate::filter::expression::{Comparison, Expression};
use crate::model::edm::EdmValue;
use crate::model::key::after_prefix;
use crate::model::key_shape::{KeyStart, Start};

/// The condition of keys that begin so.
pub(crate) fn under(start: &KeyStart) -> Expression {
    let partition = starts("PartitionKey", &start.partition_key);
    match &start.row_key {
        None => partition,
        // Every row of the partition.
        Some(Start::Prefix(prefix)) if prefix.is_empty() => partition,
        Some(row_key) => partition.and(starts("RowKey", row_key)),
    }
}

pub(crate) fn starts(name: &str, start: &Start) -> Expression {
    let compare = |operator, text: &str| Expression::comparison(name, operator, EdmValue::from(text));
    match start {
        Start::Whole(text) => compare(Comparison::Eq, text),
        Start::Prefix(prefix) => {
            let from = compare(Comparison::Ge, prefix);
            match after_prefix(prefix) {
                Some(end) => from.and(compare(Comparison::Lt, &end)),
                None => from,
            }
        }
    }
}
