//! Typed filters.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

use crate::filter::evaluate::matches;
use crate::filter::expression::{Comparison, Expression};
use crate::model::edm::{Edm, EdmValue};
use crate::model::entity::TableEntity;
use crate::model::entity_key::key_texts;
use crate::model::error::{Error, ErrorKind, Result};
use crate::model::property_writer::{PropertySink, PropertyWriter};

/// A condition on the rows of `E`.
///
/// Compare columns to create conditions, and combine them with `&`, `|` and `!`.
///
/// It is not confirmed for the live service which rows `!` selects if they lack the property. On the emulator it
/// selects them too, since no comparison holds for them. Where that matters, compare with `ne`.
///
/// `Display` shows the text that is sent to the service. If the service cannot represent a value, the query fails
/// before anything is sent.
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
    entity: PhantomData<fn() -> E>,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Valid(Expression),
    /// The reason why the filter cannot be sent.
    Fault(Box<str>),
}

impl<E> Filter<E> {
    /// Creates a filter from OData text, which is sent unchanged.
    ///
    /// The caller must quote every value in the text. [`with_parameters`](Self::with_parameters) does it for values that
    /// stand beside the text.
    pub fn raw(text: impl Into<Box<str>>) -> Self {
        Self::from(Expression::Raw(text.into()))
    }

    /// Requires both conditions, like `&`.
    #[must_use]
    pub fn and(self, other: impl FilterOf<E>) -> Self {
        self.join(other.into_filter(), Expression::and)
    }

    /// Requires either condition, like `|`.
    #[must_use]
    pub fn or(self, other: impl FilterOf<E>) -> Self {
        self.join(other.into_filter(), Expression::or)
    }

    /// Returns `true` if the entity, as it would be stored, meets the condition.
    ///
    /// Properties that are not stored, and the Timestamp, are missing in this comparison.
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
        let expression = self.clone().into_expression()?;
        if expression.has_raw() {
            let why = "raw text of a filter is not understood in memory";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        let texts = key_texts(entity)?;
        let (partition_key, row_key) = texts.pair();
        let mut values = Values::default();
        let mut writer = PropertyWriter::new(&mut values, partition_key, row_key);
        entity.write_properties(&mut writer)?;
        writer.finish()?;
        Ok(matches(&expression, &|name: &str| match name {
            "PartitionKey" => Some(Edm::String(Cow::Borrowed(partition_key))),
            "RowKey" => Some(Edm::String(Cow::Borrowed(row_key))),
            _ => values
                .0
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone()),
        }))
    }

    /// Returns a condition that no row meets: nothing sorts before the empty text.
    pub(crate) fn nothing() -> Self {
        Self::from(Expression::comparison(
            "PartitionKey",
            Comparison::Lt,
            EdmValue::from(""),
        ))
    }

    /// Returns this condition for the rows of another type.
    pub(crate) fn retyped<U>(self) -> Filter<U> {
        Filter {
            state: self.state,
            entity: PhantomData,
        }
    }

    pub(crate) fn fault(why: String) -> Self {
        Self {
            state: State::Fault(why.into()),
            entity: PhantomData,
        }
    }

    /// Returns the expression.
    ///
    /// # Errors
    /// - `InvalidInput`: the service cannot represent an operand.
    pub(crate) fn into_expression(self) -> Result<Expression> {
        match self.state {
            State::Valid(expression) => Ok(expression),
            State::Fault(why) => Err(Error::invalid_input(format!("filter: {why}"))),
        }
    }

    fn join(self, other: Self, join: fn(Expression, Expression) -> Expression) -> Self {
        let state = match (self.state, other.state) {
            (State::Valid(a), State::Valid(b)) => State::Valid(join(a, b)),
            (State::Fault(why), _) | (_, State::Fault(why)) => State::Fault(why),
        };
        Self {
            state,
            entity: PhantomData,
        }
    }
}

/// The properties of an entity as they would be stored.
#[derive(Default)]
struct Values(Vec<(String, EdmValue)>);

impl PropertySink for Values {
    fn put(&mut self, name: &str, value: &Edm<'_>) {
        self.0.push((name.to_owned(), value.clone().into_owned()));
    }
}

impl<E> From<Expression> for Filter<E> {
    fn from(expression: Expression) -> Self {
        Self {
            state: State::Valid(expression),
            entity: PhantomData,
        }
    }
}

/// Accepts only a [`Filter`] of `E`.
///
/// It is a trait so that the compiler can explain a wrong argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no condition on the rows of `{E}`",
    label = "expected a `Filter<{E}>`",
    note = "compare a column of `{E}`, as in `{E}::COLUMN.eq(value)`; OData text is `Filter::raw(..)`, with values \
            beside it `Filter::with_parameters(..)`",
    note = "a property of a flattened field is reached by the field, `Shop::HOME.then(Address::CITY).eq(..)`, one of a \
            variant by the variant, `Item::CUSTOMER.then(Customer::NAME).eq(..)`",
    note = "a `bool` is no condition: columns are compared by `.eq(..)` and `.ge(..)`, not by `==` and `>=`, and joined by `&` and `|`, \
            not by `&&` and `||`"
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
        let state = match self.state {
            State::Valid(expression) => State::Valid(Expression::Not(Box::new(expression))),
            fault => fault,
        };
        Self {
            state,
            entity: PhantomData,
        }
    }
}

impl<E> Clone for Filter<E> {
    fn clone(&self) -> Self {
        Self {
            state: self.state.clone(),
            entity: PhantomData,
        }
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
            State::Valid(expression) => expression.fmt(f),
            State::Fault(why) => write!(f, "<{why}>"),
        }
    }
}

impl<E> fmt::Debug for Filter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({self})")
    }
}
