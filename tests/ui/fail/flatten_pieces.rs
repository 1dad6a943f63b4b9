//! Names that come together as pieces of a chunked value, as older names, and with the tag of an enum.

use azure_table::{PropertyGroup, TableEntity};

#[derive(PropertyGroup)]
struct Body {
    #[table(chunked)]
    text: String,
    #[table(alias = "Was")]
    size: i64,
}

#[derive(TableEntity)]
struct Piece {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    #[table(rename = "text_1")]
    second: String,
    #[table(flatten)]
    body: Body,
}

#[derive(TableEntity)]
struct Older {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    #[table(rename = "Was")]
    kind: String,
    #[table(flatten)]
    body: Body,
}

#[derive(TableEntity)]
struct Tagged {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten)]
    body: Body,
}

#[derive(TableEntity)]
#[table(tag = "text_2")]
enum Entry {
    Tagged(Tagged),
}

fn main() {}
