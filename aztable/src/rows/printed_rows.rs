//! Rows on the standard output: as a table, CSV, JSON lines, or one property a line.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Stdout, Write as _};

use azure_table::DynamicEntity;
use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};

use crate::failure::Done;
use crate::rows::json_lines;
use crate::terminal::{Terminal, escaped};
use crate::value::short_name;

/// The columns of every row, before the others.
const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Csv,
    JsonLines,
}

impl Form {
    /// Returns the form for programs, or another one for persons.
    pub(crate) fn of(terminal: &Terminal, form: Self) -> Self {
        if terminal.json { Self::JsonLines } else { form }
    }
}

/// Rows that are printed. Columns without names are those of all rows: CSV waits for them in a temporary file.
pub(crate) struct PrintedRows {
    form: Form,
    columns: Vec<String>,
    /// The names of all properties, if there are no columns.
    names: BTreeSet<String>,
    rows: Vec<DynamicEntity>,
    waiting: Option<BufWriter<File>>,
    csv: csv::Writer<Stdout>,
}

impl PrintedRows {
    /// With these properties as columns, or with all that rows have.
    ///
    /// # Errors
    /// The standard output is closed, or there is no room for a temporary file.
    pub(crate) fn new(form: Form, columns: Vec<String>) -> Done<Self> {
        let mut printed = Self {
            form,
            columns,
            names: BTreeSet::new(),
            rows: Vec::new(),
            waiting: None,
            csv: csv::Writer::from_writer(io::stdout()),
        };
        match (form, printed.columns.is_empty()) {
            (Form::Csv, true) => printed.waiting = Some(BufWriter::new(tempfile::tempfile()?)),
            (Form::Csv, false) => printed.csv.write_record(header(&printed.columns))?,
            _ => {}
        }
        Ok(printed)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The standard output is closed.
    pub(crate) fn add(&mut self, row: DynamicEntity) -> Done<()> {
        if self.columns.is_empty() {
            let new = row.properties.keys().filter(|name| !self.names.contains(*name));
            self.names.extend(new.cloned().collect::<Vec<_>>());
        }
        match (self.form, &mut self.waiting) {
            (Form::Table, _) => self.rows.push(row),
            (Form::Csv, Some(file)) => drop(json_lines::write(file, &row)?),
            (Form::Csv, None) => self.csv.write_record(cells(&self.columns, &row))?,
            (Form::JsonLines, _) => writeln!(io::stdout(), "{}", serde_json::to_string(&row)?)?,
        }
        Ok(())
    }

    /// Prints the rows that wait for their columns.
    ///
    /// # Errors
    /// The standard output is closed.
    pub(crate) fn end(mut self) -> Done<()> {
        if self.columns.is_empty() {
            self.columns = self.names.into_iter().collect();
        }
        let columns = self.columns;
        if self.form == Form::Table && !self.rows.is_empty() {
            return print_table(header(&columns), self.rows.iter().map(|row| cells(&columns, row)));
        }
        if let Some(mut waiting) = self.waiting {
            waiting.rewind()?;
            self.csv.write_record(header(&columns))?;
            for row in BufReader::new(waiting.get_ref()).lines() {
                self.csv.write_record(cells(&columns, &serde_json::from_str(&row?)?))?;
            }
        }
        Ok(self.csv.flush()?)
    }
}

fn header(columns: &[String]) -> impl Iterator<Item = &str> {
    KEYS.into_iter().chain(columns.iter().map(String::as_str))
}

fn cells(columns: &[String], row: &DynamicEntity) -> Vec<String> {
    let value = |name| row.get(name).map(ToString::to_string).unwrap_or_default();
    let keys = [row.partition_key.clone(), row.row_key.clone()];
    keys.into_iter().chain(columns.iter().map(|name| value(name))).collect()
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
    let line = |cells: L| cells.into_iter().map(|cell| escaped(&cell));
    table.add_rows(lines.into_iter().map(line));
    // The last column needs no spaces behind it.
    Ok(writeln!(io::stdout(), "{}", table.trim_fmt())?)
}

/// Prints a row with the type of each property, as `set` takes it.
///
/// # Errors
/// The standard output is closed.
pub(crate) fn print_properties(row: &DynamicEntity) -> Done<()> {
    let mut lines = vec![("PartitionKey".to_owned(), row.partition_key.clone())];
    lines.push(("RowKey".to_owned(), row.row_key.clone()));
    lines.extend(row.timestamp.map(|time| ("Timestamp".to_owned(), time.to_string())));
    lines.extend(row.etag.as_ref().map(|etag| ("ETag".to_owned(), etag.to_string())));
    for (name, value) in &row.properties {
        lines.push((format!("{name}:{}", short_name(value.edm_type())), value.to_string()));
    }
    let width = lines.iter().map(|line| line.0.chars().count()).max().unwrap_or(0);
    for (name, value) in lines {
        writeln!(io::stdout(), "{name:<width$}  {}", escaped(&value))?;
    }
    Ok(())
}
