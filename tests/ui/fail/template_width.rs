//! Widths of fields in templates.

use azure_table::TableEntity;

#[derive(TableEntity)]
#[table(partition_key = "{bucket:4}", row_key = "{n:0x}")]
struct Malformed {
    bucket: u32,
    n: u32,
}

#[derive(TableEntity)]
#[table(partition_key = "p", row_key = "{name:04}")]
struct NoDigits {
    name: String,
}

fn main() {}
