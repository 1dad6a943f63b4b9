//! Rows of any table in the terminal: columns by name, a filter as text, without a struct.
//!
//! `cargo run --example show_table -- --columns Place,Magnitude --filter 'Magnitude ge 5.0' Quakes` shows rows of the
//! account of `AZURE_STORAGE_CONNECTION_STRING`. Without that variable a small table of quakes, on an emulator
//! inside of this process, stands in for any.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{DateTime, DynamicEntity, Filter, TableClient, TableServiceClient};
use azure_table_examples::arguments::Arguments;
use azure_table_examples::{connect, finish, is_emulated};
use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;

const USAGE: &str = "usage: show_table [--columns A,B,…] [--filter ODATA] [--rows N] TABLE";

/// The columns of every entity, before those that were asked for.
const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(USAGE, &["columns=", "filter=", "rows="])?;
    let limit = arguments.option("rows").unwrap_or("20").parse()?;
    let mut columns = arguments.list("columns");
    let service = connect()?;
    let table = if is_emulated() {
        fill(&service).await?
    } else {
        let [table] = arguments.values()?;
        service.dynamic_table(&table)?
    };

    let mut query = table.query().limit(limit);
    if let Some(filter) = arguments.option("filter") {
        query = query.filter(Filter::raw(filter));
    }
    let rows = if columns.is_empty() {
        query.all().await?
    } else {
        query.select_names(columns.clone()).all().await?
    };
    if columns.is_empty() {
        columns = names_of(&rows);
    }
    println!("{}", as_table(&rows, &columns));
    println!("{} rows", rows.len());
    Ok(())
}

/// All names of properties, each once: rows of a table need not have the same ones.
fn names_of(rows: &[DynamicEntity]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().flat_map(|row| row.properties.keys().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

fn as_table(rows: &[DynamicEntity], columns: &[String]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(KEYS.into_iter().chain(columns.iter().map(String::as_str)));
    for row in rows {
        let values = columns
            .iter()
            .map(|name| row.get(name).map(ToString::to_string).unwrap_or_default());
        table.add_row(
            [row.partition_key.clone(), row.row_key.clone()]
                .into_iter()
                .chain(values),
        );
    }
    table
}

/// A few rows to show on the emulator.
async fn fill(service: &TableServiceClient) -> Result<TableClient<DynamicEntity>, Box<dyn Error>> {
    let quakes = service.dynamic_table("Quakes")?;
    quakes.create_table_if_not_exists().await?;
    for (network, id, place, magnitude, time) in [
        ("ak", "0231", "12 km N of Ester, Alaska", 1.6, "2026-03-01T04:11:09.5Z"),
        ("us", "7kdx", "Banda Sea", 5.1, "2026-03-01T02:40:55Z"),
        ("us", "7kdz", "Kermadec Islands", 4.7, "2026-03-01T03:02:13.25Z"),
    ] {
        let mut quake = DynamicEntity::new(network, id);
        quake.insert("Place", place);
        quake.insert("Magnitude", magnitude);
        quake.insert("Time", time.parse::<DateTime>()?);
        quakes.insert_or_replace(&quake).await?;
    }
    Ok(quakes)
}
