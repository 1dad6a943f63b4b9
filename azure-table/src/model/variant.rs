//! The entities of which an enum of entities is made.
//!
//! Owns [`VariantOf`]. How rows become an enum is its `ReadEntity`; how they are selected by variant is
//! `filter/nested.rs`, how the kinds of a query are sorted out `client/query/gather.rs`.

use crate::model::variant_mark::VariantMark;
use crate::model::versioned::Versioned;

/// The entity that one variant of the enum `E` holds. Derived with the enum, for each type that one variant alone
/// holds.
///
/// [`TableQuery::gather`](crate::TableQuery::gather) sorts rows out by it, and
/// [`TableClient::variant`](crate::TableClient::variant) gives a handle to the rows of one variant. An enum that was
/// written by hand needs an impl for each of its variants:
/// ```
/// use azure_table::entity::{VariantMark, VariantOf};
///
/// # struct Customer;
/// # struct Order;
/// enum Item { Customer(Customer), Order(Order) }
///
/// impl VariantOf<Item> for Customer {
///     const VARIANT: &'static str = "Customer";
///     const MARK: Option<VariantMark> = Some(VariantMark::Tag { property: "Kind", tag: "Customer" });
///
///     fn of(entity: Item) -> Result<Self, Item> {
///         match entity {
///             Item::Customer(customer) => Ok(customer),
///             other => Err(other),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no variant of `{E}`",
    label = "expected a type that one variant of `{E}` holds",
    note = "a slot, as a handle of `variant`, takes the rows of one variant: if none holds `{Self}`, add one; if two hold it, give each a struct of its own",
    note = "slots of a `.versioned()` query, and of no other, hold `Versioned<A>`; rows of a single kind are read by `.all()`"
)]
pub trait VariantOf<E>: Sized {
    /// The name of the variant, as errors tell it.
    const VARIANT: &'static str;

    /// What tells the rows of the variant, for [`TableClient::variant`](crate::TableClient::variant). `None` if nothing
    /// does, as for the variant that takes all other rows.
    const MARK: Option<VariantMark> = None;

    /// The entity, if the value is of this variant.
    ///
    /// # Errors
    /// The value as it was given, if it is of another.
    fn of(entity: E) -> Result<Self, E>;
}

impl<E, V: VariantOf<E>> VariantOf<Versioned<E>> for Versioned<V> {
    const VARIANT: &'static str = V::VARIANT;
    const MARK: Option<VariantMark> = V::MARK;

    fn of(read: Versioned<E>) -> Result<Self, Versioned<E>> {
        let Versioned {
            entity,
            etag,
            timestamp,
        } = read;
        match V::of(entity) {
            Ok(entity) => Ok(Self {
                entity,
                etag,
                timestamp,
            }),
            Err(entity) => Err(Versioned {
                entity,
                etag,
                timestamp,
            }),
        }
    }
}
