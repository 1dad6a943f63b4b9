//! Columns of a flattened field, and of one variant of an enum.
//!
//! Defines [`Nested`] and [`Variant`], which the derive creates as constants, and [`VariantColumn`]. They lead to
//! columns of the whole entity.

use std::fmt;
use std::marker::PhantomData;

use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::value::edm::EdmValue;

use crate::entity::variant_mark::VariantMark;
use crate::filter::column::{Column, ColumnRole, InKey, assert_sorted};
use crate::filter::column_name::ColumnName;
use crate::filter::typed::{Filter, FilterOf};
use crate::key::key_shape::KeyPiece;
use crate::key::operand::Operand;

/// A flattened field of `E` with the properties of the group `G`.
///
/// `Shop::ADDRESS.field(Address::CITY)` is the column of the city in the address of a shop. The columns of an optional
/// group are options, because a row without the group has no value in them.
pub struct Nested<E, G> {
    prefix: ColumnName,
    kind: PhantomData<fn() -> (E, G)>,
}

impl<E, G> Nested<E, G> {
    /// Creates the flattened field whose property names begin with `prefix`.
    pub const fn new(prefix: &'static str) -> Self {
        Self::of(ColumnName::new(prefix))
    }

    const fn of(prefix: ColumnName) -> Self {
        Self {
            prefix,
            kind: PhantomData,
        }
    }

    /// Returns a column of the group, or a flattened field of it.
    ///
    /// Flattened fields lead to columns up to three levels deep. A call with a filter on a deeper column fails.
    pub fn field<N: NestedIn<G>>(self, inner: N) -> N::In<E> {
        inner.within(self.prefix)
    }
}

/// A part of a flattened field: [`Column`] or [`Nested`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not part of `{G}`",
    label = "expected a column or a flattened field of `{G}`",
    note = "name a property of `{G}`, as in `Shop::HOME.field({G}::CITY)`; one that is stored by `json`, `with` or `chunked` \
            is not compared"
)]
pub trait NestedIn<G> {
    /// The part within the entity `E`.
    type In<E>;

    #[doc(hidden)]
    fn within<E>(self, prefix: ColumnName) -> Self::In<E>;
}

impl<G, T> NestedIn<G> for Column<G, T> {
    type In<E> = Column<E, T>;

    fn within<E>(self, prefix: ColumnName) -> Column<E, T> {
        Column::of(self.stored_name().within(prefix))
    }
}

/// In a group that may be absent, each property and each group may be absent. One inside another is an `Option` of an
/// `Option`.
macro_rules! optional {
    ($($group:ty),*) => {$(
        impl<G, T> NestedIn<$group> for Column<G, T> {
            type In<E> = Column<E, Option<T>>;

            fn within<E>(self, prefix: ColumnName) -> Column<E, Option<T>> {
                Column::of(self.stored_name().within(prefix))
            }
        }

        impl<G, H> NestedIn<$group> for Nested<G, H> {
            type In<E> = Nested<E, Option<H>>;

            fn within<E>(self, prefix: ColumnName) -> Nested<E, Option<H>> {
                Nested::of(self.prefix.within(prefix))
            }
        }
    )*};
}
optional! { Option<G>, Option<Option<G>> }

impl<G, H> NestedIn<G> for Nested<G, H> {
    type In<E> = Nested<E, H>;

    fn within<E>(self, prefix: ColumnName) -> Nested<E, H> {
        Nested::of(self.prefix.within(prefix))
    }
}

impl<E, G> Clone for Nested<E, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, G> Copy for Nested<E, G> {}

impl<E, G> fmt::Debug for Nested<E, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nested({}…)", self.prefix)
    }
}

/// The rows of the variant `V` of the enum `E`.
///
/// `Item::CUSTOMER.field(Customer::NAME).eq("x")` selects customers of that name, and no other variants.
/// `Item::CUSTOMER.only()` selects all customers.
///
/// If nothing but the form of the keys tells variants apart, the service can only compare the fixed text at the
/// beginning of a RowKey. If the variant has no such text, or shares it, the filter also selects rows of other
/// variants. To filter exactly, give the enum a `tag` or its variants a `row_key_prefix`.
pub struct Variant<E, V> {
    mark: VariantMark,
    kind: PhantomData<fn() -> (E, V)>,
}

impl<E, V> Variant<E, V> {
    /// Selects the rows with this mark.
    #[doc(hidden)]
    pub const fn new(mark: VariantMark) -> Self {
        Self {
            mark,
            kind: PhantomData,
        }
    }

    /// Selects all rows of the variant.
    ///
    /// If nothing but the form of the keys tells variants apart, this may also select rows of other variants, as
    /// described above. Queries accept such a filter, but `delete_where` and its siblings reject it with
    /// `InvalidInput`. The same goes for [`filter`](Self::filter) and [`field`](Self::field).
    pub fn only(self) -> Filter<E> {
        let prefix = match self.mark {
            VariantMark::Tag { property, tag } => {
                return Filter::of(Expression::comparison(property, Comparison::Eq, EdmValue::from(tag)));
            }
            VariantMark::RowKeyPrefix(prefix) => prefix,
            VariantMark::KeyForm { form, .. } => match form.row_key {
                [KeyPiece::Literal(text), ..] => text,
                _ => "",
            },
        };
        let mut filter = Column::<E, String, InKey>::row_key().starts_with(prefix);
        filter.is_wide = matches!(self.mark, VariantMark::KeyForm { .. });
        filter
    }

    /// Selects the rows of the variant that meet a condition on it.
    pub fn filter(self, filter: impl FilterOf<V>) -> Filter<E> {
        self.only() & filter.into_filter().retyped()
    }

    /// Returns a column of the variant.
    pub fn field<T, R>(self, column: Column<V, T, R>) -> VariantColumn<E, V, T, R> {
        VariantColumn { variant: self, column }
    }
}

impl<E, V> Clone for Variant<E, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, V> Copy for Variant<E, V> {}

impl<E, V> fmt::Debug for Variant<E, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variant({:?})", self.mark)
    }
}

/// A column of one variant of an enum.
///
/// Its comparisons select rows of that variant only, as far as the service can distinguish them: see [`Variant`].
#[derive(Debug)]
pub struct VariantColumn<E, V, T, R> {
    variant: Variant<E, V>,
    column: Column<V, T, R>,
}

impl<E, V, T, R> Clone for VariantColumn<E, V, T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, V, T, R> Copy for VariantColumn<E, V, T, R> {}

/// Adds the comparisons of order of [`Column`] to columns of a variant.
macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident: $operator:ident;)*) => {
        impl<E, V, T, R: ColumnRole<T>> VariantColumn<E, V, T, R> {
            $($(#[$doc])*
            pub fn $name(self, value: impl Operand<R::Compared>) -> Filter<E> {
                const { assert_sorted(R::SORTED) }
                self.variant.filter(self.column.compare(Comparison::$operator, value))
            })*
        }
    };
}
comparisons! {
    /// Matches rows whose value is greater than `value`.
    gt: Gt;
    /// Matches rows whose value is greater than or equal to `value`.
    ge: Ge;
    /// Matches rows whose value is less than `value`.
    lt: Lt;
    /// Matches rows whose value is less than or equal to `value`.
    le: Le;
}

impl<E, V, T, R: ColumnRole<T>> VariantColumn<E, V, T, R> {
    /// Matches rows whose value is equal to `value`.
    pub fn eq(self, value: impl Operand<R::Compared>) -> Filter<E> {
        self.variant.filter(self.column.eq(value))
    }

    /// Matches rows that have a value not equal to `value`.
    pub fn ne(self, value: impl Operand<R::Compared>) -> Filter<E> {
        self.variant.filter(self.column.ne(value))
    }

    /// Matches rows whose value is between `least` and `greatest`, both included.
    pub fn between(self, least: impl Operand<R::Compared>, greatest: impl Operand<R::Compared>) -> Filter<E> {
        const { assert_sorted(R::SORTED) }
        let least = self.column.compare(Comparison::Ge, least);
        self.variant
            .filter(least & self.column.compare(Comparison::Le, greatest))
    }

    /// Matches rows whose value is one of `values`; no row if `values` is empty.
    pub fn is_in<O: Operand<R::Compared>>(self, values: impl IntoIterator<Item = O>) -> Filter<E> {
        self.variant.filter(self.column.is_in(values))
    }

    /// Matches rows whose text begins with `prefix`.
    pub fn starts_with(self, prefix: &str) -> Filter<E>
    where
        R: ColumnRole<T, Compared = String>,
    {
        self.variant.filter(self.column.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::key_shape::KeyShape;

    struct Shop;
    struct Address;
    struct Geo;

    #[test]
    fn flattened_columns_have_their_whole_name() {
        let geo = Nested::<Address, Geo>::new("Geo_");
        let lat = Column::<Geo, f64>::property("Lat");
        let address = Nested::<Shop, Address>::new("Home_");
        assert_eq!(address.field(geo.field(lat)).gt(1.5).to_string(), "Home_Geo_Lat gt 1.5");
        assert_eq!(address.field(geo).field(lat).gt(1.5).to_string(), "Home_Geo_Lat gt 1.5");
    }

    #[test]
    fn a_variant_adds_its_condition() {
        let name = Column::<Address, Option<String>>::property("Name");
        let tagged = Variant::<Shop, Address>::new(VariantMark::Tag {
            property: "Kind",
            tag: "customer",
        });
        assert_eq!(
            tagged.field(name).eq("x").to_string(),
            "Kind eq 'customer' and Name eq 'x'"
        );
        let prefixed = Variant::<Shop, Address>::new(VariantMark::RowKeyPrefix("0001"));
        assert_eq!(
            prefixed.field(name).starts_with("x").to_string(),
            "RowKey ge '0001' and RowKey lt '0002' and Name ge 'x' and Name lt 'y'"
        );
        const SHAPE: KeyShape = KeyShape {
            partition_key: &[],
            row_key: &[KeyPiece::Field("id")],
        };
        let mark = VariantMark::KeyForm {
            form: &SHAPE,
            earlier: &[],
        };
        assert_eq!(Variant::<Shop, Address>::new(mark).only().to_string(), "RowKey ge ''");
    }

    #[test]
    fn filter_by_a_form_of_keys_is_wide_in_every_combination() {
        const SHAPE: KeyShape = KeyShape {
            partition_key: &[],
            row_key: &[KeyPiece::Literal("order_"), KeyPiece::Field("id")],
        };
        let form = Variant::<Shop, Address>::new(VariantMark::KeyForm {
            form: &SHAPE,
            earlier: &[],
        });
        let name = Column::<Address, String>::property("Name");
        let exact = || Column::<Shop, i32>::property("Rating").eq(1);
        for wide in [
            form.only(),
            form.filter(name.eq("x")),
            form.field(name).starts_with("x"),
            form.field(name).is_in(["x", "y"]),
        ] {
            assert!((exact() & wide.clone()).is_wide && (wide.clone() | exact()).is_wide);
            assert!((!(exact() & !wide.clone())).is_wide && wide.retyped::<Geo>().is_wide);
        }
        let prefixed = Variant::<Shop, Address>::new(VariantMark::RowKeyPrefix("0001"));
        assert!(!(prefixed.only() & exact()).is_wide);
    }
}
