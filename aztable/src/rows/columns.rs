//! The columns of exported rows: the keys, and one column for each property and type that a row has.

use std::borrow::Cow;
use std::collections::BTreeMap;

use azure_table::{DynamicEntity, EdmType, EdmValue};

/// The rank of properties: behind keys, ETag and Timestamp.
const PROPERTY: usize = 4;

/// A column of a file.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    rank: usize,
    pub(crate) name: String,
    pub(crate) edm_type: EdmType,
    /// `true` if a time has digits behind the microseconds.
    pub(crate) has_fine_times: bool,
}

impl Column {
    /// Returns whether the column is a property, not a part of every row: those have no type in their header.
    pub(crate) fn is_property(&self) -> bool {
        self.rank == PROPERTY
    }

    /// Returns the name, and the type of a property.
    pub(crate) fn header(&self) -> String {
        let typed = format!("{}:{}", self.name, self.edm_type);
        if self.is_property() { typed } else { self.name.clone() }
    }
}

/// The columns of the rows so far, in the order of the file.
pub(crate) struct Columns(BTreeMap<(usize, String, &'static str), Column>);

impl Columns {
    /// With the keys alone.
    pub(crate) fn new() -> Self {
        let mut columns = Self(BTreeMap::new());
        columns.add(&DynamicEntity::default());
        columns
    }

    /// Adds the columns of a row.
    pub(crate) fn add(&mut self, row: &DynamicEntity) {
        for (rank, name, value) in cells(row) {
            let edm_type = value.edm_type();
            let column = self.0.entry((rank, name.to_owned(), edm_type.name()));
            let column = column.or_insert_with(|| Column {
                rank,
                name: name.to_owned(),
                edm_type,
                has_fine_times: false,
            });
            column.has_fine_times |= matches!(&*value, EdmValue::DateTime(time) if time.ticks() % 10 != 0);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Column> {
        self.0.into_values().collect()
    }
}

/// Returns each column with the value of a row, if the row has one.
pub(crate) fn values<'r>(
    columns: &'r [Column],
    row: &'r DynamicEntity,
) -> impl Iterator<Item = (&'r Column, Option<Cow<'r, EdmValue>>)> {
    // Columns and cells have the same order.
    let mut cells = cells(row).peekable();
    columns.iter().map(move |column| {
        let cell = cells.next_if(|(rank, name, value)| {
            (*rank, *name, value.edm_type()) == (column.rank, &column.name, column.edm_type)
        });
        (column, cell.map(|(_, _, value)| value))
    })
}

/// Returns the cells of a row: rank, name and value of the column.
fn cells(row: &DynamicEntity) -> impl Iterator<Item = (usize, &str, Cow<'_, EdmValue>)> {
    let system: [(_, Option<EdmValue>); PROPERTY] = [
        ("PartitionKey", Some(row.partition_key.clone().into())),
        ("RowKey", Some(row.row_key.clone().into())),
        ("ETag", row.etag.as_ref().map(|etag| etag.as_str().into())),
        ("Timestamp", row.timestamp.map(EdmValue::from)),
    ];
    let system = system.into_iter().enumerate();
    let system = system.filter_map(|(rank, (name, value))| Some((rank, name, Cow::Owned(value?))));
    let properties = row.properties.iter();
    system.chain(properties.map(|(name, value)| (PROPERTY, name.as_str(), Cow::Borrowed(value))))
}
