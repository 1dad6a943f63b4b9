//! `encrypted` on a number, a date, a collection and a borrowed text.

use azure_table::{DateTime, PropertyGroup, TableEntity};

#[derive(TableEntity)]
struct Patient {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    #[table(encrypted)]
    age: u8,
    #[table(encrypted)]
    tags: Vec<String>,
}

#[derive(PropertyGroup)]
struct Visit {
    #[table(encrypted)]
    at: Option<DateTime>,
}

fn main() {}
