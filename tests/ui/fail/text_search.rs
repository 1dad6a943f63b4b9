//! Searches inside of a text, which the service does not offer.

use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    text: String,
    author: Option<String>,
}

fn main() {
    let _ = Blog::TEXT.contains("Rust");
    let _ = Blog::AUTHOR.ends_with("son");
}
