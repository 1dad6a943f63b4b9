//! The variants of an enum of entities.
//!
//! Defines [`VariantOf`]. The enum's `ReadEntity` reads rows as the enum, `filter/nested.rs`
//! selects them by variant, and `client/query/gather.rs` sorts the rows of a query by variant.

use crate::entity::variant_mark::VariantMark;
use crate::entity::versioned::Versioned;

/// The entity that one variant of the enum `E` holds.
///
/// Derived with the enum, for each type that exactly one variant holds.
///
/// `TableQuery::gather` sorts rows by it. A handwritten enum needs an impl for each of its variants:
/// ```
/// use azure_table::entity::VariantOf;
///
/// # struct Customer;
/// # struct Order;
/// enum Item { Customer(Customer), Order(Order) }
///
/// impl VariantOf<Item> for Customer {
///     const VARIANT: &'static str = "Customer";
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
    message = "`{Self}` is not a variant of `{E}`",
    label = "expected a type that one variant of `{E}` holds",
    note = "a slot takes the rows of one variant: if none holds `{Self}`, add one; if two hold it, give each a struct of its own",
    note = "slots of a `.versioned()` query, and of no other, hold `Versioned<A>`; rows of a single kind are read by `.all()`"
)]
pub trait VariantOf<E>: Sized {
    /// The name of the variant in errors.
    const VARIANT: &'static str;

    /// The mark of the variant's rows. `None` if it is the form of their keys, or the enum is handwritten.
    #[doc(hidden)]
    const MARK: Option<VariantMark> = None;

    /// Returns the entity, if the value is of this variant.
    ///
    /// # Errors
    /// Returns the value unchanged if it is of another variant.
    fn of(entity: E) -> Result<Self, E>;
}

impl<E, V: VariantOf<E>> VariantOf<Versioned<E>> for Versioned<V> {
    const VARIANT: &'static str = V::VARIANT;

    fn of(read: Versioned<E>) -> Result<Self, Versioned<E>> {
        let version = (read.etag, read.timestamp);
        match V::of(read.entity) {
            Ok(entity) => Ok(Self::of(entity, version)),
            Err(entity) => Err(Versioned::of(entity, version)),
        }
    }
}
