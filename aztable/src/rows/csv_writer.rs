//! Writes CSV whose headers have the types: `Age:Edm.Int32`.
//!
//! An absent property is an empty cell. So an empty text is a cell of two quotes, and a text of quotes alone, in pairs,
//! has one pair more: `csv` readers do not tell an empty cell from a quoted one.

use azure_table::DynamicEntity;
use csv::Writer;

use crate::failure::Done;
use crate::rows::appended_file::AppendedFile;
use crate::rows::columns::{Column, values};

/// Two quotes: the cell of an empty text.
const EMPTY: &str = "\"\"";

/// A CSV file that is written.
pub(crate) struct CsvWriter {
    columns: Vec<Column>,
    records: Writer<AppendedFile>,
}

impl CsvWriter {
    /// Begins with the header.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(file: AppendedFile, columns: Vec<Column>) -> Done<Self> {
        let mut records = Writer::from_writer(file);
        records.write_record(columns.iter().map(Column::header))?;
        Ok(Self { columns, records })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn add(&mut self, row: &DynamicEntity) -> Done<()> {
        let cells = values(&self.columns, row).map(|(column, value)| match value {
            None => String::new(),
            Some(value) if column.is_property() => cell(value.to_string()),
            Some(key) => key.to_string(),
        });
        Ok(self.records.write_record(cells)?)
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn end(mut self) -> Done<()> {
        Ok(self.records.flush()?)
    }
}

/// Returns the cell of a value: its text, unless the cell would look absent.
fn cell(text: String) -> String {
    if is_pairs(&text) { text + EMPTY } else { text }
}

/// Returns the value of a cell that is not empty.
pub(crate) fn value(cell: &str) -> &str {
    cell.strip_suffix(EMPTY).filter(|_| is_pairs(cell)).unwrap_or(cell)
}

fn is_pairs(text: &str) -> bool {
    text.len().is_multiple_of(2) && text.bytes().all(|byte| byte == b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_an_empty_cell() {
        for text in ["", "\"", "\"\"", "\"\"\"", "\"\"\"\"", "a", " ", "\"\"a"] {
            let cell = cell(text.into());
            assert!(!cell.is_empty());
            assert_eq!(value(&cell), text);
        }
    }
}
