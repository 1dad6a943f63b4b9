//! The shape of a table: its properties and keys as a struct, the sizes of its rows and partitions.

pub(crate) mod key_shapes;
pub(crate) mod partitions;
pub(crate) mod row_size;
pub(crate) mod rust_struct;
pub(crate) mod table_shape;
