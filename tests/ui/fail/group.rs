//! Groups of properties with attributes for entities only.

use azure_table::PropertyGroup;

#[derive(PropertyGroup)]
#[table(row_key = "{city}", deny_unknown_properties)]
struct Address {
    #[table(partition_key)]
    country: String,
    city: String,
    #[table(etag)]
    etag: Option<azure_table::ETag>,
    #[table(rename = "city")]
    town: String,
}

#[derive(PropertyGroup)]
struct Pair(i32, i32);

#[derive(PropertyGroup)]
enum Color {
    Red,
}

fn main() {}
