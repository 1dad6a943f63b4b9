//! The columns of encrypted properties, which are set and selected, and never compared.
//!
//! The comparisons exist for the compiler's messages, as in `rejected.rs`.

use std::fmt;
use std::marker::PhantomData;

#[cfg(feature = "encryption")]
use azure_table_wire::error::Result;

use crate::entity::property::Property;
#[cfg(feature = "encryption")]
use crate::entity::property::ReadProperty;
#[cfg(feature = "encryption")]
use crate::entity::row::{self, Row};
use crate::entity::unsealed;
use crate::filter::assignment::Assignment;
use crate::filter::column::{ColumnRole, Stored};
use crate::filter::column_name::ColumnName;
use crate::filter::nested::NestedIn;
use crate::filter::rejected::Rejected;
#[cfg(feature = "encryption")]
use crate::filter::select::SelectColumn;
use crate::filter::typed::Filter;
use crate::key::operand::Operand;

/// The column of a property that is encrypted, `#[table(encrypted)]`.
///
/// It is set by a patch, and selected. A comparison does not compile, because the service sees only the ciphertext.
pub struct EncryptedColumn<E, T> {
    name: ColumnName,
    kind: PhantomData<fn() -> (E, T)>,
}

impl<E, T> EncryptedColumn<E, T> {
    /// Returns the column of a field. The field's own code checks its type.
    #[doc(hidden)]
    pub const fn new(name: &'static str) -> Self {
        Self::of(ColumnName::new(name))
    }

    const fn of(name: ColumnName) -> Self {
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

impl<E, T: Property> EncryptedColumn<E, T> {
    /// Creates the assignment of a new value, for a patch. The client encrypts it when the patch is sent.
    pub fn set(self, value: impl Operand<T::Compared>) -> Assignment<E> {
        let literal = || {
            let value = value.into_operand()?;
            unsealed::to_edm(&value)?;
            Ok(<Stored as ColumnRole<T>>::literal(&value)?.0)
        };
        Assignment::of_column(self.name, literal).encrypted()
    }
}

impl<E, T> Clone for EncryptedColumn<E, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T> Copy for EncryptedColumn<E, T> {}

impl<E, T> fmt::Debug for EncryptedColumn<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncryptedColumn({})", self.name)
    }
}

impl<G, T> NestedIn<G> for EncryptedColumn<G, T> {
    type In<E> = EncryptedColumn<E, T>;

    fn within<E>(self, prefix: ColumnName) -> EncryptedColumn<E, T> {
        EncryptedColumn::of(self.name.within(prefix))
    }
}

impl<G, T> NestedIn<Option<G>> for EncryptedColumn<G, T> {
    type In<E> = EncryptedColumn<E, Option<T>>;

    fn within<E>(self, prefix: ColumnName) -> EncryptedColumn<E, Option<T>> {
        EncryptedColumn::of(self.name.within(prefix))
    }
}

#[cfg(feature = "encryption")]
impl<E, T: Property + ReadProperty> SelectColumn<E> for EncryptedColumn<E, T> {
    type Value = T;

    fn selected_name(&self) -> String {
        self.name()
    }

    fn read_from(&self, row: &Row<'_>, name: &str) -> Result<T> {
        row::required(row.found_decrypted(name)?, name)
    }
}

/// Implemented by no type.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an encrypted column cannot be compared: the service sees only its ciphertext",
    label = "a property marked #[table(encrypted)]",
    note = "compare the rows that were read; or store what is searched for in a property or a key of its own, such as a \
            keyed hash"
)]
pub trait Searchable<E>: Rejected {}

macro_rules! rejected {
    ($($compare:ident)*) => {
        #[doc(hidden)]
        impl<E, T> EncryptedColumn<E, T> {
            $(pub fn $compare<V>(self, _: V) -> Filter<E>
            where
                T: Searchable<E>,
            {
                T::rejected()
            })*

            pub fn between<A, B>(self, _: A, _: B) -> Filter<E>
            where
                T: Searchable<E>,
            {
                T::rejected()
            }
        }
    };
}
rejected! { eq ne gt ge lt le is_in starts_with }
