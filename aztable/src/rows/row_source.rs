//! The rows of a file of any format, page by page.

use azure_table::{DynamicEntity, EdmType};
use clap::Args;

use crate::failure::{Done, Failure};
use crate::rows::named_columns::Name;
use crate::rows::unread::ReadRow;
use crate::session::Session;
use crate::terminal::Total;
use crate::value::type_named;

/// A file with rows.
pub(crate) trait RowSource: Send {
    /// Reads up to `most` rows. An empty result is the end.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>>;

    /// Returns lines with the types of columns that the file does not say, and warnings about its keys.
    fn plan(&self) -> String {
        String::new()
    }
}

/// A file of any format.
pub(crate) type Rows = Box<dyn RowSource>;

/// The rows that are read together.
pub(crate) const PAGE: usize = 1_000;

/// The options of files with columns.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Columns of CSV and Parquet")]
pub(crate) struct ColumnOptions {
    /// The columns of PartitionKey and RowKey, if they have other names
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) keys: Vec<String>,
    /// The digits of a key column, with zeros before them as a number of a Rust struct has: u32 is 10, u64 is 20. A row
    /// with another text in it is rejected
    #[arg(long, value_name = "COLUMN=WIDTH", value_parser = column_width)]
    pub(crate) pad: Vec<(String, usize)>,
    /// The type of a CSV column that the file does not say: bool, int32, int64, double, datetime, guid, binary, string
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    pub(crate) types: Vec<(String, EdmType)>,
}

impl ColumnOptions {
    /// Returns the columns of PartitionKey and RowKey.
    ///
    /// # Errors
    /// `--keys` has not two names, or `--pad` another one.
    pub(crate) fn key_names(&self) -> Done<[&str; 2]> {
        let names = match &*self.keys {
            [] => ["PartitionKey", "RowKey"],
            [partition, row] if partition != row => [&**partition, row],
            _ => return Err(Failure::usage("--keys takes two columns: A,B")),
        };
        match self.pad.iter().find(|(column, _)| !names.contains(&&**column)) {
            Some((column, _)) => Err(Failure::usage(format!("--pad: {column:?} is no column of --keys"))),
            None => Ok(names),
        }
    }

    /// Returns the key that a cell of a column is.
    ///
    /// # Errors
    /// `--pad` names the column, and the cell is no number of its digits.
    pub(crate) fn key(&self, column: &str, cell: &str) -> Result<String, String> {
        match self.pad.iter().find(|(name, _)| *name == Name::of(column).text) {
            None => Ok(cell.to_owned()),
            Some((_, width)) if is_digits(cell) && cell.len() <= *width => Ok(format!("{cell:0>width$}")),
            Some((_, width)) => Err(format!("{column}: {cell:?} is not 1 to {width} digits, as --pad needs")),
        }
    }
}

/// Returns whether a text is a number without a sign.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn column_width(text: &str) -> Result<(String, usize), String> {
    let (column, width) = text.split_once('=').ok_or("it has no `=`")?;
    let width = width.parse().map_err(|_| format!("{width:?} is no width"))?;
    Ok((column.to_owned(), width))
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
    let mut progress = session.progress(Some(Total::new(total.into())));
    let mut count = 0;
    while !session.interrupt.is_set() {
        let rows = source.read(PAGE)?;
        if rows.is_empty() {
            return Ok(true);
        }
        count += rows.len() as u64;
        for row in rows {
            use_row(&row.map_err(|(row, why)| Failure::new(format!("{row}: {why}")))?)?;
        }
        progress.set(count);
    }
    Ok(false)
}
