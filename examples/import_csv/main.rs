//! Any CSV file into a table: types named, or guessed where no value changes, a progress bar, and a resume after
//! Ctrl-C.
//!
//! `cargo run -p azure-table-examples --features csv --example import_csv` imports a few cities into an emulator inside
//! of this process. `… --example import_csv -- --keys Country,City --type Postcode=Edm.String cities.csv Cities` is
//! for the account of `AZURE_STORAGE_CONNECTION_STRING`. After Ctrl-C the same command resumes.
//!
//! Source: the import of CSV by Azure Storage Explorer.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod columns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use azure_table::{DynamicEntity, TableClient};
use azure_table_examples::arguments::Arguments;
use azure_table_examples::job::{Interrupt, PositionFile};
use azure_table_examples::{Done, connect, finish, is_emulated};
use csv::Reader;
use indicatif::{ProgressBar, ProgressStyle};

use crate::columns::{Column, check_keys, entity, guess, key_columns};

const USAGE: &str = "usage: import_csv [--keys A,B] [--type COLUMN=Edm.TYPE]… FILE.csv TABLE";

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
    check_keys(&path, keys)?;
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
    let (before, rejected_before) = match position.load::<(u64, u64, u64)>()? {
        None => (0, 0),
        Some((before, known, rejected)) if known == bytes => (before, rejected),
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
            let rejected = rejected_before + so_far.rejected();
            let saved = position.save(&(before + so_far.settled(), bytes, rejected));
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
            match rejected_before + report.rejected() {
                0 => Ok(()),
                rejected => Err(format!("the service rejects {rejected} rows").into()),
            }
        }
        some => Err(format!("{some} of {rows} rows so far: the same command resumes").into()),
    }
}
