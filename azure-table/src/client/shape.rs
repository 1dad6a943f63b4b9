//! What a read gives: an entity, a projection, a tuple of columns, whatever a closure makes of a row.
//!
//! Owns the one value that says what to ask for and how to read it, so that builders and streams never branch on it.

use std::fmt;
use std::sync::Arc;

use crate::client::query::bad_row::{BadRow, OnBadRow};
use crate::filter::select::Columns;
use crate::model::entity::{MetadataLevel, ReadEntity};
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::model::row::{Row, RowProperty};
use crate::model::versioned::Versioned;
use crate::protocol::query::TABLE_NAME;

/// How rows become a `P`.
pub(crate) struct Shape<P> {
    /// The `$select`; `None` asks for whole entities.
    pub(crate) select: Option<String>,
    pub(crate) metadata: MetadataLevel,
    reader: Reader<P>,
    /// Rows that do not fit are left out, and told of.
    pub(crate) on_bad_row: Option<Arc<OnBadRow>>,
}

type Read<P> = dyn Fn(&Row<'_>) -> Result<P> + Send + Sync;

type Pick<P> = dyn Fn(&Row<'_>) -> Result<Option<P>> + Send + Sync;

enum Reader<P> {
    /// By the type alone.
    Typed(fn(&Row<'_>) -> Result<P>),
    /// By a value, such as a tuple of columns.
    Valued(Arc<Read<P>>),
    /// The same, with rows that are not wanted.
    Picking(Arc<Pick<P>>),
}

impl<P> Shape<P> {
    /// The shape of a type.
    pub(crate) fn of_type() -> Self
    where
        P: ReadEntity,
    {
        Self {
            select: P::SELECT.map(|names| names.join(",")),
            metadata: P::METADATA,
            reader: Reader::Typed(P::read),
            on_bad_row: None,
        }
    }

    /// The shape of a type with what a [`Versioned`] adds to it.
    pub(crate) fn versioned() -> Shape<Versioned<P>>
    where
        P: ReadEntity,
    {
        let mut shape = Shape::<Versioned<P>>::of_type();
        if let (Some(select), Some(names)) = (&mut shape.select, P::SELECT)
            && !names.contains(&"Timestamp")
        {
            select.push_str(",Timestamp");
        }
        shape
    }

    /// The shape of a tuple of columns.
    pub(crate) fn of_columns<E, C: Columns<E, Values = P>>(columns: C) -> Self
    where
        P: 'static,
    {
        let names = columns.names();
        // The keys come along, so that an error can name the row.
        let keys = ["PartitionKey", "RowKey"]
            .into_iter()
            .filter(|key| names.iter().all(|name| name != key));
        let select = names
            .iter()
            .map(String::as_str)
            .chain(keys)
            .collect::<Vec<_>>()
            .join(",");
        let reader = Reader::Valued(Arc::new(move |row: &Row<'_>| columns.read_all(&names, row)));
        Self {
            select: Some(select),
            metadata: MetadataLevel::None,
            reader,
            on_bad_row: None,
        }
    }

    /// The shape that a closure makes of whole rows.
    pub(crate) fn of_closure(resolve: impl Fn(&Row<'_>) -> Result<P> + Send + Sync + 'static) -> Self {
        Self {
            select: None,
            metadata: MetadataLevel::Minimal,
            reader: Reader::Valued(Arc::new(resolve)),
            on_bad_row: None,
        }
    }

    /// The shape of the same rows, or of why they are none.
    pub(crate) fn lenient(self) -> Shape<Result<P, BadRow>>
    where
        P: 'static,
    {
        let (select, metadata) = (self.select.clone(), MetadataLevel::Minimal);
        let read = move |row: &Row<'_>| Ok(self.read(row).map_err(|e| BadRow::of(row, e)));
        Shape {
            select,
            metadata,
            reader: Reader::Valued(Arc::new(read)),
            on_bad_row: None,
        }
    }

    /// The shape of the same rows, each with its key.
    pub(crate) fn keyed(self) -> Shape<(Key<P>, P)>
    where
        P: 'static,
    {
        let mut select = self.select.clone();
        if let Some(names) = &mut select {
            for key in ["PartitionKey", "RowKey"] {
                if names.split(',').all(|name| name != key) {
                    names.push(',');
                    names.push_str(key);
                }
            }
        }
        let metadata = self.metadata;
        let read = move |row: &Row<'_>| {
            let key = Key::checked(row.partition_key()?.to_owned(), row.row_key()?.to_owned());
            Ok((key, self.read(row)?))
        };
        Shape {
            select,
            metadata,
            reader: Reader::Valued(Arc::new(read)),
            on_bad_row: None,
        }
    }

    /// Reads a row; `None` if it does not fit and is to be left out.
    pub(crate) fn read_or_skip(&self, row: &Row<'_>) -> Result<Option<P>> {
        let read = match &self.reader {
            Reader::Picking(pick) => pick(row),
            _ => self.read(row).map(Some),
        };
        match (read, &self.on_bad_row) {
            (Err(e), Some(seen)) => {
                seen(&BadRow::of(row, e));
                Ok(None)
            }
            (read, _) => read,
        }
    }

    pub(crate) fn read(&self, row: &Row<'_>) -> Result<P> {
        match &self.reader {
            Reader::Typed(read) => read(row),
            Reader::Valued(read) => read(row),
            Reader::Picking(pick) => pick(row)?.ok_or_else(|| Error::invalid_response("the row was not asked for")),
        }
    }
}

impl Shape<String> {
    /// The shape of the names of tables that are called by `namespace`, which is left out of them.
    pub(crate) fn of_tables(namespace: Arc<str>) -> Self {
        let pick = move |row: &Row<'_>| {
            let name = row.property(TABLE_NAME).map(RowProperty::read::<String>).transpose()?;
            let name = name.ok_or_else(|| Error::invalid_response("a table in the list has no name"))?;
            Ok(match name.split_at_checked(namespace.len()) {
                Some((start, own)) if start.eq_ignore_ascii_case(&namespace) => Some(own.to_owned()),
                _ => None,
            })
        };
        Self {
            select: None,
            metadata: MetadataLevel::None,
            reader: Reader::Picking(Arc::new(pick)),
            on_bad_row: None,
        }
    }
}

impl<E: 'static> Shape<Key<E>> {
    /// The shape of keys alone.
    pub(crate) fn of_keys() -> Self {
        Self {
            select: Some("PartitionKey,RowKey".to_owned()),
            metadata: MetadataLevel::None,
            reader: Reader::Typed(|row| Key::from_text(row.partition_key()?, row.row_key()?)),
            on_bad_row: None,
        }
    }
}

impl Shape<()> {
    /// The shape of rows that are only counted.
    pub(crate) fn of_nothing() -> Self {
        Self {
            select: Some("PartitionKey".to_owned()),
            metadata: MetadataLevel::None,
            reader: Reader::Typed(|_| Ok(())),
            on_bad_row: None,
        }
    }
}

impl<P> Clone for Shape<P> {
    fn clone(&self) -> Self {
        let reader = match &self.reader {
            Reader::Typed(read) => Reader::Typed(*read),
            Reader::Valued(read) => Reader::Valued(Arc::clone(read)),
            Reader::Picking(pick) => Reader::Picking(Arc::clone(pick)),
        };
        Self {
            select: self.select.clone(),
            metadata: self.metadata,
            reader,
            on_bad_row: self.on_bad_row.clone(),
        }
    }
}

impl<P> fmt::Debug for Shape<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape")
            .field("select", &self.select)
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}
