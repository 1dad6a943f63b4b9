//! The two keys of an entity, and what they are made of.
//!
//! Owns [`KeyName`] and [`KeyPiece`]. Which fields they are is `ast/key.rs`, the grammar of templates `template.rs`.

/// One of the two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyName {
    Partition,
    Row,
}

impl KeyName {
    /// Both, in the order of the key tuple.
    pub(crate) const BOTH: [Self; 2] = [Self::Partition, Self::Row];

    /// The name in the service.
    pub(crate) const fn service(self) -> &'static str {
        match self {
            Self::Partition => "PartitionKey",
            Self::Row => "RowKey",
        }
    }

    /// The name of the attribute.
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
    /// The field of this index.
    Field(usize),
    /// The same, with this many digits.
    Padded(usize, usize),
    Literal(String),
}

impl KeyPiece {
    /// The index of the field that it is.
    pub(crate) fn field(&self) -> Option<usize> {
        match self {
            Self::Field(index) | Self::Padded(index, _) => Some(*index),
            Self::Literal(_) => None,
        }
    }
}
