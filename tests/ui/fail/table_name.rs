//! The name of a table is checked at compile time, and a type without a name has no `table_of`.

use azure_table::{Result, TableEntity, TableServiceClient};

#[derive(TableEntity)]
#[table(name = "my/blogs")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "my#")]
struct Short {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
}

#[derive(TableEntity)]
struct Unnamed {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
}

fn tables(service: &TableServiceClient) -> Result<()> {
    service.table_of::<Blog>()?;
    service.table_of::<Unnamed>()?;
    Ok(())
}

fn main() {}
