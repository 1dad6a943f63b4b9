//! Any CSV file into a table: types guessed or named, a progress bar, and a resume after Ctrl-C.
//!
//! `cargo run -p azure-table-examples --features csv --example import_csv` imports a few cities into an emulator inside
//! of this process. `… --example import_csv -- --keys Country,City --type Postcode=Edm.String cities.csv Cities` is
//! for the account of `AZURE_STORAGE_CONNECTION_STRING`. After Ctrl-C the same command resumes.
//!
//! Source: the import of CSV by Azure Storage Explorer.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use azure_table::{DynamicEntity, EdmType, EdmValue, TableClient};
use azure_table_examples::arguments::Arguments;
use azure_table_examples::job::{Interrupt, PositionFile};
use azure_table_examples::{connect, finish, is_emulated};
use csv::{Reader, StringRecord};
use indicatif::{ProgressBar, ProgressStyle};

const USAGE: &str = "usage: import_csv [--keys A,B] [--type COLUMN=Edm.TYPE]… FILE.csv TABLE";

/// The types that are guessed, the narrowest first. Text is what is left.
const GUESSED: [&str; 6] = [
    "Edm.Int32",
    "Edm.Int64",
    "Edm.Double",
    "Edm.Boolean",
    "Edm.DateTime",
    "Edm.Guid",
];

type Done<T> = Result<T, Box<dyn Error>>;

/// A column of the file.
#[derive(Debug)]
struct Column {
    header: String,
    /// The header without the characters that no property name may have.
    property: String,
    edm_type: &'static str,
    values: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Done<()> {
    let arguments = Arguments::parse(USAGE, &["keys=", "type="])?;
    let [file, table] = if arguments.is_empty() && is_emulated() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/cities.csv");
        [file, "Cities"].map(String::from)
    } else {
        arguments.values()?
    };
    let named: Option<Vec<_>> = arguments.all("type").map(|named| named.split_once('=')).collect();
    let path = PathBuf::from(file);
    let (columns, rows) = guess(&path, &named.ok_or(USAGE)?)?;
    let keys = key_columns(&columns, &arguments.list("keys"))?;
    println!(
        "\n{rows} rows, keys {} and {}",
        columns[keys.0].header, columns[keys.1].header
    );
    for column in &columns {
        println!(
            "  {:<16} {:<12} {} values",
            column.property, column.edm_type, column.values
        );
    }
    let table = connect()?.dynamic_table(&table)?;
    table.create_table_if_not_exists().await?;
    import(&table, &path, &columns, keys, rows).await
}

/// Reads the file once for the narrowest type that all values of a column have.
fn guess(path: &Path, named: &[(&str, &str)]) -> Done<(Vec<Column>, u64)> {
    let mut reader = Reader::from_path(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let headers = reader.headers()?.clone();
    let mut fitting = vec![GUESSED.to_vec(); headers.len()];
    let mut values = vec![0; headers.len()];
    let mut rows = 0;
    let mut record = StringRecord::new();
    while reader.read_record(&mut record)? {
        rows += 1;
        for (column, text) in record.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            values[column] += 1;
            fitting[column].retain(|edm_type| parse(text, edm_type).is_some());
        }
    }
    let column = |(index, header): (usize, &str)| {
        let by_name = named.iter().find(|(name, _)| *name == header);
        let edm_type = match by_name {
            Some((_, name)) => EdmType::from_name(name)
                .ok_or_else(|| format!("{header}: no type {name:?}"))?
                .name(),
            None if values[index] == 0 => "Edm.String",
            None => fitting[index].first().copied().unwrap_or("Edm.String"),
        };
        let property = header.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
        Ok(Column {
            header: header.into(),
            property,
            edm_type,
            values: values[index],
        })
    };
    let columns: Done<Vec<Column>> = headers.iter().enumerate().map(column).collect();
    Ok((columns?, rows))
}

/// Returns a text as a value of a type, if it is one. A code with leading zeros is no number.
fn parse(text: &str, edm_type: &str) -> Option<EdmValue> {
    let digits = text.trim_start_matches('-');
    let is_code = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    match edm_type {
        "Edm.Int32" | "Edm.Int64" | "Edm.Double" if is_code => None,
        "Edm.Int32" => text.parse().ok().map(EdmValue::Int32),
        "Edm.Int64" => text.parse().ok().map(EdmValue::Int64),
        "Edm.Double" => text
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .map(EdmValue::Double),
        "Edm.Boolean" => text.parse().ok().map(EdmValue::Boolean),
        "Edm.DateTime" => text.parse().ok().map(EdmValue::DateTime),
        "Edm.Guid" => text.parse().ok().map(EdmValue::Guid),
        "Edm.String" => Some(text.into()),
        _ => None,
    }
}

/// Returns the columns of PartitionKey and RowKey: those that are named, or the first two.
fn key_columns(columns: &[Column], names: &[String]) -> Done<(usize, usize)> {
    let place = |name: &String| columns.iter().position(|column| column.header == *name);
    match names {
        [] if columns.len() >= 2 => Ok((0, 1)),
        [partition, row] => {
            let found = place(partition).zip(place(row));
            Ok(found.ok_or_else(|| format!("no columns {partition:?} and {row:?}"))?)
        }
        _ => Err("the keys are two columns: --keys A,B".into()),
    }
}

async fn import(
    table: &TableClient<DynamicEntity>,
    path: &Path,
    columns: &[Column],
    keys: (usize, usize),
    rows: u64,
) -> Done<()> {
    let position = PositionFile::new(format!("{}-to-{}.position", path.display(), table.name()));
    // The number of rows belongs to this file as it is.
    let bytes = std::fs::metadata(path)?.len();
    let before = match position.load::<(u64, u64)>()? {
        None => 0,
        Some((before, known)) if known == bytes => before,
        Some(_) => return Err(format!("the file has changed since {}", position.path().display()).into()),
    };
    if before > 0 {
        println!("resume     after {before} rows");
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} rows, {per_sec}, {eta} left")?;
    let bar = ProgressBar::new(rows).with_style(style).with_position(before);
    let interrupt = Interrupt::listen();

    let (mut failed, mut unsaved) = (None, None);
    let mut reader = Reader::from_path(path)?;
    let mut records = reader.records().skip(usize::try_from(before)?);
    let source = records
        .by_ref()
        .take_while(|_| !interrupt.is_set())
        .map_while(|record| {
            let row = record
                .map_err(Box::from)
                .and_then(|record| entity(&record, columns, keys));
            row.map_err(|error| failed = Some(error)).ok()
        });
    let report = table
        .bulk()
        // After Ctrl-C, the rows that were read are written first.
        .max_pending(5_000)
        .insert_or_replace(source)
        .on_progress(|so_far| {
            bar.set_position(before + so_far.settled());
            let saved = position.save(&(before + so_far.settled(), bytes));
            unsaved = saved.err().or(unsaved.take());
        })
        .await?;
    bar.finish_and_clear();
    for leftover in report.leftovers().iter().take(10) {
        println!("left       {leftover}");
    }
    println!("imported   {report}");
    if let Some(error) = failed.or(unsaved.map(Box::from)) {
        return Err(error);
    }
    match before + report.settled() {
        all if all == rows => {
            position.delete()?;
            match report.rejected() {
                0 => Ok(()),
                rejected => Err(format!("the service rejects {rejected} rows").into()),
            }
        }
        some => Err(format!("{some} of {rows} rows so far: the same command resumes").into()),
    }
}

fn entity(record: &StringRecord, columns: &[Column], (partition, row): (usize, usize)) -> Done<DynamicEntity> {
    let mut entity = DynamicEntity::new(&record[partition], &record[row]);
    for (index, column) in columns.iter().enumerate() {
        if index == partition || index == row || record[index].is_empty() {
            continue;
        }
        let value = parse(&record[index], column.edm_type);
        let line = record.position().map_or(0, csv::Position::line);
        let value = value.ok_or_else(|| format!("line {line}, {}: no {}", column.header, column.edm_type))?;
        entity.insert(&column.property, value);
    }
    Ok(entity)
}
