//! Collections as properties.

use std::collections::BTreeMap;

use azure_table::{PropertyGroup, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    tags: Vec<String>,
    links: Option<BTreeMap<String, String>>,
    bytes: Vec<u8>,
    hash: [u8; 32],
}

#[derive(PropertyGroup)]
struct Place {
    position: (f64, f64),
    line: [f64; 2],
}

fn main() {}
