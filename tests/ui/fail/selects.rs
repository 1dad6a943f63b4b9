//! Rows are selected by a filter or a query of the table's own entity.

use azure_table::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    rating: i32,
}

#[derive(TableEntity)]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    id: u32,
    rating: i32,
}

fn check(blogs: &TableClient<Blog>, orders: &TableClient<Order>) {
    let _ = blogs.delete_where("rating lt 2");
    let _ = blogs.delete_where(Order::RATING.lt(2));
    let _ = blogs.patch_where(orders.query(), [Blog::RATING.set(2)]);
    let _ = blogs.update_where(blogs.query(), |blog| blog.rating < 2);
    let _ = blogs.update_where(blogs.query().versioned(), |_| ());
}

fn main() {}
