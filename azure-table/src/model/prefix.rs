//! Keys given from the left: what names all entities whose keys begin alike.

use std::fmt;
use std::marker::PhantomData;

use crate::model::entity::TableEntity;
use crate::model::entity_key::Key;
use crate::model::error::Result;
use crate::model::key::TableKey;
use crate::model::key_shape::{KeyStart, KeyWriter, Start};
use crate::model::operand::Operand;

/// The leading key fields of entities of type `E`: those of the PartitionKey from the left, and when all of them are
/// there, those of the RowKey from the left. Made by [`Key::prefix`].
pub struct KeyPrefix<E> {
    start: KeyStart,
    entity: PhantomData<fn() -> E>,
}

impl<E> KeyPrefix<E> {
    pub(crate) fn start(&self) -> &KeyStart {
        &self.start
    }
}

impl<E> Clone for KeyPrefix<E> {
    fn clone(&self) -> Self {
        Self {
            start: self.start.clone(),
            entity: PhantomData,
        }
    }
}

impl<E> PartialEq for KeyPrefix<E> {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start
    }
}

impl<E> Eq for KeyPrefix<E> {}

impl<E> fmt::Debug for KeyPrefix<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPrefix({self})")
    }
}

impl<E> fmt::Display for KeyPrefix<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |start: &Start| match start {
            Start::Whole(text) => format!("{text:?}"),
            Start::Prefix(text) => format!("{text:?}…"),
        };
        let row_key = self.start.row_key.as_ref().map_or_else(|| "…".to_owned(), part);
        write!(f, "({}, {row_key})", part(&self.start.partition_key))
    }
}

impl<E: TableEntity> Key<E> {
    /// What the keys of all entities with these leading fields begin with. Fields are given from the left only: a
    /// later one without those before it does not compile.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Key};
    /// let partition = Key::<DynamicEntity>::prefix(("WA;Seattle",))?;
    /// assert_eq!(partition.to_string(), "(\"WA;Seattle\", \"\"…)");
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — a field has no key text, or the service would refuse it.
    pub fn prefix<G>(fields: G) -> Result<KeyPrefix<E>>
    where
        E::KeyFields: KeyPrefixFrom<G>,
    {
        let mut key = KeyWriter::new(&E::SCHEMA.key);
        E::KeyFields::write_prefix(fields, &mut key)?;
        Ok(KeyPrefix {
            start: key.finish_start()?,
            entity: PhantomData,
        })
    }
}

/// The leading fields of a key can be given as a `G`: a tuple of as many of them as are known.
///
/// Implemented for tuples of field types; not meant to be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{G}` is not the beginning of a key with the fields `{Self}`",
    label = "expected a tuple of its leading fields",
    note = "an enum of entities has no key tuple, since its variants' keys differ: use `variant::<V>()`"
)]
pub trait KeyPrefixFrom<G> {
    #[doc(hidden)]
    fn write_prefix(fields: G, key: &mut KeyWriter) -> Result<()>;
}

/// One impl: all field types of a key, and the fields that are given.
macro_rules! prefix {
    ([$($all:ident)+] ($($given:ident $field:ident $n:tt),+)) => {
        impl<$($all,)+ $($given),+> KeyPrefixFrom<($($given,)+)> for ($($all,)+)
        where
            $($given: Operand<$field>, $field: TableKey,)+
        {
            fn write_prefix(fields: ($($given,)+), key: &mut KeyWriter) -> Result<()> {
                $(key.field(&fields.$n.into_operand())?;)+
                Ok(())
            }
        }
    };
}

/// For the field types of each key: an impl for each number of given fields.
macro_rules! prefixes {
    ($($all:tt <- [$($given:tt)+])*) => {
        $($(prefix!($all $given);)+)*
    };
}
prefixes! {
    [A] <- [(GA A 0)]
    [A B] <- [(GA A 0) (GA A 0, GB B 1)]
    [A B C] <- [(GA A 0) (GA A 0, GB B 1) (GA A 0, GB B 1, GC C 2)]
    [A B C D] <- [(GA A 0) (GA A 0, GB B 1) (GA A 0, GB B 1, GC C 2) (GA A 0, GB B 1, GC C 2, GD D 3)]
    [A B C D E] <- [(GA A 0) (GA A 0, GB B 1) (GA A 0, GB B 1, GC C 2) (GA A 0, GB B 1, GC C 2, GD D 3)
        (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4)]
    [A B C D E F] <- [(GA A 0) (GA A 0, GB B 1) (GA A 0, GB B 1, GC C 2) (GA A 0, GB B 1, GC C 2, GD D 3)
        (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4) (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4, GF F 5)]
    [A B C D E F G] <- [(GA A 0) (GA A 0, GB B 1) (GA A 0, GB B 1, GC C 2) (GA A 0, GB B 1, GC C 2, GD D 3)
        (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4) (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4, GF F 5)
        (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4, GF F 5, GG G 6)]
    [A B C D E F G H] <- [(GA A 0) (GA A 0, GB B 1) (GA A 0, GB B 1, GC C 2) (GA A 0, GB B 1, GC C 2, GD D 3)
        (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4) (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4, GF F 5)
        (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4, GF F 5, GG G 6)
        (GA A 0, GB B 1, GC C 2, GD D 3, GE E 4, GF F 5, GG G 6, GH H 7)]
}
