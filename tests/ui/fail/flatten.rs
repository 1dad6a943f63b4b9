//! Flattened fields with contradicting attributes.

use azure_table::TableEntity;

struct Address;

#[derive(TableEntity)]
struct Shop {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten, rename = "Home")]
    home: Address,
    #[table(flatten = "Work_")]
    work: Address,
    #[table(flatten, json)]
    other: Address,
    #[table(prefix = "Old_")]
    old: Address,
    #[table(flatten, prefix = "new-")]
    new: Address,
    #[table(flatten, ignore)]
    last: Address,
}

fn main() {}
