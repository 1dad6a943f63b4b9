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
        Expression::Comparison { name, operator, value } => {
            property(name).is_some_and(|stored| holds(&stored, *operator, value))
        }
        Expression::And(all) => all.iter().all(|part| matches(part, property)),
        Expression::Or(any) => any.iter().any(|part| matches(part, property)),
        Expression::Not(inner) => !matches(inner, property),
        // Text that was not parsed matches no row.
        Expression::Raw(_) => false,
    }
}

impl Comparison {
    /// Doubles may have no order, and then only `ne` holds.
    fn accepts(self, order: Option<Ordering>) -> bool {
        let Some(order) = order else {
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

/// Compares the stored value with the literal. No comparison holds between types that cannot be compared.
fn holds(stored: &Edm<'_>, operator: Comparison, literal: &Edm<'_>) -> bool {
    operator.accepts(match (stored, literal) {
        (Edm::String(a), Edm::String(b)) => Some(ordinal::compare(a, b)),
        (Edm::Boolean(a), Edm::Boolean(b)) => Some(a.cmp(b)),
        (Edm::Int32(a), Edm::Int32(b)) => Some(a.cmp(b)),
        (Edm::Int64(a), Edm::Int64(b)) => Some(a.cmp(b)),
        (Edm::Int64(a), Edm::Int32(b)) => Some(a.cmp(&i64::from(*b))),
        (Edm::Double(a), Edm::Double(b)) => a.partial_cmp(b),
        (Edm::Double(a), Edm::Int32(b)) => a.partial_cmp(&f64::from(*b)),
        (Edm::DateTime(a), Edm::DateTime(b)) => Some(a.cmp(b)),
        (Edm::Guid(a), Edm::Guid(b)) => Some(a.cmp(b)),
        (Edm::Binary(a), Edm::Binary(b)) => Some(a.cmp(b)),
        _ => return false,
    })
}
