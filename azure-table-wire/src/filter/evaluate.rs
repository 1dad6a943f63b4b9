//! Evaluates a filter on one row.
//!
//! One evaluator serves the emulator and filters in memory. It follows the observed behavior of the live service:
//! - A row that lacks the property matches no comparison.
//! - The literal's type must be the property's, except that an Int32 literal is widened to a stored Int64 (seen) or
//!   Double (assumed).
//! - Text compares by UTF-16 unit.
//!
//! Not confirmed: `not (…)` on a row that lacks the property, which is plain negation here.
//!
//! Source: REST "Querying tables and entities"; AzureStorageExplorer issue 5346 (widening), Azurite issue 1929
//! (absence).

use std::cmp::Ordering;

use crate::filter::expression::{Comparison, Expression};
use crate::value::edm::Edm;
use crate::value::ordinal;

/// Returns `true` if a row matches. `property` returns the value of a property, including the keys and the Timestamp.
pub fn matches<'a, F>(expression: &Expression, property: &F) -> bool
where
    F: Fn(&str) -> Option<Edm<'a>>,
{
    match expression {
        Expression::Comparison { name, operator, value } => property(name)
            .and_then(|stored| order(&stored, value))
            .is_some_and(|order| operator.accepts(order)),
        Expression::And(all) => all.iter().all(|part| matches(part, property)),
        Expression::Or(any) => any.iter().any(|part| matches(part, property)),
        Expression::Not(inner) => !matches(inner, property),
        // Text that was not parsed matches no row.
        Expression::Raw(_) => false,
    }
}

/// The result of a comparison. Doubles may have no order, and then only `ne` holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ComparisonResult {
    Ordered(Ordering),
    Unordered,
}

impl Comparison {
    fn accepts(self, outcome: ComparisonResult) -> bool {
        let ComparisonResult::Ordered(order) = outcome else {
            return self == Self::Ne;
        };
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
        }
    }
}

/// Compares the stored value with the literal. Returns `None` if the types cannot be compared.
fn order(stored: &Edm<'_>, literal: &Edm<'_>) -> Option<ComparisonResult> {
    let ordered = |order| Some(ComparisonResult::Ordered(order));
    match (stored, literal) {
        (Edm::String(a), Edm::String(b)) => ordered(ordinal::compare(a, b)),
        (Edm::Boolean(a), Edm::Boolean(b)) => ordered(a.cmp(b)),
        (Edm::Int32(a), Edm::Int32(b)) => ordered(a.cmp(b)),
        (Edm::Int64(a), Edm::Int64(b)) => ordered(a.cmp(b)),
        (Edm::Int64(a), Edm::Int32(b)) => ordered(a.cmp(&i64::from(*b))),
        (Edm::Double(a), Edm::Double(b)) => Some(doubles(*a, *b)),
        (Edm::Double(a), Edm::Int32(b)) => Some(doubles(*a, f64::from(*b))),
        (Edm::DateTime(a), Edm::DateTime(b)) => ordered(a.cmp(b)),
        (Edm::Guid(a), Edm::Guid(b)) => ordered(a.cmp(b)),
        (Edm::Binary(a), Edm::Binary(b)) => ordered(a.cmp(b)),
        _ => None,
    }
}

fn doubles(a: f64, b: f64) -> ComparisonResult {
    a.partial_cmp(&b)
        .map_or(ComparisonResult::Unordered, ComparisonResult::Ordered)
}
