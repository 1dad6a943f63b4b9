//! The client of a partition takes the fields of the RowKey, in their types.

use azure_table::{Result, TableClient, TableEntity};

#[derive(TableEntity)]
#[table(row_key = "{customer}-{order}")]
struct Order {
    #[table(partition_key)]
    city: String,
    customer: String,
    order: u32,
}

async fn read(orders: TableClient<Order>) -> Result<()> {
    let seattle = orders.partition("Seattle")?;
    seattle.get(("Ada", 7)).await?;
    seattle.get(("Seattle", "Ada", 7)).await?;
    seattle.exists("Ada").await?;
    Ok(())
}

fn main() {}
