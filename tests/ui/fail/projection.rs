//! Projections with contradicting attributes.

use azure_table::{Projection, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    text: String,
}

#[derive(Projection)]
struct OfNothing {
    text: String,
}

#[derive(Projection)]
#[table(of = 5)]
struct OfNumber {
    text: String,
}

#[derive(Projection)]
#[table(of = Blog)]
struct Borrowed<'a> {
    text: &'a str,
}

#[derive(Projection)]
#[table(of = Blog)]
struct Renamed {
    #[table(rename = "Text")]
    text: String,
    #[table(json)]
    channel: String,
    #[table(row_key, column = "SLUG")]
    slug: String,
    #[table(partition_key, default)]
    whose: String,
}

fn main() {}
