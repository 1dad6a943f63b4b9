//! Rows on the standard output: as a table, CSV, JSON lines, or one property a line.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use azure_table::DynamicEntity;
use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};

use crate::failure::Done;

/// The columns of every row, before the others.
const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Csv,
    JsonLines,
    Properties,
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
                let mut writer = csv::Writer::from_writer(io::stdout());
                writer.write_record(header).map_err(io::Error::from)?;
                for row in &self.rows {
                    writer.write_record(cells(row)).map_err(io::Error::from)?;
                }
                writer.flush()?;
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
    table.add_rows(lines);
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
    let mut lines = vec![
        ("PartitionKey".to_owned(), row.partition_key.clone()),
        ("RowKey".to_owned(), row.row_key.clone()),
    ];
    lines.extend(
        row.timestamp
            .map(|timestamp| ("Timestamp".to_owned(), timestamp.to_string())),
    );
    lines.extend(
        row.etag
            .as_ref()
            .map(|etag| ("ETag".to_owned(), etag.as_str().to_owned())),
    );
    for (name, value) in &row.properties {
        lines.push((
            format!("{name}:{}", crate::value::short_name(value.edm_type())),
            value.to_string(),
        ));
    }
    let width = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or_default();
    let mut output = io::stdout();
    for (name, value) in lines {
        writeln!(output, "{name:<width$}  {value}")?;
    }
    Ok(())
}
