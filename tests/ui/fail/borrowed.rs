//! Borrowing types can be written but not read.

use azure_table::{PropertyGroup, Result, TableClient, TableEntity};

#[derive(PropertyGroup)]
struct Address<'a> {
    city: &'a str,
}

#[derive(TableEntity)]
struct Shop {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten)]
    home: Address<'static>,
    text: &'static str,
}

#[derive(TableEntity)]
struct Borrowed<'a> {
    #[table(partition_key)]
    country: &'a str,
    #[table(row_key)]
    id: u32,
}

async fn get(shops: TableClient<Borrowed<'static>>) -> Result<()> {
    shops.get(("DE", 1)).await?;
    Ok(())
}

fn main() {}
