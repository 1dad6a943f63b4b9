//! The rows of a file of any format, page by page.

use azure_table::{DynamicEntity, EdmType};
use clap::Args;

use crate::failure::{Done, Failure};
use crate::session::Session;
use crate::value::type_named;

/// A row of a file, or the text that is none and the reason.
pub(crate) type ReadRow = Result<DynamicEntity, (String, String)>;

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
            drop(progress);
            return Ok(true);
        }
        count += rows.len() as u64;
        for row in rows {
            use_row(&row.map_err(|(text, why)| Failure::new(format!("{text}: {why}")))?)?;
        }
        progress.set(count);
    }
    drop(progress);
    Ok(false)
}
