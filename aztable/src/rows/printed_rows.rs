//! Rows on the standard output: as a table, CSV, JSON lines, or one property a line.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use azure_table::DynamicEntity;
use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};

use crate::failure::Done;
use crate::terminal::{Terminal, escaped};
use crate::value::short_name;

/// The columns of every row, before the others.
const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Csv,
    JsonLines,
    Properties,
}

impl Form {
    /// Returns the form for programs, or another one for persons.
    pub(crate) fn of(terminal: &Terminal, form: Self) -> Self {
        if terminal.json { Self::JsonLines } else { form }
    }
}

/// Rows that are printed. The forms with columns need all rows before the first is printed.
pub(crate) struct PrintedRows {
    form: Form,
    columns: Vec<String>,
    rows: Vec<DynamicEntity>,
}

impl PrintedRows {
    /// With these properties as columns, or with all that rows have.
    pub(crate) fn new(form: Form, columns: Vec<String>) -> Self {
        let rows = Vec::new();
        Self { form, columns, rows }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The standard output is closed.
    pub(crate) fn add(&mut self, row: DynamicEntity) -> Done<()> {
        match self.form {
            Form::Table | Form::Csv => self.rows.push(row),
            Form::JsonLines => writeln!(io::stdout(), "{}", serde_json::to_string(&row)?)?,
            Form::Properties => properties(&row)?,
        }
        Ok(())
    }

    /// Prints the rows that wait for their columns.
    ///
    /// # Errors
    /// The standard output is closed.
    pub(crate) fn end(self) -> Done<()> {
        let columns = match self.columns.is_empty() {
            true => names(&self.rows),
            false => self.columns,
        };
        let header = KEYS.into_iter().chain(columns.iter().map(String::as_str));
        let cells = |row: &DynamicEntity| {
            let values = columns
                .iter()
                .map(|name| row.get(name).map(ToString::to_string).unwrap_or_default());
            let keys = [row.partition_key.clone(), row.row_key.clone()];
            keys.into_iter().chain(values).collect::<Vec<_>>()
        };
        match self.form {
            Form::Table if !self.rows.is_empty() => {
                return print_table(header, self.rows.iter().map(cells));
            }
            Form::Csv => {
                let mut writer = csv::Writer::from_writer(Vec::new());
                writer.write_record(header).map_err(io::Error::from)?;
                for row in &self.rows {
                    writer.write_record(cells(row)).map_err(io::Error::from)?;
                }
                let csv = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
                io::stdout().write_all(&csv)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Prints lines below a header.
///
/// # Errors
/// The standard output is closed.
pub(crate) fn print_table<T: Into<String>, L: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = T>,
    lines: impl IntoIterator<Item = L>,
) -> Done<()> {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.into_iter().map(Into::into).collect::<Vec<String>>());
    table.add_rows(
        lines
            .into_iter()
            .map(|cells| cells.into_iter().map(|cell| escaped(&cell))),
    );
    // The last column needs no spaces behind it.
    Ok(writeln!(io::stdout(), "{}", table.trim_fmt())?)
}

/// Returns the names of all properties, each once: rows of a table need not have the same ones.
fn names(rows: &[DynamicEntity]) -> Vec<String> {
    let names: BTreeSet<_> = rows.iter().flat_map(|row| row.properties.keys().cloned()).collect();
    names.into_iter().collect()
}

/// Prints a row with the type of each property, as `set` takes it.
fn properties(row: &DynamicEntity) -> Done<()> {
    let system = [
        ("PartitionKey", Some(row.partition_key.clone())),
        ("RowKey", Some(row.row_key.clone())),
        ("Timestamp", row.timestamp.map(|timestamp| timestamp.to_string())),
        ("ETag", row.etag.as_ref().map(|etag| etag.as_str().to_owned())),
    ];
    let properties = row.properties.iter().map(|(name, value)| {
        let name = format!("{name}:{}", short_name(value.edm_type()));
        (name, value.to_string())
    });
    let system = system
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let lines: Vec<_> = system.chain(properties).collect();
    let width = lines.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default();
    for (name, value) in lines {
        writeln!(io::stdout(), "{name:<width$}  {}", escaped(&value))?;
    }
    Ok(())
}
