//! Opens a file of any format.

use std::path::Path;

use indicatif::ProgressBar;

use crate::failure::{Done, usage};
use crate::rows::compression::open;
use crate::rows::csv_reader::CsvReader;
use crate::rows::file_format::{FileFormat, RowForm};
use crate::rows::json::Json;
use crate::rows::json_lines::JsonLines;
use crate::rows::parquet_reader::ParquetReader;
use crate::rows::row_source::{ColumnOptions, Rows};

/// Opens a file, or the standard input for `-`. `read` has the part of it that is read: bytes, or the rows of a Parquet file.
///
/// # Errors
/// The file cannot be opened, or its columns are not what a table can have.
pub(crate) fn open_rows(path: &Path, format: FileFormat, columns: &ColumnOptions, read: &ProgressBar) -> Done<Rows> {
    let has_columns = matches!(format.form, RowForm::Csv | RowForm::Parquet);
    let has_keys = !columns.keys.is_empty() || !columns.pad.is_empty();
    if !has_columns && has_keys || format.form != RowForm::Csv && !columns.types.is_empty() {
        usage!("--keys and --pad are for CSV and Parquet, and --type for CSV");
    }
    let owned = path.to_owned();
    let open = || open(path, format.compression, Some(read));
    Ok(match format.form {
        RowForm::JsonLines => Box::new(JsonLines::new(owned, open()?)),
        RowForm::Json => Box::new(Json::new(owned, open()?)),
        RowForm::Csv => Box::new(CsvReader::open(owned, open()?, format.compression, columns)?),
        RowForm::Parquet => Box::new(ParquetReader::open(owned, columns, read)?),
    })
}
