//! The form in which rows are read: an entity, a projection, a tuple of columns, or the result of a closure.
//!
//! A [`Shape`] holds the columns to request and the function that reads them, so that builders and streams never branch
//! on the form.
//!
//! `get` and `query` share `versioned`, `project`, `select` and `resolve` through this value. Streams see only the
//! result.

use std::fmt;
use std::sync::Arc;

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::value::name::{SYSTEM_PROPERTIES, property_name_fault};

use crate::client::shape::bad_row::{BadRow, OnBadRow};
use crate::client::shape::key_recorder::KeyRecorder;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::row::members::RowMembers;
use crate::entity::row::{Row, RowProperty};
use crate::entity::table_entity::ReadEntity;
use crate::entity::versioned::Versioned;
use crate::filter::select::Columns;
use crate::key::entity_key::{self, Key};
use crate::request::query::TABLE_NAME;

pub(crate) mod bad_row;
pub(crate) mod key_recorder;
pub(crate) mod key_split;

/// The conversion of rows to `P`.
pub(crate) struct Shape<P> {
    pub(crate) form: RowForm,
    reader: Reader<P>,
}

/// The rows that are requested and kept, whatever their type.
#[derive(Clone)]
pub(crate) struct RowForm {
    /// The `$select`; `None` requests whole entities.
    pub(crate) select: Option<String>,
    pub(crate) metadata: MetadataLevel,
    /// The callback for rows that do not fit, if they are skipped.
    pub(crate) on_bad_row: Option<Arc<OnBadRow>>,
    /// Notes the keys of each row.
    key_recorder: Option<KeyRecorder>,
}

type Pick<P> = dyn Fn(&Row<'_>) -> Result<Option<P>> + Send + Sync;

enum Reader<P> {
    /// Reads by the type alone.
    Typed {
        read: fn(&mut RowMembers<'_, '_>) -> Result<P>,
        /// It reads the members one by one, and needs no [`Row`].
        reads_members: bool,
    },
    /// Reads by a value, such as a tuple of columns. Returns `None` for an unwanted row.
    Valued(Arc<Pick<P>>),
}

/// The keys, which identify a row.
pub(crate) const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];

impl RowForm {
    /// Validates the selected names.
    ///
    /// # Errors
    /// - `InvalidInput`: one of them is not a valid property name.
    pub(crate) fn check_select(&self) -> Result<()> {
        let names = self.select.iter().flat_map(|select| select.split(','));
        for name in names.filter(|name| !SYSTEM_PROPERTIES.contains(name)) {
            if let Some(fault) = property_name_fault(name) {
                return Err(Error::invalid_input(format!(
                    "select: property {}: {fault}",
                    Shown(name)
                )));
            }
        }
        Ok(())
    }

    /// Adds these names to the `$select`.
    pub(crate) fn add_names(&mut self, names: &[&str]) {
        if let Some(select) = &mut self.select {
            add_names(select, names);
        }
    }

    /// Returns `true` if every row is read, and an unreadable row stops the query.
    fn is_plain(&self) -> bool {
        self.on_bad_row.is_none() && self.key_recorder.is_none()
    }

    /// Notes the keys of a row, if they are wanted. Returns `false` if the row is skipped.
    fn note(&self, row: &Row<'_>) -> bool {
        self.key_recorder.as_ref().is_none_or(|recorder| recorder.note(row))
    }

    /// Skips a row that does not fit, if the caller wants that.
    fn skip(&self, row: &Row<'_>, error: Error) -> Result<()> {
        let Some(seen) = &self.on_bad_row else {
            return Err(with_advice(error));
        };
        seen(&BadRow::of(row, error));
        Ok(())
    }
}

impl<P> Shape<P> {
    fn new(select: Option<String>, metadata: MetadataLevel, reader: Reader<P>) -> Self {
        let form = RowForm {
            select,
            metadata,
            on_bad_row: None,
            key_recorder: None,
        };
        Self { form, reader }
    }

    /// Creates a shape whose rows are all wanted, read by a value.
    fn valued(
        select: Option<String>,
        metadata: MetadataLevel,
        read: impl Fn(&Row<'_>) -> Result<P> + Send + Sync + 'static,
    ) -> Self {
        let reader = Reader::Valued(Arc::new(move |row: &Row<'_>| read(row).map(Some)));
        Self::new(select, metadata, reader)
    }

    /// Returns the shape of a type.
    pub(crate) fn for_type() -> Self
    where
        P: ReadEntity,
    {
        let select = P::SELECT.map(|names| names.join(","));
        Self::new(
            select,
            P::METADATA,
            Reader::Typed {
                read: P::read_members,
                reads_members: P::IS_OF_MEMBERS,
            },
        )
    }

    /// Returns the shape of the same properties, plus those of a [`Versioned`].
    pub(crate) fn versioned(&self) -> Shape<Versioned<P>>
    where
        P: ReadEntity,
    {
        let mut shape = Shape::<Versioned<P>>::for_type();
        shape.form.select.clone_from(&self.form.select);
        shape.form.add_names(&["Timestamp"]);
        shape
    }

    /// Returns the shape of a tuple of columns.
    pub(crate) fn for_columns<E, C: Columns<E, Values = P>>(columns: C) -> Self
    where
        P: 'static,
    {
        let names = columns.names();
        // Selects the keys too, so that an error can name the row.
        let mut select = names.join(",");
        add_names(&mut select, &KEYS);
        Self::valued(Some(select), MetadataLevel::None, move |row| {
            columns.read_all(&names, row)
        })
    }

    /// Returns the shape of whole rows that a closure reads.
    pub(crate) fn for_closure(resolve: impl Fn(&Row<'_>) -> Result<P> + Send + Sync + 'static) -> Self {
        Self::valued(None, MetadataLevel::Minimal, resolve)
    }

    /// Returns the shape of the same rows, with a [`BadRow`] for each that does not fit.
    pub(crate) fn lenient(self) -> Shape<Result<P, BadRow>>
    where
        P: 'static,
    {
        Shape::valued(self.form.select.clone(), MetadataLevel::Minimal, move |row| {
            Ok(self.read(row).map_err(|e| BadRow::of(row, e)))
        })
    }

    /// Returns the shape of the same rows, each with its key.
    pub(crate) fn keyed(mut self) -> Shape<(Key<P>, P)>
    where
        P: 'static,
    {
        self.form.add_names(&KEYS);
        Shape::valued(self.form.select.clone(), self.form.metadata, move |row| {
            Ok((key(row)?, self.read(row)?))
        })
    }

    /// Records the keys of each row, and skips the rows that the recorder does not want.
    pub(crate) fn recording(mut self, recorder: &KeyRecorder) -> Self {
        self.form.key_recorder = Some(recorder.clone());
        self
    }

    /// Reads a row into `rows`. Returns `false` if the row does not fit and is skipped.
    pub(crate) fn read_into(&self, members: &mut RowMembers<'_, '_>, rows: &mut Vec<P>) -> Result<bool> {
        match &self.reader {
            Reader::Typed { read, .. } if self.form.is_plain() => match read(members) {
                Ok(row) => rows.push(row),
                Err(e) => return Err(with_advice(e)),
            },
            _ => match self.read_or_skip(members.row())? {
                Some(row) => rows.push(row),
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Returns `true` if [`read_members`](Self::read_members) needs no row.
    pub(crate) fn is_of_members(&self) -> bool {
        self.form.is_plain()
            && matches!(
                self.reader,
                Reader::Typed {
                    reads_members: true,
                    ..
                }
            )
    }

    /// Reads a row as [`read`](Self::read) does, without a row if [`is_of_members`](Self::is_of_members).
    pub(crate) fn read_members(&self, members: &mut RowMembers<'_, '_>) -> Result<P> {
        match &self.reader {
            Reader::Typed { read, .. } if self.form.is_plain() => read(members),
            _ => self.read(members.row()),
        }
    }

    /// Reads a row, or returns `None` if it does not fit and is skipped.
    pub(crate) fn read_or_skip(&self, row: &Row<'_>) -> Result<Option<P>> {
        if !self.form.note(row) {
            return Ok(None);
        }
        self.pick(row).or_else(|e| self.form.skip(row, e).map(|()| None))
    }

    pub(crate) fn read(&self, row: &Row<'_>) -> Result<P> {
        self.pick(row)?
            .ok_or_else(|| Error::invalid_response("the row was not requested"))
    }

    /// Reads a row, or returns `None` if it is unwanted.
    fn pick(&self, row: &Row<'_>) -> Result<Option<P>> {
        match &self.reader {
            Reader::Typed { read, .. } => read(&mut RowMembers::of(row)).map(Some),
            Reader::Valued(read) => read(row),
        }
    }
}

fn key<E>(row: &Row<'_>) -> Result<Key<E>> {
    let (partition_key, row_key) = (row.partition_key()?, row.row_key()?);
    Ok(entity_key::checked(partition_key.to_owned(), row_key.to_owned()))
}

/// Adds the remedy to the error of a row that may be of another kind, such as one that a pattern stores beside the
/// entities.
fn with_advice(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidResponse => {
            let why = &error.parts().message;
            let causes = match why.starts_with("key field") {
                true => "the row is of another kind, or another program wrote its key without padding: exclude it",
                false => "if the row is of another kind, exclude it",
            };
            let advice = format!("{why}; {causes} with `without_row_keys`");
            error.with_message(advice)
        }
        _ => error,
    }
}

/// Adds names to a `$select`.
fn add_names(select: &mut String, names: &[impl AsRef<str>]) {
    for name in names.iter().map(AsRef::as_ref) {
        if select.split(',').all(|selected| selected != name) {
            select.push(',');
            select.push_str(name);
        }
    }
}

impl Shape<String> {
    /// Returns the shape of PartitionKeys.
    pub(crate) fn for_partition_keys() -> Self {
        let select = Some("PartitionKey,RowKey".to_owned());
        let reader = Reader::Typed {
            read: |members| members.row().partition_key().map(str::to_owned),
            reads_members: false,
        };
        Self::new(select, MetadataLevel::None, reader)
    }

    /// Returns the shape of the names of tables in `namespace`, without that prefix.
    pub(crate) fn for_tables(namespace: Arc<str>) -> Self {
        let pick = move |row: &Row<'_>| {
            let name = row.get(TABLE_NAME).map(RowProperty::read::<String>).transpose()?;
            let name = name.ok_or_else(|| Error::invalid_response("a table in the list has no name"))?;
            Ok(match name.split_at_checked(namespace.len()) {
                Some((start, own)) if start.eq_ignore_ascii_case(&namespace) => Some(own.to_owned()),
                _ => None,
            })
        };
        Self::new(None, MetadataLevel::None, Reader::Valued(Arc::new(pick)))
    }
}

impl Shape<DynamicEntity> {
    /// Returns the shape of properties whose names are known at run time.
    pub(crate) fn for_names(names: Vec<String>) -> Self {
        // Without its keys a row has no identity.
        let mut select = "PartitionKey,RowKey".to_owned();
        add_names(&mut select, &names);
        let mut shape = Self::for_type();
        shape.form.select = Some(select);
        shape
    }
}

impl<E: 'static> Shape<Key<E>> {
    /// Returns the shape of keys alone.
    pub(crate) fn for_keys() -> Self {
        let select = Some("PartitionKey,RowKey".to_owned());
        let reader = Reader::Typed {
            read: |members| Key::from_text(members.row().partition_key()?, members.row().row_key()?),
            reads_members: false,
        };
        Self::new(select, MetadataLevel::None, reader)
    }
}

impl Shape<()> {
    /// Returns the shape of rows that are only counted.
    pub(crate) fn for_nothing() -> Self {
        let select = Some("PartitionKey".to_owned());
        Self::new(
            select,
            MetadataLevel::None,
            Reader::Typed {
                read: |_| Ok(()),
                reads_members: false,
            },
        )
    }
}

impl<P> Clone for Shape<P> {
    fn clone(&self) -> Self {
        let reader = match &self.reader {
            Reader::Typed { read, reads_members } => Reader::Typed {
                read: *read,
                reads_members: *reads_members,
            },
            Reader::Valued(read) => Reader::Valued(Arc::clone(read)),
        };
        let form = self.form.clone();
        Self { form, reader }
    }
}

impl<P> fmt::Debug for Shape<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape")
            .field("select", &self.form.select)
            .field("metadata", &self.form.metadata)
            .finish_non_exhaustive()
    }
}
