//! Columns whose name and type are known at run time.
//!
//! Defines [`NamedColumn`] and the check of its operands. `filter/column.rs` has the columns of the derive.

use std::fmt;
use std::marker::PhantomData;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::value::edm::{Edm, EdmType, EdmValue};
use azure_table_wire::value::name::property_name_fault;

use crate::filter::typed::{self, Filter};
use crate::key::table_key::after_prefix;

/// A column whose name and type are known only at run time, for example in a report, a configuration file or a search
/// form.
///
/// Each comparison checks the type of its value; an Edm.Int32 also fits an Edm.Int64 or Edm.Double column. If a value
/// or the name is wrong, the call that uses the filter returns `InvalidInput`.
///
/// ```
/// use azure_table::filter::NamedColumn;
/// use azure_table::{DynamicEntity, EdmType, Filter};
/// let (name, edm_type) = (String::from("Views"), EdmType::Int64);
/// let filter: Filter<DynamicEntity> = NamedColumn::new(name, edm_type).ge(1_000);
/// assert_eq!(filter.to_string(), "Views ge 1000L");
/// ```
pub struct NamedColumn<E> {
    name: Box<str>,
    edm_type: EdmType,
    entity: PhantomData<fn() -> E>,
}

impl<E> NamedColumn<E> {
    /// Creates a column from a name and a type known at run time.
    ///
    /// Names of system properties are allowed: `PartitionKey`, `RowKey` (Edm.String) and `Timestamp` (Edm.DateTime).
    pub fn new(name: impl Into<Box<str>>, edm_type: EdmType) -> Self {
        Self {
            name: name.into(),
            edm_type,
            entity: PhantomData,
        }
    }

    /// Returns the name in the service.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type that values must have.
    pub fn edm_type(&self) -> EdmType {
        self.edm_type
    }

    /// Matches rows whose value is equal to `value`.
    pub fn eq(&self, value: impl Into<EdmValue>) -> Filter<E> {
        self.compare(Comparison::Eq, value.into())
    }

    /// Matches rows that have a value not equal to `value`.
    pub fn ne(&self, value: impl Into<EdmValue>) -> Filter<E> {
        self.compare(Comparison::Ne, value.into())
    }

    /// Matches rows whose value is greater than `value`.
    pub fn gt(&self, value: impl Into<EdmValue>) -> Filter<E> {
        self.compare(Comparison::Gt, value.into())
    }

    /// Matches rows whose value is greater than or equal to `value`.
    pub fn ge(&self, value: impl Into<EdmValue>) -> Filter<E> {
        self.compare(Comparison::Ge, value.into())
    }

    /// Matches rows whose value is less than `value`.
    pub fn lt(&self, value: impl Into<EdmValue>) -> Filter<E> {
        self.compare(Comparison::Lt, value.into())
    }

    /// Matches rows whose value is less than or equal to `value`.
    pub fn le(&self, value: impl Into<EdmValue>) -> Filter<E> {
        self.compare(Comparison::Le, value.into())
    }

    /// Matches rows whose value is between `least` and `greatest`, both included.
    pub fn between(&self, least: impl Into<EdmValue>, greatest: impl Into<EdmValue>) -> Filter<E> {
        self.ge(least) & self.le(greatest)
    }

    /// Matches rows whose value is one of `values`; no row if `values` is empty. See
    /// [`Column::is_in`](crate::Column::is_in) for the limits.
    pub fn is_in<V: Into<EdmValue>>(&self, values: impl IntoIterator<Item = V>) -> Filter<E> {
        typed::any_of(values.into_iter().map(|value| self.eq(value)))
    }

    /// Matches rows whose text begins with `prefix`. Sent as a range. The column must be text.
    pub fn starts_with(&self, prefix: &str) -> Filter<E> {
        match after_prefix(prefix) {
            Some(end) => self.ge(prefix) & self.lt(end),
            None => self.ge(prefix),
        }
    }

    fn compare(&self, operator: Comparison, value: EdmValue) -> Filter<E> {
        let fault = match (&*self.name, self.edm_type) {
            ("PartitionKey" | "RowKey", EdmType::String) | ("Timestamp", EdmType::DateTime) => None,
            ("PartitionKey" | "RowKey", other) => Some(format!("a key is an Edm.String, not an {other}")),
            ("Timestamp", other) => Some(format!("the Timestamp is an Edm.DateTime, not an {other}")),
            (name, _) => property_name_fault(name),
        };
        if let Some(fault) = fault {
            return typed::fault(format!("column {}: {fault}", Shown(&self.name)));
        }
        let value = match (self.edm_type, value) {
            (EdmType::Int64, Edm::Int32(value)) => Edm::Int64(value.into()),
            (EdmType::Double, Edm::Int32(value)) => Edm::Double(value.into()),
            (_, value) => value,
        };
        if value.edm_type() != self.edm_type {
            let (expected, found) = (self.edm_type, value.edm_type());
            return typed::fault(format!(
                "column `{}`: expected {expected}, found {found} {value}",
                self.name
            ));
        }
        Filter::of(Expression::comparison(String::from(&*self.name), operator, value))
    }
}

impl<E> Clone for NamedColumn<E> {
    fn clone(&self) -> Self {
        Self::new(self.name.clone(), self.edm_type)
    }
}

impl<E> fmt::Debug for NamedColumn<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedColumn({} {})", self.name, self.edm_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::filter::typed;

    fn named(name: &str, edm_type: EdmType) -> NamedColumn<DynamicEntity> {
        NamedColumn::new(name, edm_type)
    }

    #[test]
    fn values_take_the_type_of_the_column() {
        assert_eq!(named("N", EdmType::Int64).ge(5).to_string(), "N ge 5L");
        assert_eq!(named("N", EdmType::Double).lt(5).to_string(), "N lt 5.0");
        assert_eq!(
            named("N", EdmType::Int32).between(1, 2).to_string(),
            "N ge 1 and N le 2"
        );
        assert_eq!(
            named("RowKey", EdmType::String).starts_with("O'").to_string(),
            "RowKey ge 'O''' and RowKey lt 'O('"
        );
        assert_eq!(
            named("N", EdmType::Int32).is_in([0; 0]).to_string(),
            "PartitionKey lt ''"
        );
    }

    #[test]
    fn wrong_values_and_names_are_reported_when_the_filter_is_used() {
        for (filter, why) in [
            (
                named("N", EdmType::Int32).eq(5_i64),
                "column `N`: expected Edm.Int32, found Edm.Int64 5",
            ),
            (
                named("N", EdmType::Int32).starts_with("a"),
                "expected Edm.Int32, found Edm.String a",
            ),
            (named("a b", EdmType::Int32).eq(5), "column \"a b\""),
            (
                named("RowKey", EdmType::Int32).eq(5),
                "column \"RowKey\": a key is an Edm.String, not an Edm.Int32",
            ),
        ] {
            let error = typed::into_expression(filter).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
