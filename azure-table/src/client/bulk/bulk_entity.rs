//! What a bulk takes as an entity.

use crate::model::entity::{TableEntity, WritesEntity};
use crate::model::versioned::Versioned;

/// What is written as an entity `E` by a [`Bulk`](crate::Bulk): `E`, [`Versioned<E>`](crate::Versioned), or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not written to a table of `{E}`",
    label = "expected `{E}`, `Versioned<{E}>` or a reference to one",
    note = "operations of any entity type are written by `bulk().write(..)`"
)]
pub trait BulkEntity<E> {
    #[doc(hidden)]
    type Written: WritesEntity<E>;

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
