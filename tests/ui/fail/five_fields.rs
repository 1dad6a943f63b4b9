//! Five fields that cannot be stored: one error for each.

use std::collections::HashMap;

use azure_table::TableEntity;

enum Color {
    Red,
}

#[derive(TableEntity)]
struct Car {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    plate: String,
    color: Color,
    seats: usize,
    owners: Vec<String>,
    prices: HashMap<String, f64>,
    mileage: Option<u128>,
}

fn main() {}
