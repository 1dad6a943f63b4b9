//! The values that identify a whole partition: the fields of the PartitionKey.

use azure_table_wire::error::Result;

use crate::entity::table_entity::TableEntity;
use crate::key::key_shape::KeyWriter;
use crate::key::operand::Operand;
use crate::key::table_key::TableKey;

/// A value that identifies the partition whose PartitionKey has the fields `K`.
///
/// For a key of one field it is that value, otherwise the tuple of all fields.
///
/// Implemented for the values accepted for the fields; not meant to be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a partition whose PartitionKey has the fields `{K}`",
    label = "expected the value of the key's one field, or the tuple of all its fields",
    note = "all rows whose keys begin with some of the fields are read by `.key_prefix(Key::prefix(..)?)`"
)]
pub trait IntoPartitionKey<K> {
    #[doc(hidden)]
    fn write_partition(self, key: &mut KeyWriter) -> Result<()>;
}

impl IntoPartitionKey<()> for () {
    fn write_partition(self, _: &mut KeyWriter) -> Result<()> {
        Ok(())
    }
}

impl<K: TableKey, G: Operand<K>> IntoPartitionKey<(K,)> for G {
    fn write_partition(self, key: &mut KeyWriter) -> Result<()> {
        key.field_from::<K, _>(self)
    }
}

macro_rules! tuples {
    ($(($($given:ident $field:ident $n:tt),+))*) => {$(
        impl<$($given, $field),+> IntoPartitionKey<($($field,)+)> for ($($given,)+)
        where
            $($given: Operand<$field>, $field: TableKey,)+
        {
            fn write_partition(self, key: &mut KeyWriter) -> Result<()> {
                $(key.field_from::<$field, _>(self.$n)?;)+
                Ok(())
            }
        }
    )*};
}
tuples! {
    (A KA 0, B KB 1)
    (A KA 0, B KB 1, C KC 2)
    (A KA 0, B KB 1, C KC 2, D KD 3)
    (A KA 0, B KB 1, C KC 2, D KD 3, F KF 4)
    (A KA 0, B KB 1, C KC 2, D KD 3, F KF 4, G KG 5)
    (A KA 0, B KB 1, C KC 2, D KD 3, F KF 4, G KG 5, H KH 6)
    (A KA 0, B KB 1, C KC 2, D KD 3, F KF 4, G KG 5, H KH 6, I KI 7)
}

/// Returns the PartitionKey of the partition of `E` that `given` identifies.
pub(crate) fn partition_key<E: TableEntity>(given: impl IntoPartitionKey<E::PartitionFields>) -> Result<String> {
    let mut key = KeyWriter::new(&E::SCHEMA.key);
    given.write_partition(&mut key)?;
    key.finish_partition()
}
