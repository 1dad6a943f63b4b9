//! The error of a bulk's source must be convertible from the crate's error.

use azure_table::{TableClient, TableEntity, TableOperation};
use futures::stream;

#[derive(TableEntity)]
struct Reading {
    #[table(partition_key)]
    sensor: String,
    #[table(row_key)]
    at: u32,
}

#[derive(Debug)]
struct BadLine;

fn import(readings: TableClient<Reading>) {
    let source = stream::iter([Err::<TableOperation, BadLine>(BadLine)]);
    let _ = readings.bulk().write_try_stream(source);
}

fn main() {}
