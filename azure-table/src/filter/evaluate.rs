//! What a filter means for one row.
//!
//! One evaluator for the emulator and for filters in memory. It follows what was seen of the live service: a row that
//! lacks the property matches no comparison; the literal's type must be the property's, except that an Int32 literal is
//! widened to a stored Int64 (seen) or Double (assumed); text compares by UTF-16 unit.
//! Not confirmed: `not (…)` on a row that lacks the property, which is plain negation here.
//!
//! Source: REST "Querying tables and entities"; AzureStorageExplorer issue 5346 (widening), Azurite issue 1929
//! (absence).

use std::cmp::Ordering;

use crate::filter::expression::{Comparison, Expression};
use crate::model::edm::Edm;
use crate::model::ordinal;

/// Whether a row matches; `property` gives its value of a name, the keys and Timestamp included.
pub(crate) fn matches<'a, F>(expression: &Expression, property: &F) -> bool
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
        // Text that nobody parsed selects nothing.
        Expression::Raw(_) => false,
    }
}

/// How a comparison came out. Doubles may have no order; then only `ne` holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Ordered(Ordering),
    Unordered,
}

impl Comparison {
    fn accepts(self, outcome: Outcome) -> bool {
        let Outcome::Ordered(order) = outcome else {
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

/// The stored value against the literal; `None` where the types do not compare.
fn order(stored: &Edm<'_>, literal: &Edm<'_>) -> Option<Outcome> {
    let ordered = |order| Some(Outcome::Ordered(order));
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

fn doubles(a: f64, b: f64) -> Outcome {
    a.partial_cmp(&b).map_or(Outcome::Unordered, Outcome::Ordered)
}
