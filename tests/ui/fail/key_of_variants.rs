//! The keys of an enum of entities differ: there is no tuple for them.

use azure_table::{DynamicEntity, Result, TableClient, TableEntity};

#[derive(TableEntity)]
#[table(row_key = "customer-{id}")]
struct Customer {
    #[table(partition_key)]
    shop: String,
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(row_key = "order-{id}")]
struct Order {
    #[table(partition_key)]
    shop: String,
    id: u32,
    total: f64,
}

#[derive(TableEntity)]
enum Item {
    Customer(Customer),
    Order(Order),
    #[table(other)]
    Unknown(DynamicEntity),
}

async fn read(items: TableClient<Item>) -> Result<()> {
    items.get(("shop", 1)).await?;
    items
        .query()
        .filter(Item::CUSTOMER.field(Order::TOTAL).gt(1.0))
        .all()
        .await?;
    items.query().filter(Item::CUSTOMER.eq("Ada")).all().await?;
    items.query().filter(Customer::NAME.eq("Ada")).all().await?;
    items.query().filter(Item::UNKNOWN.only()).all().await?;
    Ok(())
}

fn main() {}
