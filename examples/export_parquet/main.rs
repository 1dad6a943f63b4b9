//! A table as a Parquet file, with the columns and types of a struct: for DuckDB, pandas or Spark.
//!
//! `cargo run -p azure-table-examples --features parquet --example export_parquet` loads a week of earthquakes into an
//! emulator inside of this process, exports them, and reads the file back. With `AZURE_STORAGE_CONNECTION_STRING` the
//! table is on that account. `… --example export_parquet -- quakes.parquet` keeps the file. For tables without a
//! struct, see `export`.
//!
//! The times in the file are in milliseconds: finer digits, to 100 ns in the table, are dropped. A column of
//! `DateTime::ticks` as `i64` keeps them.
//!
//! Source: AzCopy 7, which exported tables; Apache Parquet, the format.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod reader;

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use azure_table::{DateTime, Descending, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::earthquakes;
use azure_table_examples::{connect, finish, on_own_tables};
use chrono::{NaiveDateTime, Utc};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RecordWriter;
use parquet_derive::ParquetRecordWriter;
use serde::Deserialize;

/// The rows that are written together, and in memory at a time. A file for much data takes 100,000 and more.
const ROW_GROUP: usize = 1_000;

/// A row of the table.
#[derive(TableEntity, Deserialize)]
#[table(row_key = "{time}_{id}")]
struct Quake {
    #[table(partition_key)]
    #[serde(rename = "net")]
    network: String,
    #[serde(deserialize_with = "earthquakes::milliseconds")]
    time: Descending<DateTime>,
    id: String,
    #[serde(rename = "mag")]
    magnitude: Option<f64>,
    place: String,
    depth: f64,
}

/// A row of the file. The derive makes the schema of the file from it.
#[derive(ParquetRecordWriter)]
struct Record {
    network: String,
    id: String,
    time: NaiveDateTime,
    magnitude: Option<f64>,
    place: String,
    depth_km: f64,
}

impl From<Quake> for Record {
    fn from(quake: Quake) -> Self {
        let time: chrono::DateTime<Utc> = quake.time.0.into();
        Self {
            network: quake.network,
            id: quake.id,
            time: time.naive_utc(),
            magnitude: quake.magnitude,
            place: quake.place,
            depth_km: quake.depth,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let quakes = service.table::<Quake>("Quakes")?;
    quakes.create_table().await?;
    let events: Vec<Quake> = earthquakes::read()?;
    let report = quakes.bulk().insert(events).await?;
    report.ensure_no_leftovers()?;
    println!("loaded     {report}");

    let kept = std::env::args_os().nth(1).map(PathBuf::from);
    let own = || std::env::temp_dir().join(format!("quakes-{}.parquet", std::process::id()));
    let path = kept.clone().unwrap_or_else(own);
    export(&quakes, &path).await?;
    reader::show(&path)?;
    if kept.is_none() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Writes the file. One that exists is replaced at the end, when the new one is complete.
async fn export(quakes: &TableClient<Quake>, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let none: [Record; 0] = [];
    let schema = none.as_slice().schema()?;
    let mut file = SerializedFileWriter::new(File::create(&new)?, schema, Arc::new(properties))?;
    let mut write = |records: &mut Vec<Record>| -> Result<(), Box<dyn Error>> {
        let mut group = file.next_row_group()?;
        records.as_slice().write_to_row_group(&mut group)?;
        group.close()?;
        records.clear();
        Ok(())
    };
    let mut records = Vec::with_capacity(ROW_GROUP);
    // The export means every row.
    let mut rows = quakes.query().allow_table_scan().stream();
    while let Some(quake) = rows.try_next().await? {
        records.push(Record::from(quake));
        if records.len() == ROW_GROUP {
            write(&mut records)?;
        }
    }
    if !records.is_empty() {
        write(&mut records)?;
    }
    file.close()?;
    Ok(std::fs::rename(new, path)?)
}
