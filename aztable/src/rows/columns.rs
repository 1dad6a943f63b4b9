//! The columns of exported rows: the keys, and one column for each property and type that a row has.

use std::borrow::Cow;
use std::collections::BTreeMap;

use azure_table::{DynamicEntity, EdmType, EdmValue};

/// The columns that belong to the row, not to its properties. Their types are known, and their headers have none.
const SYSTEM: [(&str, EdmType); 4] = [
    ("PartitionKey", EdmType::String),
    ("RowKey", EdmType::String),
    ("ETag", EdmType::String),
    ("Timestamp", EdmType::DateTime),
];

/// A column of a file.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) edm_type: EdmType,
    pub(crate) is_system: bool,
    /// Whether a time has digits behind the microseconds.
    pub(crate) has_fine_times: bool,
}

impl Column {
    /// Returns the name with the type, as the header of a CSV file has it.
    pub(crate) fn header(&self) -> String {
        match self.is_system {
            true => self.name.clone(),
            false => format!("{}:{}", self.name, self.edm_type),
        }
    }

    /// Returns the value of a row in this column.
    pub(crate) fn value<'r>(&self, row: &'r DynamicEntity) -> Option<Cow<'r, EdmValue>> {
        let system = match (self.is_system, self.name.as_str()) {
            (false, name) => {
                let value = row.get(name).filter(|value| value.edm_type() == self.edm_type);
                return value.map(Cow::Borrowed);
            }
            (true, "PartitionKey") => Some(row.partition_key.clone().into()),
            (true, "RowKey") => Some(row.row_key.clone().into()),
            (true, "ETag") => row.etag.as_ref().map(|etag| etag.as_str().into()),
            (true, _) => row.timestamp.map(EdmValue::from),
        };
        system.map(Cow::Owned)
    }

    fn add(&mut self, value: &EdmValue) {
        let is_fine = matches!(value, EdmValue::DateTime(time) if time.ticks() % 10 != 0);
        self.has_fine_times |= is_fine;
    }
}

/// The columns of the rows so far.
pub(crate) struct Columns {
    system: Vec<Column>,
    properties: BTreeMap<String, Vec<Column>>,
}

impl Columns {
    /// With the keys, and with ETag and Timestamp for `system`.
    pub(crate) fn new(system: bool) -> Self {
        let names = if system { &SYSTEM[..] } else { &SYSTEM[..2] };
        let column = |(name, edm_type): &(&str, EdmType)| Column {
            name: (*name).to_owned(),
            edm_type: *edm_type,
            is_system: true,
            has_fine_times: false,
        };
        Self {
            system: names.iter().map(column).collect(),
            properties: BTreeMap::new(),
        }
    }

    /// Adds the columns of a row.
    pub(crate) fn add(&mut self, row: &DynamicEntity) {
        for column in &mut self.system {
            if let Some(value) = column.value(row) {
                column.add(&value);
            }
        }
        for (name, value) in &row.properties {
            if !self.properties.contains_key(name) {
                self.properties.insert(name.clone(), Vec::new());
            }
            let Some(columns) = self.properties.get_mut(name) else {
                continue;
            };
            let edm_type = value.edm_type();
            let place = columns.iter().position(|column| column.edm_type == edm_type);
            let place = place.unwrap_or_else(|| {
                columns.push(Column {
                    name: name.clone(),
                    edm_type,
                    is_system: false,
                    has_fine_times: false,
                });
                columns.len() - 1
            });
            columns[place].add(value);
        }
    }

    /// Returns all columns: the keys first, then the properties by name and type.
    pub(crate) fn into_vec(self) -> Vec<Column> {
        let mut columns = self.system;
        for (_, mut types) in self.properties {
            types.sort_by_key(|column| column.edm_type.name());
            columns.append(&mut types);
        }
        columns
    }
}
