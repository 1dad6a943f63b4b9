//! Typed filters.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

use azure_table_wire::error::{Error, ErrorKind, Result, ValueError};
use azure_table_wire::filter::evaluate::matches;
use azure_table_wire::filter::expression::{Comparison, Expression, MAX_DEPTH};
use azure_table_wire::value::edm::{Edm, EdmValue};

use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::TableEntity;
use crate::filter::column_name::ColumnName;

/// A condition on the rows of `E`.
///
/// Compare columns to create conditions, and combine them with `&`, `|` and `!`.
///
/// # Rows without the property
///
/// A comparison never selects rows that lack the property, not even `ne`. On the emulator `!` selects them, because no
/// comparison holds for them; the live service is not confirmed to do so. To select rows with another value, use `ne`.
/// To find rows without a value, store a value that means "none", or filter after reading.
///
/// # Limits
///
/// A chain of `&` or of `|` can have any number of conditions. Where `&` and `|` alternate, the text of a filter needs
/// parentheses, at most 100 levels deep. A request with a deeper filter fails before anything is sent.
///
/// `Display` shows the text that is sent to the service. If the service cannot represent a value, the query fails
/// before anything is sent.
///
/// # Examples
///
/// ```
/// use azure_table::{Column, DynamicEntity, Filter};
/// type Col<T> = Column<DynamicEntity, T>;
/// let filter = Col::<i32>::property("Rating").ge(3)
///     & !Col::<String>::property("Author").eq("O'Brien");
/// assert_eq!(filter.to_string(), "Rating ge 3 and (not (Author eq 'O''Brien'))");
/// ```
pub struct Filter<E> {
    state: State,
    /// A part selects a variant by the form of its keys, and may select rows of other variants too.
    pub(crate) is_wide: bool,
    entity: PhantomData<fn() -> E>,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Valid {
        expression: Expression,
        /// The depth, kept so that a chain is not walked for each condition that joins it.
        depth: usize,
    },
    /// The reason why the filter cannot be sent.
    Fault(Box<str>),
}

impl<E> Filter<E> {
    /// Requires both conditions, like `&`.
    #[must_use]
    pub fn and(self, other: impl FilterOf<E>) -> Self {
        let other = other.into_filter();
        Self::is(self.state.and(other.state), self.is_wide || other.is_wide)
    }

    /// Requires either condition, like `|`.
    #[must_use]
    pub fn or(self, other: impl FilterOf<E>) -> Self {
        let other = other.into_filter();
        Self::is(self.state.or(other.state), self.is_wide || other.is_wide)
    }

    /// Returns `true` if the entity, as it would be stored, meets the condition.
    ///
    /// Properties that are not stored count as absent here, and so does the Timestamp.
    ///
    /// ```
    /// use azure_table::TableEntity;
    /// #[derive(TableEntity)]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     rating: Option<i32>,
    /// }
    /// let blog = Blog { channel: "Channel9".into(), id: 1, rating: Some(4) };
    /// assert!((Blog::RATING.ge(3) & Blog::CHANNEL.eq("Channel9")).matches(&blog)?);
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `InvalidInput`: the service cannot represent an operand, or the entity cannot be encoded.
    /// - `Unsupported`: the filter contains text from [`raw`](Self::raw).
    pub fn matches(&self, entity: &E) -> Result<bool>
    where
        E: TableEntity,
    {
        let expression = into_expression(self.clone())?;
        if expression.has_raw() {
            let why = "a filter with raw text cannot be evaluated in memory";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        let row = DynamicEntity::from_entity(entity)?;
        Ok(matches(&expression, &|name: &str| match name {
            "PartitionKey" => Some(Edm::String(Cow::Borrowed(&row.partition_key))),
            "RowKey" => Some(Edm::String(Cow::Borrowed(&row.row_key))),
            _ => row.get(name).cloned(),
        }))
    }

    /// Returns this condition for the rows of another type.
    pub(crate) fn retyped<U>(self) -> Filter<U> {
        Filter::is(self.state, self.is_wide)
    }

    /// Creates a filter of an expression, whose values fit their columns.
    pub(crate) fn of(expression: Expression) -> Self {
        Self::is(State::of(expression), false)
    }

    fn is(state: State, is_wide: bool) -> Self {
        Self {
            state,
            is_wide,
            entity: PhantomData,
        }
    }
}

// Compiled once, not for each type of row.
impl State {
    fn of(expression: Expression) -> Self {
        let depth = expression.depth();
        Self::valid(expression, depth)
    }

    fn compared(
        column: ColumnName,
        operator: Comparison,
        is_reversed: bool,
        nearest: Result<(EdmValue, Ordering), ValueError>,
    ) -> Self {
        if let Some(fault) = column.fault() {
            return Self::Fault(format!("column \"{column}\": {fault}").into());
        }
        let (literal, order) = match nearest {
            Ok(nearest) => nearest,
            Err(e) => return Self::Fault(format!("column `{column}`: {e}").into()),
        };
        let compare = |operator: Comparison, literal| {
            let operator = if is_reversed { operator.mirrored() } else { operator };
            Self::of(Expression::comparison(column.to_string(), operator, literal))
        };
        // The exact value is between two literals: no stored value is equal to it.
        match operator.beside(order) {
            Some(operator) => compare(operator, literal),
            None if operator == Comparison::Eq => Self::of(no_row()),
            None => compare(Comparison::Le, literal.clone()).or(compare(Comparison::Gt, literal)),
        }
    }

    /// Creates the condition, unless it is too deep for the functions that recurse.
    fn valid(expression: Expression, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            return Self::Fault(
                format!("{depth} nested pairs of parentheses, more than the limit of {MAX_DEPTH}; join the conditions of one kind first")
                    .into(),
            );
        }
        Self::Valid { expression, depth }
    }

    fn join(
        self,
        other: Self,
        is_chain: fn(&Expression) -> bool,
        join: fn(Expression, Expression) -> Expression,
    ) -> Self {
        // The parts of a chain that continues have no parentheses of their own.
        let depth_in = |depth: usize, part: &Expression| depth + usize::from(part.is_compound() && !is_chain(part));
        match (self, other) {
            (
                Self::Valid { expression: a, depth },
                Self::Valid {
                    expression: b,
                    depth: other,
                },
            ) => {
                let depth = depth_in(depth, &a).max(depth_in(other, &b));
                Self::valid(join(a, b), depth)
            }
            (fault @ Self::Fault(_), _) | (_, fault) => fault,
        }
    }

    fn and(self, other: Self) -> Self {
        self.join(other, |part| matches!(part, Expression::And(_)), Expression::and)
    }

    fn or(self, other: Self) -> Self {
        self.join(other, |part| matches!(part, Expression::Or(_)), Expression::or)
    }

    fn not(self) -> Self {
        match self {
            Self::Valid { expression, depth } => Self::valid(Expression::Not(Box::new(expression)), depth + 1),
            fault @ Self::Fault(_) => fault,
        }
    }
}

/// Returns a condition that no row meets: nothing sorts before the empty text.
pub(crate) fn no_row() -> Expression {
    Expression::comparison("PartitionKey", Comparison::Lt, EdmValue::from(""))
}

/// Returns a filter that no row meets.
pub(crate) fn nothing<E>() -> Filter<E> {
    Filter::of(no_row())
}

/// Returns the condition that both hold.
pub(crate) fn both<E>(first: Option<Filter<E>>, second: Filter<E>) -> Option<Filter<E>> {
    first.into_iter().chain([second]).reduce(|first, second| first & second)
}

/// Returns a condition that a row meets if it meets one of these; no row without any.
pub(crate) fn any_of<E>(filters: impl Iterator<Item = Filter<E>>) -> Filter<E> {
    filters.reduce(|any, one| any | one).unwrap_or_else(nothing)
}

pub(crate) fn fault<E>(why: String) -> Filter<E> {
    Filter::is(State::Fault(why.into()), false)
}

/// Returns the comparison of a column with the literal nearest to an operand, which is equal to it or beside it.
pub(crate) fn compared<E>(
    column: ColumnName,
    operator: Comparison,
    is_reversed: bool,
    nearest: Result<(EdmValue, Ordering), ValueError>,
) -> Filter<E> {
    Filter::is(State::compared(column, operator, is_reversed, nearest), false)
}

/// Returns the expression.
///
/// # Errors
/// - `InvalidInput`: the service cannot represent an operand.
pub(crate) fn into_expression<E>(filter: Filter<E>) -> Result<Expression> {
    match filter.state {
        State::Valid { expression, .. } => Ok(expression),
        State::Fault(why) => Err(Error::invalid_input(format!("filter: {why}"))),
    }
}

/// Accepts only a [`Filter`] of `E`.
///
/// It is a trait so that the compiler can explain a wrong argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition on the rows of `{E}`",
    label = "expected a `Filter<{E}>`",
    note = "compare a column of `{E}`, as in `{E}::COLUMN.eq(value)`; OData text is `Filter::raw(..)`, with values \
            beside it `Filter::with_parameters(..)`",
    note = "a property of a flattened field is reached by the field, `Shop::HOME.field(Address::CITY).eq(..)`, one of a \
            variant by the variant, `Item::CUSTOMER.field(Customer::NAME).eq(..)`",
    note = "a `bool` is not a condition: columns are compared by `.eq(..)` and `.ge(..)`, not by `==` and `>=`, and \
            joined by `&` and `|`, not by `&&` and `||`"
)]
pub trait FilterOf<E> {
    #[doc(hidden)]
    fn into_filter(self) -> Filter<E>;
}

impl<E> FilterOf<E> for Filter<E> {
    fn into_filter(self) -> Self {
        self
    }
}

impl<E, F: FilterOf<E>> BitAnd<F> for Filter<E> {
    type Output = Self;
    fn bitand(self, other: F) -> Self {
        self.and(other)
    }
}

impl<E, F: FilterOf<E>> BitOr<F> for Filter<E> {
    type Output = Self;
    fn bitor(self, other: F) -> Self {
        self.or(other)
    }
}

impl<E> Not for Filter<E> {
    type Output = Self;
    fn not(self) -> Self {
        Self::is(self.state.not(), self.is_wide)
    }
}

impl<E> Clone for Filter<E> {
    fn clone(&self) -> Self {
        Self::is(self.state.clone(), self.is_wide)
    }
}

impl<E> PartialEq for Filter<E> {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl<E> fmt::Display for Filter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            State::Valid { expression, .. } => expression.fmt(f),
            State::Fault(why) => write!(f, "<{why}>"),
        }
    }
}

impl<E> fmt::Debug for Filter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({self})")
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::filter::parse::parse_to;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::filter::column::Column;

    type Rows = Filter<DynamicEntity>;

    fn rating(n: i32) -> Rows {
        Column::<DynamicEntity, i32>::property("Rating").eq(n)
    }

    #[test]
    fn chain_of_100000_conditions_is_flat_on_either_side() {
        const TERMS: i32 = 100_000;
        let mut entity = DynamicEntity::new("p", "r");
        entity.insert("Rating", TERMS - 1);
        let left: fn(Rows, Rows) -> Rows = |any, one| any | one;
        let right: fn(Rows, Rows) -> Rows = |any, one| one | any;
        for (join, first, last) in [(left, 0, TERMS - 1), (right, TERMS - 1, 0)] {
            let chain = (0..TERMS).map(rating).reduce(join).unwrap();
            let text = chain.clone().to_string();
            assert!(
                text.starts_with(&format!("Rating eq {first} or Rating eq ")),
                "{}",
                &text[..40]
            );
            assert!(text.ends_with(&format!(" or Rating eq {last}")));
            assert!(!text.contains('('));
            assert!(chain.matches(&entity).unwrap());
            assert!(chain == chain.clone());
        }
        let all = (0..TERMS).map(rating).reduce(|all, one| one & all).unwrap();
        assert!(!all.matches(&entity).unwrap());
        // Two long chains, one of them within parentheses.
        let any = |from: i32| (from..from + TERMS).map(rating).reduce(|any, one| one | any).unwrap();
        assert!(((any(0) | any(TERMS)) & any(0)).matches(&entity).unwrap());
    }

    #[test]
    fn chains_of_the_same_kind_join_in_their_order() {
        let [a, b, c, d] = [0, 1, 2, 3].map(rating);
        let joined = ((a.clone() & b.clone()) & (c.clone() & d.clone())).to_string();
        assert_eq!(joined, "Rating eq 0 and Rating eq 1 and Rating eq 2 and Rating eq 3");
        let mixed = (a & (b | (c | d))).to_string();
        assert_eq!(mixed, "Rating eq 0 and (Rating eq 1 or Rating eq 2 or Rating eq 3)");
    }

    #[test]
    fn more_than_100_nested_pairs_of_parentheses_are_an_error() {
        let alternating = |terms: i32| {
            (0..terms).map(rating).reduce(|inner, one| match inner.state {
                State::Valid {
                    expression: Expression::Or(_),
                    ..
                } => one & inner,
                _ => one | inner,
            })
        };
        let negated = |times: usize| (0..times).fold(rating(0), |inner, _| !inner);
        for filter in [alternating(102).unwrap(), negated(100)] {
            let expression = into_expression(filter).unwrap();
            assert_eq!(expression.depth(), 100);
            assert_eq!(parse_to(&expression.to_string()).unwrap(), expression);
        }
        let limit = "nested pairs of parentheses, more than the limit of 100";
        for filter in [alternating(103).unwrap(), alternating(100_000).unwrap(), negated(101)] {
            let error = into_expression(filter).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(&format!("filter: 101 {limit}")), "{error}");
        }
    }
}
