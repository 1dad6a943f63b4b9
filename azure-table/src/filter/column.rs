//! Typed columns, which the derive creates as constants and filters compare.
//!
//! Defines [`Column`], its two roles and the comparisons. `key/operand.rs` defines the values to compare with.
//!
//! `Column<E, T, Stored>` and `Column<E, T, InKey>` are one struct. The role decides by a trait what can be compared
//! and set, and how a value is read. Setting a key does not compile, and a column has the type of its field, including
//! `Option`.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

use azure_table_wire::error::ValueError;
use azure_table_wire::filter::expression::Comparison;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;

use crate::entity::property::Property;
use crate::filter::column_name::ColumnName;
use crate::filter::typed::{self, Filter};
use crate::key::operand::Operand;
use crate::key::table_key::{TableKey, after_prefix};

/// A column of the entity `E`, from a field of type `T`.
///
/// It can be compared with values of that type only.
///
/// The derive creates one constant per field: `Blog::RATING` for the field `rating`. `R` is the place of the value: a
/// property ([`Stored`]) or one of the keys ([`InKey`]). A key column compares in the order of its field, even if the
/// key text sorts in reverse ([`Descending`](crate::Descending)). A column of type `Option<T>` is compared with a `T`,
/// because a filter cannot test for absence. If a type's stored values do not sort like its values, order comparisons
/// do not compile: see [`Property::SORTED`] and [`TableKey::SORTED`].
///
/// A row whose property has another EDM type, or [is absent](Filter#rows-without-the-property), never matches.
///
/// ```
/// use azure_table::{Column, DynamicEntity};
/// let views = Column::<DynamicEntity, i64>::property("Views");
/// assert_eq!(views.ge(5).to_string(), "Views ge 5L");
/// ```
///
/// Source: REST "Querying tables and entities".
pub struct Column<E, T, R = Stored> {
    name: ColumnName,
    #[expect(clippy::type_complexity, reason = "none of them is owned")]
    kind: PhantomData<fn() -> (E, T, R)>,
}

/// The role of a [`Column`] that is a property.
#[derive(Clone, Copy, Debug)]
pub enum Stored {}

/// The role of a [`Column`] that is the PartitionKey or the RowKey.
#[derive(Clone, Copy, Debug)]
pub enum InKey {}

/// The rules by which a field of type `T` is stored and compared.
///
/// Implemented by [`Stored`] and [`InKey`].
pub trait ColumnRole<T> {
    /// The type of the values that the column is compared with.
    type Compared;

    /// `true` if the stored text of greater values sorts earlier.
    #[doc(hidden)]
    const REVERSED: bool;

    /// `true` if the stored values sort as the values do: see [`Property::SORTED`] and [`TableKey::SORTED`].
    #[doc(hidden)]
    const SORTED: bool;

    /// Returns the nearest literal, and the order of the value relative to it.
    #[doc(hidden)]
    fn literal(value: &Self::Compared) -> Result<(EdmValue, Ordering), ValueError>;
}

impl<T: Property> ColumnRole<T> for Stored {
    type Compared = T::Compared;
    const REVERSED: bool = false;
    const SORTED: bool = T::SORTED;

    fn literal(value: &T::Compared) -> Result<(EdmValue, Ordering), ValueError> {
        match value.to_edm()? {
            Some(literal) => Ok((literal.into_owned(), value.is_rounded().cmp(&false))),
            None => Err(ValueError::new("the absence of a value cannot be queried or set")),
        }
    }
}

impl<T: TableKey> ColumnRole<T> for InKey {
    type Compared = T;
    const REVERSED: bool = T::REVERSED;
    const SORTED: bool = T::SORTED;

    fn literal(value: &T) -> Result<(EdmValue, Ordering), ValueError> {
        let mut text = String::new();
        let order = value.write_nearest(&mut text)?;
        Ok((EdmValue::from(text), order))
    }
}

/// Asserts that the stored values of a type sort as the type does. Each order comparison calls it directly, so that the
/// compiler points at that comparison.
#[track_caller]
pub(crate) const fn assert_sorted(sorted: bool) {
    assert!(
        sorted,
        "the stored values of this column do not sort as its type does: compare by `eq`, `ne` or `is_in`, or store what \
         sorts, such as an integer of cents"
    );
}

impl<E, T, R> Clone for Column<E, T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, R> Copy for Column<E, T, R> {}

impl<E, T, R> fmt::Debug for Column<E, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({})", self.name)
    }
}

impl<E, T: Property> Column<E, T> {
    /// Creates a column for the property stored under `name`, which the entity need not declare.
    pub const fn property(name: &'static str) -> Self {
        Self::of(ColumnName::new(name))
    }
}

impl<E, T: TableKey> Column<E, T, InKey> {
    /// Creates a column for the PartitionKey of an entity whose only partition field is a `T`.
    pub const fn partition_key() -> Self {
        Self::of(ColumnName::new("PartitionKey"))
    }

    /// Creates a column for the RowKey of an entity whose only row field is a `T`.
    pub const fn row_key() -> Self {
        Self::of(ColumnName::new("RowKey"))
    }
}

impl<E> Column<E, DateTime> {
    /// Creates a column for the time of the last write, which the service sets.
    ///
    /// It has no index: a condition on it reads the whole partition or table. On Cosmos DB such a condition finds no
    /// row, so the client rejects the query.
    pub const fn timestamp() -> Self {
        Self::of(ColumnName::new("Timestamp"))
    }
}

impl<E, T, R> Column<E, T, R> {
    pub(crate) const fn of(name: ColumnName) -> Self {
        Self {
            name,
            kind: PhantomData,
        }
    }

    pub(crate) const fn stored_name(&self) -> ColumnName {
        self.name
    }

    /// Returns the name of the column in the service.
    pub fn name(&self) -> String {
        self.name.to_string()
    }
}

impl<E, T, R: ColumnRole<T>> Column<E, T, R> {
    /// Matches rows whose value is equal to `value`.
    pub fn eq(&self, value: impl Operand<R::Compared>) -> Filter<E> {
        self.compare(Comparison::Eq, value)
    }

    /// Matches rows that have a value not equal to `value`.
    ///
    /// Rows without the property never match: see [`Filter`](Filter#rows-without-the-property).
    pub fn ne(&self, value: impl Operand<R::Compared>) -> Filter<E> {
        self.compare(Comparison::Ne, value)
    }

    /// Matches rows whose value is greater than `value`.
    pub fn gt(&self, value: impl Operand<R::Compared>) -> Filter<E> {
        const { assert_sorted(R::SORTED) }
        self.compare(Comparison::Gt, value)
    }

    /// Matches rows whose value is greater than or equal to `value`.
    pub fn ge(&self, value: impl Operand<R::Compared>) -> Filter<E> {
        const { assert_sorted(R::SORTED) }
        self.compare(Comparison::Ge, value)
    }

    /// Matches rows whose value is less than `value`.
    pub fn lt(&self, value: impl Operand<R::Compared>) -> Filter<E> {
        const { assert_sorted(R::SORTED) }
        self.compare(Comparison::Lt, value)
    }

    /// Matches rows whose value is less than or equal to `value`.
    pub fn le(&self, value: impl Operand<R::Compared>) -> Filter<E> {
        const { assert_sorted(R::SORTED) }
        self.compare(Comparison::Le, value)
    }

    /// Matches rows whose value is between `least` and `greatest`, both included.
    pub fn between(self, least: impl Operand<R::Compared>, greatest: impl Operand<R::Compared>) -> Filter<E> {
        const { assert_sorted(R::SORTED) }
        self.compare(Comparison::Ge, least) & self.compare(Comparison::Le, greatest)
    }

    /// Matches rows whose value is one of `values`; no row if `values` is empty.
    ///
    /// Each value becomes a separate comparison. The service documents a limit of 15 per filter, and the whole filter
    /// is part of the URL. For more keys use `TableClient::get_many` or `TableQuery::fan_out`.
    pub fn is_in<O: Operand<R::Compared>>(self, values: impl IntoIterator<Item = O>) -> Filter<E> {
        typed::any_of(values.into_iter().map(|value| self.eq(value)))
    }

    /// Matches rows whose text begins with `prefix`.
    ///
    /// Sent as a range, because the service has no such function.
    pub fn starts_with(self, prefix: &str) -> Filter<E>
    where
        R: ColumnRole<T, Compared = String>,
    {
        let from = self.ge(prefix);
        let end = after_prefix(prefix).map(|end| self.lt(end));
        end.into_iter().fold(from, Filter::and)
    }

    pub(crate) fn compare(&self, operator: Comparison, value: impl Operand<R::Compared>) -> Filter<E> {
        let nearest = value.into_nearest().and_then(|(value, order)| {
            let (literal, rounded) = R::literal(&value)?;
            Ok((literal, rounded.then(order)))
        });
        typed::compared(self.name, operator, R::REVERSED, nearest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::filter::typed;
    use crate::key::descending::Descending;
    use crate::key::escaped::{Escaped, PercentEscaped};
    use crate::key::table_key::key_text;

    fn column<T: Property>(name: &'static str) -> Column<DynamicEntity, T> {
        Column::property(name)
    }

    #[test]
    fn comparisons_of_a_descending_key_are_reversed() {
        let posted = Column::<DynamicEntity, Descending<DateTime>, InKey>::row_key();
        let time: DateTime = "2008-10-01T10:00:00Z".parse().unwrap();
        assert_eq!(posted.gt(time).to_string(), "RowKey lt '2521794455999999999'");
        assert_eq!(
            posted.le(Descending(time)).to_string(),
            "RowKey ge '2521794455999999999'"
        );
        assert_eq!(posted.eq(time).to_string(), "RowKey eq '2521794455999999999'");
    }

    /// Compares each of the stored keys with each operand, as values and by a filter.
    fn compares_as_values<T: TableKey + Ord + Clone + fmt::Debug>(key: impl Fn(u32, char) -> T) {
        let column = Column::<DynamicEntity, T, InKey>::row_key();
        // The stored times are steps of 100 ns, and half of the operands are between two.
        let stored = [2, 4, 6].map(|step| ['a', 'b'].map(|letter| key(step, letter)));
        let operands = [1, 2, 3, 4, 7].map(|step| ['a', 'b'].map(|letter| key(step, letter)));
        for (stored, operand) in stored.as_flattened().iter().flat_map(|stored| {
            let operands = operands.as_flattened().iter();
            operands.map(move |operand| (stored, operand))
        }) {
            let row = DynamicEntity::new("p", key_text(stored));
            let matches = [
                column.lt(operand),
                column.le(operand),
                column.eq(operand),
                column.ne(operand),
            ];
            let matches = matches.map(|filter| filter.matches(&row).unwrap());
            let expected = [
                stored < operand,
                stored <= operand,
                stored == operand,
                stored != operand,
            ];
            assert_eq!(matches, expected, "{stored:?} {operand:?}");
            assert_eq!(column.ge(operand).matches(&row).unwrap(), stored >= operand);
            assert_eq!(column.gt(operand).matches(&row).unwrap(), stored > operand);
        }
    }

    #[test]
    fn times_between_two_steps_are_compared_exactly_within_compound_keys() {
        let since = |step: u32| Duration::from_nanos(50) * step;
        let time = |step| SystemTime::UNIX_EPOCH + since(step);
        compares_as_values(|step, _| Box::new(time(step)));
        compares_as_values(|step, letter| (letter, time(step)));
        compares_as_values(|step, letter| (since(step), letter));
        compares_as_values(|step, letter| (time(step), letter, Descending(since(step))));
        compares_as_values(|step, letter| (Descending(time(step)), letter));
        compares_as_values(|step, letter| (letter, Descending(time(step))));
        compares_as_values(|step, letter| Escaped((time(step), letter)));
        compares_as_values(|step, letter| (Escaped((letter, Descending(time(step)))), PercentEscaped(since(step))));
    }

    #[test]
    fn between_is_in_and_starts_with_are_comparisons() {
        let name = column::<Option<String>>("Name");
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
    fn a_bad_name_is_reported_when_the_filter_is_used() {
        let filter = column::<i32>("a b").eq(1);
        assert!(
            typed::into_expression(filter)
                .unwrap_err()
                .to_string()
                .contains("\"a b\"")
        );
    }
}
