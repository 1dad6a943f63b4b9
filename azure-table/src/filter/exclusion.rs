//! The condition that a key does not begin with a prefix.
//!
//! It is an `or` of two ranges, because the service has no `startswith`. Unlike other keys in an `or`, a query does not
//! look for these two: a plan suggests no query for each, and a fan-out does not split them.

use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::value::edm::{Edm, EdmValue};

use crate::key::table_key::after_prefix;

/// Returns the condition that a key does not begin with `prefix`.
pub(crate) fn excluding(name: &'static str, prefix: &str) -> Expression {
    let before = Expression::comparison(name, Comparison::Lt, EdmValue::from(prefix));
    match after_prefix(prefix) {
        Some(end) => before.or(Expression::comparison(
            name,
            Comparison::Ge,
            EdmValue::from(end.as_str()),
        )),
        None => before,
    }
}

/// Returns `true` for the operands of an `or` that [`excluding`] returns.
pub(crate) fn is_exclusion<'a>(operands: impl IntoIterator<Item = &'a Expression>) -> bool {
    let mut operands = operands.into_iter().map(|one| match one {
        Expression::Comparison {
            name,
            operator,
            value: Edm::String(text),
        } => Some((name, *operator, &**text)),
        _ => None,
    });
    let both = (operands.next().flatten(), operands.next().flatten(), operands.next());
    let (Some((name, Comparison::Lt, prefix)), Some((other, Comparison::Ge, end)), None) = both else {
        return false;
    };
    name == other && after_prefix(prefix).as_deref() == Some(end)
}

#[cfg(test)]
mod tests {
    use azure_table_wire::filter::evaluate::matches;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_with_the_prefix_are_excluded_and_no_others(
            prefix in "[~é\u{ff}\u{ffff}a]{1,3}", key in "[~é\u{ff}\u{ffff}\u{e000}ab]{0,4}"
        ) {
            let condition = excluding("RowKey", &prefix);
            let is_found = matches(&condition, &|_: &str| Some(Edm::String(key.as_str().into())));
            prop_assert_eq!(is_found, !key.starts_with(&prefix), "{} for {:?}", condition, key);
        }
    }

    #[test]
    fn exclusion_is_recognized_and_other_ranges_are_not() {
        let is_one = |expression: &Expression| match expression {
            Expression::Or(any) => is_exclusion(any),
            _ => false,
        };
        let excluded = excluding("RowKey", "~mail;");
        assert_eq!(excluded.to_string(), "RowKey lt '~mail;' or RowKey ge '~mail<'");
        assert!(is_one(&excluded));
        assert!(!is_one(&excluded.clone().or(excluding("RowKey", "a"))));
        let compare = |name, operator, text| Expression::comparison(name, operator, EdmValue::from(text));
        let other = compare("RowKey", Comparison::Lt, "a").or(compare("RowKey", Comparison::Ge, "c"));
        assert!(!is_one(&other));
        let mixed = compare("PartitionKey", Comparison::Lt, "a").or(compare("RowKey", Comparison::Ge, "b"));
        assert!(!is_one(&mixed));
    }
}
