//! A CSV file with bad lines, and a progress bar. Bad lines are printed and left out; a hundred of them end the import.
//!
//! `cargo run --example csv_import` imports `data/products.csv`, and another file if it is the argument. It runs on an
//! emulator inside of this process, or on the account of `AZURE_STORAGE_CONNECTION_STRING`.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::fs::File;
use std::process::ExitCode;

use azure_table::{TableEntity, TableOperation, TableServiceClient};
use azure_table_examples::{Done, connect, finish, on_own_tables};
use futures::stream;
use indicatif::{ProgressBar, ProgressStyle};

#[derive(TableEntity, serde::Deserialize)]
struct Product {
    #[table(partition_key)]
    shop: String,
    #[table(row_key)]
    id: u32,
    name: String,
    price: f64,
}

/// The error of the bulk's source. The bulk returns its own errors as this type, too: it needs `#[from]` for them.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error("cannot read the file")]
    File(#[source] csv::Error),
    #[error("{MAX_BAD_LINES} bad lines: is this the right file?")]
    BadLines,
    #[error(transparent)]
    Table(#[from] azure_table::Error),
}

const MAX_BAD_LINES: u32 = 100;

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Done<()> {
    on_own_tables(&connect()?, import).await
}

async fn import(service: &TableServiceClient) -> Done<()> {
    let products = service.table::<Product>("Products")?;
    products.create_table().await?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/products.csv");
    let file = File::open(std::env::args().nth(1).unwrap_or_else(|| path.into()))?;
    let bar = ProgressBar::new(file.metadata()?.len()); // it is shown on a terminal only
    bar.set_style(ProgressStyle::with_template(
        "{bar:40} {bytes} of {total_bytes}  {msg}",
    )?);

    let mut bad_lines = 0;
    let lines = csv::Reader::from_reader(bar.wrap_read(file)).into_deserialize::<Product>();
    let operations = lines.filter_map(|line| match line {
        Ok(product) => Some(Ok(TableOperation::insert_or_replace(&product))),
        Err(e) if e.is_io_error() => Some(Err(ImportError::File(e))),
        Err(e) => {
            bar.suspend(|| println!("bad line   {e}"));
            bad_lines += 1;
            (bad_lines == MAX_BAD_LINES).then_some(Err(ImportError::BadLines))
        }
    });
    let write = products.bulk().write_try_stream(stream::iter(operations));
    let report = write
        .on_progress(|so_far| bar.set_message(format!("{} stored", so_far.applied())))
        .await?;
    bar.finish_and_clear();
    for row in report.leftovers() {
        println!("rejected   {row}");
    }
    println!("stored     {} products", report.applied());
    Ok(())
}
