//! The entities that a bulk accepts.

use crate::entity::table_entity::{AsEntity, TableEntity};
use crate::entity::versioned::Versioned;

/// An entity that a [`Bulk`](crate::Bulk) writes to a table of `E`: `E`, [`Versioned<E>`](crate::Versioned), or a
/// reference to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity that a table of `{E}` stores",
    label = "expected `{E}`, `Versioned<{E}>` or a reference to one",
    note = "where `{E}` is an enum of entities: write `{E}::Variant(entity)`",
    note = "operations of any entity type are written by `bulk().write(..)`"
)]
pub trait BulkEntity<E> {
    #[doc(hidden)]
    type Written: AsEntity<E>;

    #[doc(hidden)]
    fn written(&self) -> &Self::Written;
}

impl<E: TableEntity> BulkEntity<E> for E {
    type Written = E;

    fn written(&self) -> &E {
        self
    }
}

impl<E: TableEntity> BulkEntity<E> for &E {
    type Written = E;

    fn written(&self) -> &E {
        self
    }
}

impl<E: TableEntity> BulkEntity<E> for Versioned<E> {
    type Written = Self;

    fn written(&self) -> &Self {
        self
    }
}

impl<E: TableEntity> BulkEntity<E> for &Versioned<E> {
    type Written = Versioned<E>;

    fn written(&self) -> &Versioned<E> {
        self
    }
}
