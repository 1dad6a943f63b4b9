//! A table, or what a filter selects, as plain JSON lines for other tools.
//!
//! `cargo run -p azure-table-examples --example export` exports a few quakes of an emulator inside of this process.
//! `… --example export -- --columns Place,Magnitude --filter 'Magnitude ge 5.0' Quakes quakes.jsonl` is for the account
//! of `AZURE_STORAGE_CONNECTION_STRING`. After Ctrl-C the same command resumes. For Parquet:
//! `duckdb -c "copy 'quakes.jsonl' to 'quakes.parquet'"`, or `export_parquet` for rows of a struct. To load the
//! rows again with their types, use `aztable export` and `aztable import`.
//!
//! Source: AzCopy 7, which exported tables as JSON.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use azure_table::{DateTime, DynamicEntity, EdmValue, Filter, TableServiceClient};
use azure_table_examples::arguments::Arguments;
use azure_table_examples::job::{Interrupt, PagePosition, PositionFile, append};
use azure_table_examples::{connect, finish, is_emulated};
use indicatif::ProgressBar;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

const USAGE: &str = "usage: export [--columns A,B,…] [--filter ODATA] TABLE FILE.jsonl";

/// A row as JSON for other tools: numbers are numbers, and no member names a type. JSON has no NaN: it is text.
struct Plain<'a>(&'a DynamicEntity);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("PartitionKey", &self.0.partition_key)?;
        map.serialize_entry("RowKey", &self.0.row_key)?;
        for (name, value) in &self.0.properties {
            match value {
                EdmValue::Boolean(value) => map.serialize_entry(name, value)?,
                EdmValue::Int32(value) => map.serialize_entry(name, value)?,
                EdmValue::Int64(value) => map.serialize_entry(name, value)?,
                EdmValue::Double(value) if value.is_finite() => map.serialize_entry(name, value)?,
                text => map.serialize_entry(name, &text.to_string())?,
            }
        }
        map.end()
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(USAGE, &["columns=", "filter="])?;
    let service = connect()?;
    let is_demonstration = arguments.is_empty() && is_emulated();
    let [table, path] = if is_demonstration {
        fill(&service).await?;
        let file = std::env::temp_dir().join(format!("quakes-{}.jsonl", std::process::id()));
        ["Quakes".into(), file.to_string_lossy().into_owned()]
    } else {
        arguments.values()?
    };
    let path = Path::new(&path);

    let columns = arguments.list("columns");
    let file = PositionFile::new(format!("{}.position", path.display()));
    let (mut position, earlier) = file.load::<(PagePosition, Vec<String>)>()?.unwrap_or_default();
    if position.rows > 0 && earlier != columns {
        return Err(format!("the export that stopped has the columns {earlier:?}, not {columns:?}").into());
    }
    if position.rows > 0 {
        println!("resume     after {} rows", position.rows);
    }
    // A continuation of another table or filter is an error.
    let mut query = service
        .dynamic_table(&table)?
        .query()
        .resume_from(position.continuation.clone());
    if let Some(filter) = arguments.option("filter") {
        query = query.filter(Filter::raw(filter));
    }
    let mut pages = if columns.is_empty() {
        query.pages()
    } else {
        query.select_names(columns.clone()).pages()
    };

    let interrupt = Interrupt::listen();
    let bar = ProgressBar::new_spinner();
    while let Some(page) = pages.try_next().await? {
        let mut lines = Vec::new();
        for row in page.items() {
            serde_json::to_writer(&mut lines, &Plain(row))?;
            lines.push(b'\n');
        }
        position.bytes = append(path, position.bytes, &lines)?;
        position.rows += page.items().len();
        bar.set_message(format!("{} rows", position.rows));
        bar.tick();
        position.continuation = page.continuation().clone();
        file.save(&(&position, &columns))?;
        if !position.continuation.is_finished() && interrupt.is_set() {
            return Err(format!("{} rows so far: the same command resumes", position.rows).into());
        }
    }
    file.delete()?;
    bar.finish_and_clear();
    println!("exported   {} rows, {} bytes", position.rows, position.bytes);
    if is_demonstration {
        print!("{}", std::fs::read_to_string(path)?);
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// A few rows to export from the emulator.
async fn fill(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let quakes = service.dynamic_table("Quakes")?;
    quakes.create_table_if_not_exists().await?;
    for (network, id, place, magnitude, felt) in [
        ("ak", "0231", "12 km N of Ester, Alaska", 1.6, 0_i64),
        ("us", "7kdx", "Banda Sea", 5.1, 5_000_000_000),
    ] {
        let mut quake = DynamicEntity::new(network, id);
        quake.insert("Place", place);
        quake.insert("Magnitude", magnitude);
        quake.insert("Felt", felt);
        quake.insert("Time", "2026-03-01T04:11:09.5Z".parse::<DateTime>()?);
        quakes.insert_or_replace(&quake).await?;
    }
    Ok(())
}
