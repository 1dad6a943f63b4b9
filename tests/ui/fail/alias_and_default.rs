//! Older names, and defaults of missing properties.

use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key, alias = "Channel")]
    channel: String,
    #[table(row_key, default)]
    slug: String,
    #[table(alias = "Text")]
    body: String,
    #[table(alias = "body")]
    text: String,
    #[table(alias = "Timestamp")]
    changed: i64,
    #[table(alias = "old name")]
    rating: i32,
    #[table(default = 5)]
    stars: i32,
}

#[derive(TableEntity)]
struct Post {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    #[table(default, ignore)]
    cached: i32,
}

fn main() {}
