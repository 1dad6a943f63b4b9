//! Key prefixes: the leading fields shared by the keys of several entities.

use std::fmt;
use std::marker::PhantomData;

use azure_table_wire::error::Result;

use crate::entity::table_entity::TableEntity;
use crate::entity::variant::VariantOf;
use crate::entity::variant_mark::VariantMark;
use crate::key::entity_key::Key;
use crate::key::key_shape::{KeyWriter, check_key, check_keys};
use crate::key::key_start::{KeyStart, Start};
use crate::key::operand::Operand;
use crate::key::table_key::TableKey;

/// The leading key fields that several entities of type `E` share.
///
/// The PartitionKey's fields come first, from the left. Once all of them are given, the RowKey's fields follow. Create
/// one with [`Key::prefix`], or from texts.
///
/// `TableQuery::key_prefix` reads the rows under one prefix, `key_prefixes` the rows under several, and `between` the
/// rows from one prefix to another.
///
/// The fixed text after a field of a composite key belongs to the prefix. With the RowKey `{employee}_{year}` the
/// prefix of `e1` is `e1_`, so it excludes the rows of `e10`.
#[doc(alias = "starts_with")]
pub struct KeyPrefix<E> {
    pub(crate) start: KeyStart,
    /// The beginning of the two keys up to the last field whose text does not sort as its values do.
    pub(crate) unsorted: Option<[String; 2]>,
    /// The marks of the variant whose rows they are, and of the variants around it; `None` for one without a mark.
    pub(crate) marks: Vec<Option<VariantMark>>,
    entity: PhantomData<fn() -> E>,
}

impl<E> KeyPrefix<E> {
    fn new(partition_key: Start, row_key: Option<Start>) -> Self {
        Self::of(KeyStart { partition_key, row_key }, None)
    }

    pub(crate) fn of(start: KeyStart, unsorted: Option<[String; 2]>) -> Self {
        Self {
            start,
            unsorted,
            marks: Vec::new(),
            entity: PhantomData,
        }
    }

    /// Creates the prefix of the rows of one partition whose RowKeys begin with a text.
    ///
    /// The text `""` selects the whole partition. The texts need not have the form of `E`'s keys, and `E` may be any
    /// type, including a type parameter.
    ///
    /// A text may end within a field: `e1` includes the rows of `e10`. [`Key::prefix`] ends at a field.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, KeyPrefix};
    /// let november = KeyPrefix::<DynamicEntity>::from_text("Channel9", "2026-11-")?;
    /// assert_eq!(november.to_string(), "(\"Channel9\", \"2026-11-\"…)");
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a text has a forbidden character, or more than
    ///   [`MAX_KEY_UNITS`](azure_table_wire::value::key_text::MAX_KEY_UNITS) UTF-16 units.
    pub fn from_text(partition_key: impl Into<String>, row_key_prefix: impl Into<String>) -> Result<Self> {
        let (partition_key, row_key) = (partition_key.into(), row_key_prefix.into());
        check_keys(&partition_key, &row_key)?;
        Ok(Self::new(Start::Whole(partition_key), Some(Start::Prefix(row_key))))
    }

    /// Creates the prefix of the rows of all partitions whose PartitionKeys begin with a text.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the text has a forbidden character, or more
    ///   than [`MAX_KEY_UNITS`](azure_table_wire::value::key_text::MAX_KEY_UNITS) UTF-16 units.
    pub fn from_partition_text(partition_key_prefix: impl Into<String>) -> Result<Self> {
        let partition_key = partition_key_prefix.into();
        check_key("PartitionKey", &partition_key)?;
        Ok(Self::new(Start::Prefix(partition_key), None))
    }

    /// Converts the prefix for queries of an enum that has `E` as a variant.
    ///
    /// It selects rows of this variant. If nothing but the form of the keys tells variants apart, it also selects rows
    /// of other variants with such keys. Queries accept such a prefix, but `delete_where` and its siblings reject it
    /// with `InvalidInput`. To select all rows with such keys, use [`from_text`](Self::from_text).
    ///
    /// ```
    /// use azure_table::{Emulator, Key, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// #[table(row_key = "{expense}")]
    /// struct Expense {
    ///     #[table(partition_key)]
    ///     account: String,
    ///     expense: String,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(row_key = "{expense}_{number:03}")]
    /// struct Item {
    ///     #[table(partition_key)]
    ///     account: String,
    ///     expense: String,
    ///     number: u16,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(tag = "Kind")]
    /// enum Row {
    ///     Expense(Expense),
    ///     Item(Item),
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let rows = TableServiceClient::from_transport(Emulator::new()).table::<Row>("Rows")?;
    /// # rows.create_table().await?;
    /// # for expense in ["e1", "e10"] {
    /// #     let expense = || expense.to_owned();
    /// #     rows.insert(&Row::Expense(Expense { account: "ada".into(), expense: expense() })).await?;
    /// #     rows.insert(&Row::Item(Item { account: "ada".into(), expense: expense(), number: 1 })).await?;
    /// # }
    /// // The expense and its items, without the items of `e10`.
    /// let expense = Key::<Expense>::prefix(("ada", "e1"))?.into_enum();
    /// let items = Key::<Item>::prefix(("ada", "e1"))?.into_enum();
    /// let read: Vec<Row> = rows.query().key_prefixes([expense, items]).all().await?;
    /// assert_eq!(read.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_enum<T>(self) -> KeyPrefix<T>
    where
        E: VariantOf<T>,
    {
        let mut marks = self.marks;
        marks.push(E::MARK);
        KeyPrefix {
            marks,
            ..KeyPrefix::of(self.start, self.unsorted)
        }
    }
}

impl<E> Clone for KeyPrefix<E> {
    fn clone(&self) -> Self {
        Self {
            start: self.start.clone(),
            unsorted: self.unsorted.clone(),
            marks: self.marks.clone(),
            ..*self
        }
    }
}

impl<E> PartialEq for KeyPrefix<E> {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start && self.marks == other.marks
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
    /// Returns the prefix of the keys of all entities with these leading fields.
    ///
    /// Pass the fields from the left: a later field without the fields before it does not compile.
    /// [`KeyPrefix::from_text`] creates prefixes of text. [`KeyPrefix::into_enum`] turns the prefixes of a variant into
    /// prefixes of its enum.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Key};
    /// let partition = Key::<DynamicEntity>::prefix(("WA;Seattle",))?;
    /// assert_eq!(partition.to_string(), "(\"WA;Seattle\", \"\"…)");
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a field has no key text, or the service would
    ///   reject it.
    pub fn prefix<G>(fields: G) -> Result<KeyPrefix<E>>
    where
        E::KeyFields: KeyPrefixFrom<G>,
    {
        let mut key = KeyWriter::new(&E::SCHEMA.key);
        E::KeyFields::write_prefix(fields, &mut key)?;
        let (start, unsorted) = key.finish_start()?;
        Ok(KeyPrefix::of(start, unsorted))
    }
}

/// A tuple of key fields whose leading fields can be given as a `G`, the tuple of the known fields.
///
/// Implemented for tuples of field types. Do not implement it yourself.
#[diagnostic::on_unimplemented(
    message = "`{G}` is not the beginning of a key with the fields `{Self}`",
    label = "expected a tuple of its leading fields",
    note = "an enum of entities has no key tuple, since its variants' keys differ: use `Key::<V>::prefix(..)?.into_enum()` of a \
            variant `V`, or `KeyPrefix::from_text(..)?`"
)]
pub trait KeyPrefixFrom<G> {
    #[doc(hidden)]
    fn write_prefix(fields: G, key: &mut KeyWriter) -> Result<()>;
}

/// Implements the trait once: all field types of a key, and the fields that are passed.
macro_rules! prefixes {
    ([$($all:ident)+] [($next:ident $of:ident $at:tt) $($later:tt)*] $(($given:ident $field:ident $n:tt))*) => {
        impl<$($all,)+ $($given,)* $next> KeyPrefixFrom<($($given,)* $next,)> for ($($all,)+)
        where
            $($given: Operand<$field>, $field: TableKey,)*
            $next: Operand<$of>,
            $of: TableKey,
        {
            fn write_prefix(fields: ($($given,)* $next,), key: &mut KeyWriter) -> Result<()> {
                $(key.field_from::<$field, _>(fields.$n)?;)*
                key.field_from::<$of, _>(fields.$at)
            }
        }
        prefixes!([$($all)+] [$($later)*] $(($given $field $n))* ($next $of $at));
    };
    ($all:tt [] $($done:tt)+) => {};
}
prefixes!([A] [(GA A 0)]);
prefixes!([A B] [(GA A 0) (GB B 1)]);
prefixes!([A B C] [(GA A 0) (GB B 1) (GC C 2)]);
prefixes!([A B C D] [(GA A 0) (GB B 1) (GC C 2) (GD D 3)]);
prefixes!([A B C D E] [(GA A 0) (GB B 1) (GC C 2) (GD D 3) (GE E 4)]);
prefixes!([A B C D E F] [(GA A 0) (GB B 1) (GC C 2) (GD D 3) (GE E 4) (GF F 5)]);
prefixes!([A B C D E F G] [(GA A 0) (GB B 1) (GC C 2) (GD D 3) (GE E 4) (GF F 5) (GG G 6)]);
prefixes!([A B C D E F G H] [(GA A 0) (GB B 1) (GC C 2) (GD D 3) (GE E 4) (GF F 5) (GG G 6) (GH H 7)]);
