//! The values of key fields: of the PartitionKey, or of both keys.

use azure_table_wire::error::Result;

use crate::entity::table_entity::TableEntity;
use crate::key::key_shape::KeyWriter;
use crate::key::operand::Operand;
use crate::key::table_key::TableKey;

/// Values for the key fields `K`: the fields of a PartitionKey, or of both keys with the PartitionKey first.
///
/// Pass a single field as its value, several as a tuple.
///
/// Implemented for all values that the fields accept. Do not implement it yourself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit the key fields `{K}`",
    label = "expected the value of the one field, or the tuple of all fields in their order",
    note = "a partition is named by the fields of the PartitionKey, an entity by the fields of both keys, PartitionKey first",
    note = "all rows whose keys begin with some of the fields are read by `.key_prefix(Key::prefix(..)?)`"
)]
pub trait IntoFields<K> {
    #[doc(hidden)]
    fn write_fields(self, key: &mut KeyWriter) -> Result<()>;
}

impl IntoFields<()> for () {
    fn write_fields(self, _: &mut KeyWriter) -> Result<()> {
        Ok(())
    }
}

impl<K: TableKey, G: Operand<K>> IntoFields<(K,)> for G {
    fn write_fields(self, key: &mut KeyWriter) -> Result<()> {
        key.field_from::<K, _>(self)
    }
}

macro_rules! tuples {
    ($(($($given:ident $field:ident $n:tt),+))*) => {$(
        impl<$($given, $field),+> IntoFields<($($field,)+)> for ($($given,)+)
        where
            $($given: Operand<$field>, $field: TableKey,)+
        {
            fn write_fields(self, key: &mut KeyWriter) -> Result<()> {
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

/// Returns the PartitionKey with these values in its fields.
pub(crate) fn partition_key<E: TableEntity>(given: impl IntoFields<E::PartitionFields>) -> Result<String> {
    let mut key = KeyWriter::new(&E::SCHEMA.key);
    given.write_fields(&mut key)?;
    key.finish_partition()
}
