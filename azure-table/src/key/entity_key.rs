//! The key of one entity.
//!
//! Defines [`Key`] and [`IntoKey`]. `key_shape.rs` builds the texts.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::etag::Condition;
use azure_table_wire::value::ordinal;
use serde::{Deserialize, Serialize};

use crate::entity::table_entity::{AsEntity, TableEntity};
use crate::entity::versioned::Versioned;
use crate::key::fields::IntoFields;
use crate::key::key_shape::{KeyWriter, check_keys};
use crate::key::key_texts::KeyTexts;

/// The PartitionKey and RowKey of an entity of type `E`. Keys of different entity types are different types.
///
/// Keys sort as the service sorts its rows. Most code needs no `Key`: every method takes the tuple of key fields.
///
/// Its serde form is a map of `partition_key` and `row_key`. Deserializing checks the texts as in
/// [`from_text`](Self::from_text).
#[derive(Serialize, Deserialize)]
#[serde(bound = "", try_from = "KeyText")]
pub struct Key<E> {
    partition_key: String,
    row_key: String,
    #[serde(skip)]
    entity: PhantomData<fn() -> E>,
}

/// The serde form of a key, not yet checked.
#[derive(Deserialize)]
struct KeyText {
    partition_key: String,
    row_key: String,
}

impl<E> TryFrom<KeyText> for Key<E> {
    type Error = Error;

    fn try_from(texts: KeyText) -> Result<Self> {
        Self::from_text(texts.partition_key, texts.row_key)
    }
}

impl<E> Key<E> {
    /// Creates a key from its two texts, which need not have the form of `E`'s keys.
    ///
    /// `E` may be any type, including a type parameter. For all rows of a partition, or with a common beginning, use
    /// [`KeyPrefix::from_text`](crate::KeyPrefix::from_text).
    ///
    /// ```
    /// use azure_table::{Key, ReadEntity, Result, TableClient};
    ///
    /// async fn read<E: ReadEntity>(table: &TableClient<E>, partition_key: &str, row_key: &str) -> Result<Option<E>> {
    ///     table.get(Key::from_text(partition_key, row_key)).await
    /// }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a text has a forbidden character, or more than
    ///   [`MAX_KEY_UNITS`](azure_table_wire::value::key_text::MAX_KEY_UNITS) UTF-16 units.
    #[doc(alias = "from_strings")]
    #[doc(alias = "from_texts")]
    pub fn from_text(partition_key: impl Into<String>, row_key: impl Into<String>) -> Result<Self> {
        let (partition_key, row_key) = (partition_key.into(), row_key.into());
        check_keys(&partition_key, &row_key)?;
        Ok(checked(partition_key, row_key))
    }

    /// Returns the key of an entity.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a field has no key text, or the service would
    ///   reject it.
    pub fn of(entity: &impl AsEntity<E>) -> Result<Self> {
        let (partition_key, row_key) = key_texts(entity)?.into_pair();
        Ok(checked(partition_key, row_key))
    }

    /// Returns the PartitionKey.
    pub fn partition_key(&self) -> &str {
        &self.partition_key
    }

    /// Returns the RowKey.
    pub fn row_key(&self) -> &str {
        &self.row_key
    }
}

/// Creates a key that was checked, or that comes from the service.
pub(crate) fn checked<E>(partition_key: String, row_key: String) -> Key<E> {
    Key {
        partition_key,
        row_key,
        entity: PhantomData,
    }
}

/// Returns the PartitionKey and RowKey of an entity.
pub(crate) fn key_texts<E: TableEntity + ?Sized>(entity: &E) -> Result<KeyTexts> {
    let mut writer = KeyWriter::new(entity.key_shape());
    entity.write_key(&mut writer)?;
    writer.finish()
}

impl<E> Clone for Key<E> {
    fn clone(&self) -> Self {
        checked(self.partition_key.clone(), self.row_key.clone())
    }
}

impl<E> PartialEq for Key<E> {
    fn eq(&self, other: &Self) -> bool {
        self.partition_key == other.partition_key && self.row_key == other.row_key
    }
}

impl<E> Eq for Key<E> {}

impl<E> PartialOrd for Key<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Key<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal::compare(&self.partition_key, &other.partition_key)
            .then_with(|| ordinal::compare(&self.row_key, &other.row_key))
    }
}

impl<E> Hash for Key<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.partition_key.hash(state);
        self.row_key.hash(state);
    }
}

impl<E> fmt::Display for Key<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.partition_key, self.row_key)
    }
}

impl<E> fmt::Debug for Key<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key{self}")
    }
}

/// A value that identifies an entity of type `E`.
///
/// Implemented for:
/// - the flat tuple of its key fields: PartitionKey first, then RowKey;
/// - the entity, and a [`Versioned`] one;
/// - a [`Key`];
/// - the result of [`Key::from_text`], whose error the call then returns.
///
/// An entity with an ETag adds a condition: a delete requires that the stored entity has that ETag.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the key of `{E}`",
    label = "not a key of `{E}`",
    note = "pass a tuple of its key fields, a reference to an entity, or `Key::from_text(..)?`",
    note = "an enum of entities has no key tuple, since its variants' keys differ: use one of the other two"
)]
pub trait IntoKey<E> {
    /// Returns the key.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a field has no key text, or the service would
    ///   reject it.
    fn into_key(self) -> Result<Key<E>>;

    /// Returns the condition that a delete by this value puts on the stored entity.
    fn condition(&self) -> Condition {
        Condition::Exists
    }
}

impl<E> IntoKey<E> for Key<E> {
    fn into_key(self) -> Result<Key<E>> {
        Ok(self)
    }
}

impl<E> IntoKey<E> for Result<Key<E>> {
    fn into_key(self) -> Result<Key<E>> {
        self
    }
}

impl<E> IntoKey<E> for &Key<E> {
    fn into_key(self) -> Result<Key<E>> {
        Ok(self.clone())
    }
}

/// The bound keeps `&Versioned<E>` the key of an `E` alone: `TableOperation::delete(&versioned)` has one meaning.
impl<E: TableEntity> IntoKey<E> for &E
where
    E::KeyFields: PlainFields,
{
    fn into_key(self) -> Result<Key<E>> {
        Key::of(self)
    }

    fn condition(&self) -> Condition {
        TableEntity::condition(*self)
    }
}

impl<E: TableEntity> IntoKey<E> for &Versioned<E> {
    fn into_key(self) -> Result<Key<E>> {
        Key::of(self)
    }

    fn condition(&self) -> Condition {
        TableEntity::condition(*self)
    }
}

/// The key fields of an entity that is not [`Versioned`]: a tuple, or the fields of an enum.
#[diagnostic::on_unimplemented(
    message = "a reference to an entity is its own key only if the compiler knows the type of its key fields",
    label = "not known to be an entity's own fields",
    note = "for an entity of any type pass `Key::of(&entity)`"
)]
#[doc(hidden)]
pub trait PlainFields {}

/// The key fields of a [`Versioned`] entity.
#[doc(hidden)]
#[derive(Debug)]
pub struct VersionedFields<F>(PhantomData<fn() -> F>);

/// A text is never a key. This impl exists for the compiler's message, which shows the key's fields.
impl<E: TableEntity> IntoKey<E> for &str
where
    E::KeyFields: IsOneText,
{
    fn into_key(self) -> Result<Key<E>> {
        Err(Error::invalid_input("a key has two texts"))
    }
}

/// Implemented for no type.
#[diagnostic::on_unimplemented(
    message = "a text is not the key of an entity with the key fields `{Self}`",
    label = "expected the tuple `{Self}`, PartitionKey first; each `String` may be a `&str`",
    note = "a key of one field is a tuple too: `(\"…\",)`; for both keys as texts use `Key::from_text(..)?`, for all rows of a \
            partition `query().partition(..)`"
)]
#[doc(hidden)]
pub trait IsOneText {}

/// The key of an entity of type `E` with these fields.
fn key_of_fields<E: TableEntity>(fields: impl IntoFields<E::KeyFields>) -> Result<Key<E>> {
    let mut key = KeyWriter::new(&E::SCHEMA.key);
    fields.write_fields(&mut key)?;
    let (partition_key, row_key) = key.finish()?.into_pair();
    Ok(checked(partition_key, row_key))
}

impl<E: TableEntity, A> IntoKey<E> for (A,)
where
    A: IntoFields<E::KeyFields>,
{
    fn into_key(self) -> Result<Key<E>> {
        key_of_fields(self.0)
    }
}

impl<A> PlainFields for (A,) {}

macro_rules! tuples {
    ($(($($field:ident),*))*) => {$(
        impl<E: TableEntity, $($field),*> IntoKey<E> for ($($field,)*)
        where
            Self: IntoFields<E::KeyFields>,
        {
            fn into_key(self) -> Result<Key<E>> {
                key_of_fields(self)
            }
        }

        impl<$($field),*> PlainFields for ($($field,)*) {}
    )*};
}
tuples! {
    ()
    (A, B)
    (A, B, C)
    (A, B, C, D)
    (A, B, C, D, F)
    (A, B, C, D, F, G)
    (A, B, C, D, F, G, H)
    (A, B, C, D, F, G, H, I)
}
