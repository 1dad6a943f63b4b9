//! Projections with names and types that the entity does not have.

use azure_table::{DateTime, Descending, Projection, PropertyGroup, TableEntity};

#[derive(PropertyGroup)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
#[table(row_key = "{posted}_{id}")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    posted: Descending<DateTime>,
    id: String,
    text: String,
    rating: i32,
    #[table(flatten)]
    address: Address,
    #[table(json)]
    tags: Vec<String>,
    #[table(ignore)]
    cached: i32,
}

#[derive(Projection)]
#[table(of = Blog)]
struct WrongName {
    texts: String,
    cached: i32,
    #[table(column = "STARS")]
    rating: i32,
}

#[derive(Projection)]
#[table(of = Blog)]
struct WrongType {
    text: String,
    rating: i64,
    address: Address,
    tags: Vec<String>,
}

#[derive(Projection)]
#[table(of = Blog)]
struct WrongKeys {
    #[table(partition_key)]
    channel: u32,
    #[table(row_key)]
    posted: Descending<DateTime>,
}

#[derive(Projection)]
#[table(of = Address)]
struct OfNoEntity {
    city: String,
}

fn main() {}
