//! The values that identify a row within its partition: the fields of the RowKey.
//!
//! Defines [`IntoRowKey`]. `entity_key.rs` has whole keys, and `partition.rs` has partitions.

use azure_table_wire::error::Result;

use crate::entity::table_entity::TableEntity;
use crate::key::entity_key::{self, Key};
use crate::key::key_shape::KeyWriter;
use crate::key::operand::Operand;
use crate::key::table_key::TableKey;

/// A value that is the RowKey of an entity. `P` are the fields of its PartitionKey, `K` the fields of both keys.
///
/// For a RowKey of one field it is that value, otherwise the tuple of all fields. An enum of entities takes the text of
/// the RowKey.
///
/// Implemented for the types accepted for a field; not meant to be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a RowKey of an entity with the key fields `{K}`, of which `{P}` form the PartitionKey",
    label = "expected the value of the RowKey's one field, or the tuple of all its fields",
    note = "an enum of entities takes the text of the RowKey, since its variants' keys differ"
)]
pub trait IntoRowKey<P, K> {
    #[doc(hidden)]
    fn write_row_key(self, key: &mut KeyWriter) -> Result<()>;
}

/// The fields of a PartitionKey, and those of both keys, which are one more.
#[doc(hidden)]
pub trait OneMore {
    type Last: TableKey;
}

// One impl, as rustdoc lists it on each type.
#[diagnostic::do_not_recommend]
impl<P, K, G> IntoRowKey<P, K> for G
where
    (P, K): OneMore,
    G: Operand<<(P, K) as OneMore>::Last>,
{
    fn write_row_key(self, key: &mut KeyWriter) -> Result<()> {
        key.field_from::<<(P, K) as OneMore>::Last, _>(self)
    }
}

// `do_not_recommend`: otherwise a compile error lists the impls. The label says what is expected.

/// The impl for each split of the fields in PartitionKey and RowKey.
macro_rules! splits {
    ([$($p:ident)*] []) => {
        #[diagnostic::do_not_recommend]
        impl<$($p),*> IntoRowKey<($($p,)*), ($($p,)*)> for () {
            fn write_row_key(self, _: &mut KeyWriter) -> Result<()> {
                Ok(())
            }
        }
    };
    ([$($p:ident)*] [($r:ident $given:ident $value:ident)]) => {
        impl<$($p,)* $r: TableKey> OneMore for (($($p,)*), ($($p,)* $r,)) {
            type Last = $r;
        }
        splits!([$($p)* $r] []);
    };
    ([$($p:ident)*] [($first:ident $($names:tt)*) $(($r:ident $given:ident $value:ident))+]) => {
        splits!(@tuple [$($p)*] [($first $($names)*) $(($r $given $value))+]);
        splits!([$($p)* $first] [$(($r $given $value))+]);
    };
    (@tuple [$($p:ident)*] [$(($r:ident $given:ident $value:ident))+]) => {
        #[diagnostic::do_not_recommend]
        impl<$($p,)* $($r,)+ $($given),+> IntoRowKey<($($p,)*), ($($p,)* $($r,)+)> for ($($given,)+)
        where
            $($given: Operand<$r>, $r: TableKey,)+
        {
            fn write_row_key(self, key: &mut KeyWriter) -> Result<()> {
                let ($($value,)+) = self;
                $(key.field_from::<$r, _>($value)?;)+
                Ok(())
            }
        }
    };
}
splits!([] []);
splits!([] [(A GA a)]);
splits!([] [(A GA a) (B GB b)]);
splits!([] [(A GA a) (B GB b) (C GC c)]);
splits!([] [(A GA a) (B GB b) (C GC c) (D GD d)]);
splits!([] [(A GA a) (B GB b) (C GC c) (D GD d) (E GE e)]);
splits!([] [(A GA a) (B GB b) (C GC c) (D GD d) (E GE e) (F GF f)]);
splits!([] [(A GA a) (B GB b) (C GC c) (D GD d) (E GE e) (F GF f) (G GG g)]);
splits!([] [(A GA a) (B GB b) (C GC c) (D GD d) (E GE e) (F GF f) (G GG g) (H GH h)]);

/// Returns the key of the row of `E` that `given` names in a partition.
pub(crate) fn key_in_partition<E: TableEntity>(
    partition_key: &str,
    given: impl IntoRowKey<E::PartitionFields, E::KeyFields>,
) -> Result<Key<E>> {
    let mut key = KeyWriter::in_partition(&E::SCHEMA.key, partition_key);
    given.write_row_key(&mut key)?;
    let (partition_key, row_key) = key.finish()?.into_pair();
    Ok(entity_key::checked(partition_key, row_key))
}
