//! Columns of a flattened field are reached through the field.

use azure_table::{Filter, PropertyGroup, TableEntity};

#[derive(PropertyGroup)]
struct Address {
    city: String,
}

#[derive(PropertyGroup)]
struct Name {
    first: String,
}

#[derive(TableEntity)]
struct Shop {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten, prefix = "Home_")]
    home: Address,
    #[table(json)]
    tags: Vec<String>,
    #[table(ignore)]
    cached: i32,
}

fn filters() -> [Filter<Shop>; 5] {
    [
        Address::CITY.eq("Köln"),
        Shop::HOME.eq("Köln"),
        Shop::HOME.then(Name::FIRST).eq("Ada"),
        Shop::TAGS.eq("a"),
        Shop::CACHED.eq(1),
    ]
}

fn main() {}
