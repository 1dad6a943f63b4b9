//! Rows of any table in the terminal: columns by name, a filter as text, without a struct.
//!
//! `cargo run --example show_table -- --columns Place,Magnitude --filter 'Magnitude ge 5.0' Quakes` shows rows of the
//! account of `AZURE_STORAGE_CONNECTION_STRING`. Without that variable a small table of quakes, on an emulator
//! inside of this process, stands in for any.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{DateTime, DynamicEntity, Filter, TableServiceClient};
use azure_table_examples::{CONNECTION_STRING, connect, finish};
use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use lexopt::prelude::{Long, Value, ValueExt};

const USAGE: &str = "usage: show_table [--columns A,B,…] [--filter ODATA] [--rows N] TABLE";

/// The columns of every entity, before those that were asked for.
const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];

/// The command line.
struct Arguments {
    table: String,
    columns: Vec<String>,
    filter: Option<String>,
    rows: usize,
}

impl Arguments {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut arguments = Self {
            table: String::new(),
            columns: Vec::new(),
            filter: None,
            rows: 20,
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("columns") => {
                    let names = parser.value()?.string()?;
                    arguments.columns = names.split(',').map(|name| name.trim().to_owned()).collect();
                }
                Long("filter") => arguments.filter = Some(parser.value()?.string()?),
                Long("rows") => arguments.rows = parser.value()?.parse()?,
                Value(table) => arguments.table = table.string()?,
                _ => return Err(format!("{}\n{USAGE}", argument.unexpected()).into()),
            }
        }
        Ok(arguments)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = Arguments::parse()?;
    let service = connect()?;
    if std::env::var_os(CONNECTION_STRING).is_none() {
        arguments.table = "Quakes".to_owned();
        fill(&service, &arguments.table).await?;
    }
    if arguments.table.is_empty() {
        return Err(USAGE.into());
    }

    let mut query = service.dynamic_table(&arguments.table)?.query().limit(arguments.rows);
    if let Some(filter) = arguments.filter {
        query = query.filter(Filter::raw(filter));
    }
    let rows = match arguments.columns.is_empty() {
        true => query.all().await?,
        false => query.select_names(arguments.columns.clone()).all().await?,
    };

    let columns = match arguments.columns.is_empty() {
        true => names_of(&rows),
        false => arguments.columns,
    };
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
async fn fill(service: &TableServiceClient, table: &str) -> Result<(), Box<dyn Error>> {
    let quakes = service.dynamic_table(table)?;
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
    Ok(())
}
