//! The two keys of an entity, and their pieces.
//!
//! Defines [`KeyName`] and [`KeyPiece`]. Their fields are in `ast/key.rs`, the grammar of templates in `template.rs`.

/// One of the two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyName {
    Partition,
    Row,
}

impl KeyName {
    /// Both keys, in the order of the key tuple.
    pub(crate) const BOTH: [Self; 2] = [Self::Partition, Self::Row];

    /// Returns the name in the service.
    pub(crate) const fn service(self) -> &'static str {
        match self {
            Self::Partition => "PartitionKey",
            Self::Row => "RowKey",
        }
    }

    /// Returns the name of the attribute.
    pub(crate) const fn attribute(self) -> &'static str {
        match self {
            Self::Partition => "partition_key",
            Self::Row => "row_key",
        }
    }
}

/// A piece of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPiece {
    /// The field with this index.
    Field(usize),
    /// The field with this index, padded to this number of digits.
    Padded(usize, usize),
    Literal(String),
}

impl KeyPiece {
    /// Returns the index of the field.
    pub(crate) fn field(&self) -> Option<usize> {
        match self {
            Self::Field(index) | Self::Padded(index, _) => Some(*index),
            Self::Literal(_) => None,
        }
    }
}
