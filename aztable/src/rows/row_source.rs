//! Opens a file of any format, and reads its rows page by page.

use std::path::Path;

use azure_table::{DynamicEntity, EdmType};
use clap::Args;

use crate::failure::{Done, Failure};
use crate::rows::compression::open;
use crate::rows::csv_reader::CsvReader;
use crate::rows::file_format::{FileFormat, RowForm};
use crate::rows::json::Json;
use crate::rows::json_lines::{JsonLines, ReadRow};
use crate::rows::parquet_reader::ParquetReader;
use crate::session::Session;
use crate::value::type_named;

/// A file with rows.
pub(crate) trait RowSource: Send {
    /// Reads up to `most` rows. An empty result is the end.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>>;

    /// Returns lines with the types of columns that only their cells show.
    fn plan(&self) -> String {
        String::new()
    }
}

/// The rows that are read together.
pub(crate) const PAGE: usize = 1_000;

/// The options of files with columns.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Columns of CSV and Parquet")]
pub(crate) struct ColumnOptions {
    /// The columns of PartitionKey and RowKey, if they have other names
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) keys: Vec<String>,
    /// The type of a CSV column that the file does not say: bool, int32, int64, double, datetime, guid, binary, string
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    pub(crate) types: Vec<(String, EdmType)>,
}

fn column_type(text: &str) -> Result<(String, EdmType), String> {
    let (column, name) = text.split_once('=').ok_or("it has no `=`")?;
    let edm_type = type_named(name).map_err(|failure| failure.to_string())?;
    Ok((column.to_owned(), edm_type))
}

/// Opens a file, or the standard input for `-`.
///
/// # Errors
/// The file cannot be opened, or its columns are not what a table can have.
pub(crate) fn open_rows(path: &Path, format: FileFormat, columns: &ColumnOptions) -> Done<Box<dyn RowSource>> {
    let has_columns = matches!(format.form, RowForm::Csv | RowForm::Parquet);
    if !has_columns && !columns.keys.is_empty() || format.form != RowForm::Csv && !columns.types.is_empty() {
        return Err(Failure::usage("--keys is for CSV and Parquet, and --type for CSV"));
    }
    let owned = path.to_owned();
    Ok(match format.form {
        RowForm::JsonLines => Box::new(JsonLines::new(owned, open(path, format.compression)?)),
        RowForm::Json => Box::new(Json::new(owned, open(path, format.compression)?)),
        RowForm::Csv => Box::new(CsvReader::open(owned, format.compression, columns)?),
        RowForm::Parquet => Box::new(ParquetReader::open(owned, &columns.keys)?),
    })
}

/// Reads all `total` rows of a file that this program has written. Returns `false` if a signal came before the end.
///
/// # Errors
/// The file cannot be read, or the errors of `use_row`.
pub(crate) fn each_row(
    mut source: impl RowSource,
    session: &Session,
    total: u64,
    mut use_row: impl FnMut(&DynamicEntity) -> Done<()>,
) -> Done<bool> {
    let mut progress = session.progress(Some(total));
    let mut count = 0;
    while !session.interrupt.is_set() {
        let rows = source.read(PAGE)?;
        if rows.is_empty() {
            progress.end();
            return Ok(true);
        }
        count += rows.len() as u64;
        for row in rows {
            use_row(&row.map_err(|(text, why)| Failure::new(format!("{text}: {why}")))?)?;
        }
        progress.set(count);
    }
    progress.end();
    Ok(false)
}
