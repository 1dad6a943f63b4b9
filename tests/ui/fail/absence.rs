//! Absence is not a value: it can be neither queried nor set.

use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    author: Option<String>,
}

fn main() {
    let _ = Blog::AUTHOR.eq(None);
    let _ = Blog::AUTHOR.set(None);
    let _ = Blog::AUTHOR.set(Some("Erik"));
    let _ = Blog::AUTHOR.is_null();
    let _ = Blog::AUTHOR.is_none();
}
