//! Patches without an assignment, and with another entity's columns.

use azure_table::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    rating: i32,
}

#[derive(TableEntity)]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: u32,
    total: i64,
}

fn patches(blogs: &TableClient<Blog>) {
    blogs.patch(("Channel9", 1), Blog::RATING.eq(5));
    blogs.patch(("Channel9", 1), [Order::TOTAL.set(5)]);
    blogs.patch(("Channel9", 1), (Blog::RATING.set(5), Blog::RATING.set(6)));
}

fn main() {}
