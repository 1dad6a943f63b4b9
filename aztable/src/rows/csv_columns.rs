//! The columns of a CSV file: the type of each, as the file says it or as all its cells show it.

use azure_table::{DynamicEntity, EdmType, EdmValue};
use csv::StringRecord;

use crate::failure::{Done, usage};
use crate::rows::csv_writer;
use crate::rows::named_columns::{Name, Use, uses};
use crate::rows::row_source::ColumnOptions;
use crate::value::{type_named, value_of};

/// The types that cells can show, the narrowest first.
const SHOWN: [EdmType; 6] = {
    use EdmType::{Boolean, DateTime, Double, Guid, Int32, Int64};
    [Int32, Int64, Double, Boolean, DateTime, Guid]
};

/// The source of the type of a cell.
#[derive(Debug)]
enum TypeSource {
    /// The header, as `export` writes it: `Age:Edm.Int32`.
    Header(EdmType),
    /// The command line.
    Named(EdmType),
    /// A cell of the same row, in the column `Age@type` of Storage Explorer: the number of that column, and the last
    /// type in it. Some versions name a type in the first row only: it is that of the rows without one.
    Beside(usize, EdmType),
    /// All cells: the types whose text each of them is. Text if none is left.
    Cells(Vec<EdmType>),
}

#[derive(Debug)]
struct CsvColumn {
    header: String,
    usage: Use,
    source: TypeSource,
}

/// The columns of a CSV file.
#[derive(Debug)]
pub(crate) struct CsvColumns {
    columns: Vec<CsvColumn>,
    options: ColumnOptions,
}

impl CsvColumns {
    /// Takes the header.
    ///
    /// # Errors
    /// The columns have no keys, a name twice, or `options` name a column that is absent.
    pub(crate) fn new(headers: &StringRecord, options: &ColumnOptions) -> Done<Self> {
        let is_absent = |(name, _): &&(String, EdmType)| headers.iter().all(|header| header != name);
        if let Some((absent, _)) = options.types.iter().find(is_absent) {
            usage!("--type: no column {absent:?}");
        }
        let place = |name: &str| headers.iter().position(|header| header == name);
        let names: Vec<_> = headers.iter().map(Name::of).collect();
        let mut columns = Vec::with_capacity(names.len());
        for ((header, name), mut usage) in headers.iter().zip(&names).zip(uses(&names, options)?) {
            let named = options.types.iter().find(|(column, _)| column == header);
            let source = match (name.edm_type, named, place(&format!("{header}@type"))) {
                (_, Some((_, edm_type)), _) => TypeSource::Named(*edm_type),
                (Some(edm_type), ..) => TypeSource::Header(edm_type),
                (.., Some(column)) => TypeSource::Beside(column, EdmType::String),
                _ => TypeSource::Cells(SHOWN.to_vec()),
            };
            if header.strip_suffix("@type").and_then(place).is_some() {
                usage = Use::Ignored;
            }
            let header = header.to_owned();
            columns.push(CsvColumn { header, usage, source });
        }
        let options = options.clone();
        Ok(Self { columns, options })
    }

    /// Returns whether the header says all types: then the file is an export, whose keys differ.
    pub(crate) fn is_export(&self) -> bool {
        let is_typed = |column: &CsvColumn| match column.usage {
            Use::Property(_) => matches!(column.source, TypeSource::Header(_)),
            Use::PartitionKey => column.header == "PartitionKey",
            Use::RowKey => column.header == "RowKey",
            Use::Ignored => true,
        };
        self.columns.iter().all(is_typed)
    }

    /// Returns the columns whose types the file does not say: the command line names them, or only their cells show them.
    pub(crate) fn untyped(&self) -> impl Iterator<Item = (&str, EdmType)> {
        let is_property = |column: &&CsvColumn| matches!(column.usage, Use::Property(_));
        let is_untyped = |column: &&CsvColumn| matches!(column.source, TypeSource::Cells(_) | TypeSource::Named(_));
        let untyped = self.columns.iter().filter(is_property).filter(is_untyped);
        untyped.map(|column| (column.header.as_str(), column.source.edm_type()))
    }

    /// Drops the types that the cells of a row do not have. A type may not change the text of the file: `0010`, `+49`
    /// and `1.10` are no numbers.
    pub(crate) fn narrow(&mut self, record: &StringRecord) {
        let cells = self.columns.iter_mut().zip(record);
        for (column, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
            if let TypeSource::Cells(fitting) = &mut column.source {
                fitting.retain(|edm_type| value_of(*edm_type, cell).is_ok_and(|value| is_same(&value, cell)));
            }
        }
    }

    /// Returns the keys of a row.
    ///
    /// # Errors
    /// The errors of [`ColumnOptions::key`].
    pub(crate) fn keys(&self, record: &StringRecord) -> Result<(String, String), String> {
        let key = |usage: Use| {
            let mut cells = self.columns.iter().zip(record);
            let found = cells.find(|(column, _)| column.usage == usage);
            found.map_or(Ok(String::new()), |(column, cell)| {
                self.options.key(&column.header, cell)
            })
        };
        Ok((key(Use::PartitionKey)?, key(Use::RowKey)?))
    }

    /// Returns a row of the file. Empty cells are absent properties.
    ///
    /// # Errors
    /// A cell is no value of its type, or no key; with its column.
    pub(crate) fn row(&mut self, record: &StringRecord) -> Result<DynamicEntity, String> {
        let (partition, row) = self.keys(record)?;
        let mut row = DynamicEntity::new(partition, row);
        for (column, cell) in self.columns.iter_mut().zip(record) {
            let Use::Property(name) = &column.usage else { continue };
            let value = column.source.value(cell, record);
            let value = value.map_err(|failure| format!("{}: {failure}", column.header))?;
            if value.is_some_and(|value| row.insert(name, value).is_some()) {
                return Err(format!("{name} has two values"));
            }
        }
        Ok(row)
    }
}

impl TypeSource {
    fn edm_type(&self) -> EdmType {
        match self {
            Self::Cells(fitting) => fitting.first().copied().unwrap_or(EdmType::String),
            Self::Header(edm_type) | Self::Named(edm_type) | Self::Beside(_, edm_type) => *edm_type,
        }
    }

    fn value(&mut self, cell: &str, record: &StringRecord) -> Done<Option<EdmValue>> {
        let mut is_named = false;
        if let Self::Beside(column, last) = self
            && let Some(name) = record.get(*column).filter(|name| !name.is_empty())
        {
            *last = EdmType::from_name(&format!("Edm.{name}")).map_or_else(|| type_named(name), Ok)?;
            // Storage Explorer names the type of an empty text, and not that of an absent property.
            is_named = *last == EdmType::String;
        }
        let text = match self {
            _ if cell.is_empty() && !is_named => return Ok(None),
            Self::Header(_) => csv_writer::value(cell),
            _ => cell,
        };
        value_of(self.edm_type(), text).map(Some)
    }
}

/// Returns whether a value is written like the cell.
fn is_same(value: &EdmValue, cell: &str) -> bool {
    match value {
        // A column of prices may have 177 beside 454.1.
        EdmValue::Double(number) => number.is_finite() && (number.to_string() == cell || value.to_string() == cell),
        _ => value.to_string() == cell,
    }
}
