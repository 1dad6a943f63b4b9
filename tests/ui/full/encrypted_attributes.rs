//! `encrypted` beside attributes that contradict it.

use azure_table::TableEntity;

#[derive(TableEntity)]
struct Patient {
    #[table(partition_key, encrypted)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    #[table(encrypted, default)]
    diagnosis: String,
    #[table(encrypted, json)]
    tags: Vec<String>,
    #[table(chunked, encrypted)]
    text: String,
    #[table(encrypted, ignore)]
    cached: String,
    #[table(encrypted = true)]
    scan: Vec<u8>,
}

fn main() {}
