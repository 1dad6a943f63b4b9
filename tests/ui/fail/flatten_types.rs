//! Flattened fields of types that are not groups, and duplicate names.

use azure_table::{PropertyGroup, TableEntity};

#[derive(Debug)]
struct Opaque;

#[derive(PropertyGroup)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
struct Shop {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten)]
    home: Opaque,
}

#[derive(TableEntity)]
struct Person {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten)]
    home: Address,
    #[table(flatten)]
    work: Address,
}

fn main() {}
