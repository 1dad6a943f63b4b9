//! `json`, `with` and `chunked`, where attributes contradict.

use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key, json)]
    channel: String,
    #[table(row_key)]
    slug: String,
    #[table(json, with = "seconds")]
    time: std::time::Duration,
    #[table(with)]
    pause: std::time::Duration,
    #[table(ignore, chunked)]
    cached: String,
    #[table(chunked)]
    text: String,
    text_1: String,
    #[table(ignore, column = "TAGS")]
    tags: Vec<String>,
    #[table(timestamp, json)]
    changed: Option<azure_table::DateTime>,
}

fn main() {}
