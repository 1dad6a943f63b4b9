//! Operators between a column and a value, where a method makes the condition.

use azure_table::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    rating: i32,
    text: String,
}

fn queries(blogs: &TableClient<Blog>) {
    let good = Blog::RATING >= 3;
    let hello = Blog::TEXT == "Hello";
    blogs.query().filter(Blog::RATING < 3);
}

// By a reference to a column, too, the methods make conditions.
fn all(columns: &[azure_table::Column<Blog, i32>]) -> Vec<azure_table::Filter<Blog>> {
    columns.iter().map(|column| column.ge(3) & column.eq(3)).collect()
}

fn main() {}
