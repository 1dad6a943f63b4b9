//! Typed columns: what the derive makes constants of, and what filters are written with.

use std::fmt;
use std::marker::PhantomData;

use crate::filter::expression::{Comparison, Expression};
use crate::filter::typed::Filter;
use crate::model::datetime::DateTime;
use crate::model::edm::EdmValue;
use crate::model::error::ValueError;
use crate::model::key::TableKey;
use crate::model::name::{SYSTEM_PROPERTIES, property_name_fault};
use crate::model::operand::Operand;
use crate::model::property::Property;

/// A stored property of `E` that is compared with values of type `T`, and with no others.
///
/// The derive makes one constant per field: `Blog::RATING` for the field `rating`. A key column compares with values of
/// its field and thinks in their order, also where the key text runs the other way ([`Descending`](crate::Descending)).
///
/// A row that lacks the property matches no comparison, not even `ne`; a row whose property has another EDM type
/// matches none either.
///
/// ```
/// use azure_table::{Column, DynamicEntity};
/// let views = Column::<DynamicEntity, i64>::property("Views");
/// assert_eq!(views.ge(5).to_string(), "Views ge 5L");
/// ```
///
/// Source: REST "Querying tables and entities".
pub struct Column<E, T> {
    name: &'static str,
    literal: fn(&T) -> Result<EdmValue, ValueError>,
    /// Whether greater values have stored text that sorts earlier.
    reversed: bool,
    entity: PhantomData<fn() -> E>,
}

impl<E, T> Clone for Column<E, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T> Copy for Column<E, T> {}

impl<E, T> fmt::Debug for Column<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({})", self.name)
    }
}

fn property_literal<T: Property>(value: &T) -> Result<EdmValue, ValueError> {
    match value.to_edm()? {
        Some(value) => Ok(value.into_owned()),
        None => Err(ValueError::new("the absence of a value cannot be queried")),
    }
}

fn key_literal<T: TableKey>(value: &T) -> Result<EdmValue, ValueError> {
    let mut text = String::new();
    value.write_key(&mut text)?;
    Ok(EdmValue::from(text))
}

impl<E, T: Property> Column<E, T> {
    /// The property stored under `name`, declared by the entity or not.
    pub const fn property(name: &'static str) -> Self {
        Self {
            name,
            literal: property_literal::<T>,
            reversed: false,
            entity: PhantomData,
        }
    }
}

impl<E, T: TableKey> Column<E, T> {
    /// The PartitionKey of an entity whose only partition field is a `T`.
    pub const fn partition_key() -> Self {
        Self {
            name: "PartitionKey",
            literal: key_literal::<T>,
            reversed: T::REVERSED,
            entity: PhantomData,
        }
    }

    /// The RowKey of an entity whose only row field is a `T`.
    pub const fn row_key() -> Self {
        Self {
            name: "RowKey",
            literal: key_literal::<T>,
            reversed: T::REVERSED,
            entity: PhantomData,
        }
    }
}

impl<E> Column<E, DateTime> {
    /// The time of the last write, set by the service. Not indexed: such a condition reads the whole partition or table.
    pub const fn timestamp() -> Self {
        Self::property("Timestamp")
    }
}

impl<E, T> Column<E, T> {
    /// The name in the service.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Equal to `value`.
    pub fn eq(self, value: impl Operand<T>) -> Filter<E> {
        self.compare(Comparison::Eq, value)
    }

    /// There, and not equal to `value`.
    pub fn ne(self, value: impl Operand<T>) -> Filter<E> {
        self.compare(Comparison::Ne, value)
    }

    /// Greater than `value`.
    pub fn gt(self, value: impl Operand<T>) -> Filter<E> {
        self.compare(Comparison::Gt, value)
    }

    /// Greater than `value`, or equal.
    pub fn ge(self, value: impl Operand<T>) -> Filter<E> {
        self.compare(Comparison::Ge, value)
    }

    /// Less than `value`.
    pub fn lt(self, value: impl Operand<T>) -> Filter<E> {
        self.compare(Comparison::Lt, value)
    }

    /// Less than `value`, or equal.
    pub fn le(self, value: impl Operand<T>) -> Filter<E> {
        self.compare(Comparison::Le, value)
    }

    /// From `least` to `greatest`, both included.
    pub fn between(self, least: impl Operand<T>, greatest: impl Operand<T>) -> Filter<E> {
        self.ge(least) & self.le(greatest)
    }

    /// Equal to one of `values`; no row if there are none.
    pub fn is_in<O: Operand<T>>(self, values: impl IntoIterator<Item = O>) -> Filter<E> {
        values
            .into_iter()
            .map(|value| self.eq(value))
            .reduce(|any, one| any | one)
            .unwrap_or_else(Filter::nothing)
    }

    fn compare(self, operator: Comparison, value: impl Operand<T>) -> Filter<E> {
        if let Some(fault) = self.name_fault() {
            return Filter::fault(format!("column {:?}: {fault}", self.name));
        }
        match (self.literal)(&value.into_operand()) {
            Ok(literal) => {
                let operator = if self.reversed { operator.mirrored() } else { operator };
                Filter::from(Expression::comparison(self.name, operator, literal))
            }
            Err(e) => Filter::fault(format!("column `{}`: {e}", self.name)),
        }
    }

    fn name_fault(&self) -> Option<String> {
        if SYSTEM_PROPERTIES.contains(&self.name) {
            None
        } else {
            property_name_fault(self.name)
        }
    }
}

impl<E> Column<E, String> {
    /// Begins with `prefix`. Sent as a range, since the service has no such function.
    pub fn starts_with(self, prefix: &str) -> Filter<E> {
        let from = self.ge(prefix);
        match after_prefix(prefix) {
            Some(end) => from & self.lt(end),
            None => from,
        }
    }
}

/// The least text after all that begin with `prefix`, in the order of UTF-16 units; `None` if there is no such text.
pub(crate) fn after_prefix(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        let next = match last {
            '\u{d7ff}' => '\u{10000}',
            '\u{10ffff}' => '\u{e000}',
            // The greatest unit: the character before it is the one to raise.
            '\u{ffff}' => continue,
            _ => match char::from_u32(u32::from(last) + 1) {
                Some(next) => next,
                None => continue,
            },
        };
        text.push(next);
        return Some(text);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dynamic::DynamicEntity;
    use crate::model::key::Descending;
    use crate::model::ordinal;

    fn column<T: Property>(name: &'static str) -> Column<DynamicEntity, T> {
        Column::property(name)
    }

    #[test]
    fn comparisons_of_a_descending_key_are_turned_round() {
        let posted = Column::<DynamicEntity, Descending<DateTime>>::row_key();
        let time: DateTime = "2008-10-01T10:00:00Z".parse().unwrap();
        assert_eq!(posted.gt(time).to_string(), "RowKey lt '2521794455999999999'");
        assert_eq!(
            posted.le(Descending(time)).to_string(),
            "RowKey ge '2521794455999999999'"
        );
        assert_eq!(posted.eq(time).to_string(), "RowKey eq '2521794455999999999'");
    }

    #[test]
    fn ranges_sets_and_prefixes() {
        let name = column::<String>("Name");
        assert_eq!(name.starts_with("O'").to_string(), "Name ge 'O''' and Name lt 'O('");
        assert_eq!(name.starts_with("").to_string(), "Name ge ''");
        assert_eq!(column::<i32>("N").between(1, 2).to_string(), "N ge 1 and N le 2");
        assert_eq!(
            column::<i32>("N").is_in([1, 2, 3]).to_string(),
            "N eq 1 or N eq 2 or N eq 3"
        );
        assert_eq!(column::<i32>("N").is_in([0; 0]).to_string(), "PartitionKey lt ''");
    }

    #[test]
    fn the_end_of_a_prefix_is_after_all_that_begin_with_it() {
        for prefix in ["a", "az", "a\u{7f}", "\u{d7ff}", "x\u{ffff}", "\u{10ffff}", "\u{1f600}"] {
            let end = after_prefix(prefix).unwrap();
            for tail in ["", "a", "\u{ffff}", "\u{10ffff}\u{ffff}"] {
                assert_eq!(
                    ordinal::compare(&format!("{prefix}{tail}"), &end),
                    std::cmp::Ordering::Less,
                    "{prefix:?}"
                );
            }
        }
        assert_eq!(after_prefix("\u{ffff}"), None);
        assert_eq!(after_prefix(""), None);
    }

    #[test]
    fn a_bad_name_is_reported_when_the_filter_is_used() {
        let filter = column::<i32>("a b").eq(1);
        assert!(filter.into_expression().unwrap_err().to_string().contains("\"a b\""));
    }
}
