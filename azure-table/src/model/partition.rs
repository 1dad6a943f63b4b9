//! What names a whole partition: the fields of the PartitionKey.

use crate::model::entity::TableEntity;
use crate::model::error::Result;
use crate::model::key::TableKey;
use crate::model::key_shape::KeyWriter;
use crate::model::operand::Operand;

/// The fields of a PartitionKey can be given as a `P`: one value for a key of one field, else the tuple of all.
///
/// Implemented for tuples of field types; not meant to be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "a partition with the key fields `{Self}` is not named by `{P}`",
    label = "expected the PartitionKey's value, or the tuple of its fields"
)]
pub trait PartitionGivenAs<P> {
    #[doc(hidden)]
    fn write_partition(given: P, key: &mut KeyWriter) -> Result<()>;
}

impl PartitionGivenAs<()> for () {
    fn write_partition((): (), _: &mut KeyWriter) -> Result<()> {
        Ok(())
    }
}

impl<K: TableKey, G: Operand<K>> PartitionGivenAs<G> for (K,) {
    fn write_partition(given: G, key: &mut KeyWriter) -> Result<()> {
        key.field(&given.into_operand())
    }
}

macro_rules! tuples {
    ($(($($given:ident $field:ident $n:tt),+))*) => {$(
        impl<$($given, $field),+> PartitionGivenAs<($($given,)+)> for ($($field,)+)
        where
            $($given: Operand<$field>, $field: TableKey,)+
        {
            fn write_partition(given: ($($given,)+), key: &mut KeyWriter) -> Result<()> {
                $(key.field(&given.$n.into_operand())?;)+
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

/// The PartitionKey of the partition of `E` that `given` names.
pub(crate) fn partition_key<E: TableEntity, P>(given: P) -> Result<String>
where
    E::PartitionFields: PartitionGivenAs<P>,
{
    let mut key = KeyWriter::new(&E::SCHEMA.key);
    E::PartitionFields::write_partition(given, &mut key)?;
    key.finish_partition()
}
