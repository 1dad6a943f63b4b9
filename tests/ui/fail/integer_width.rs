//! Integers whose width is not one of the service's.

use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: usize,
    views: i64,
    likes: usize,
    delta: Option<isize>,
    hash: u128,
}

fn popular(readers: &[String]) {
    let _ = Blog::VIEWS.ge(readers.len());
}

fn main() {}
