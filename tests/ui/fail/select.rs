//! Columns that a query does not have.

use azure_table::{PropertyGroup, TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    #[table(flatten)]
    place: Place,
}

#[derive(PropertyGroup)]
struct Place {
    city: String,
}

#[derive(TableEntity)]
struct Order {
    #[table(partition_key)]
    shop: String,
    #[table(row_key)]
    id: u32,
    total: i64,
}

async fn read(blogs: TableClient<Blog>) -> azure_table::Result<()> {
    blogs.query().select((Blog::TEXT, Order::TOTAL)).all().await?;
    blogs.get(("c", 1)).select((Place::CITY,)).await?;
    blogs.query().select(Blog::TEXT).all().await?;
    Ok(())
}

fn main() {}
