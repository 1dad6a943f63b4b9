//! Slots for types that are not variants of the enum.

use azure_table::{Result, TableClient, TableEntity, Versioned};
use azure_table::query::Families;

#[derive(TableEntity)]
#[table(row_key = "customer")]
struct Customer {
    #[table(partition_key)]
    shop: String,
    name: String,
}

#[derive(TableEntity)]
#[table(row_key = "{id}")]
struct Order {
    #[table(partition_key)]
    shop: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(row_key = "{id}")]
struct Invoice {
    #[table(partition_key)]
    shop: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(tag = "Kind")]
enum Item {
    Customer(Customer),
    Order(Order),
    #[table(rename = "old")]
    OldOrder(Order),
}

async fn read(items: TableClient<Item>, customers: TableClient<Customer>) -> Result<()> {
    let invoices: Vec<Invoice> = items.query().gather().await?;
    let (customer, orders): (Option<Customer>, Vec<Order>) = items.query().gather().await?;
    let customer: Option<Customer> = items.query().versioned().gather().await?;
    let families: Families<Customer, Versioned<Order>> = items.query().gather().await?;
    let customer: (Customer, Option<Customer>) = items.query().gather().await?;
    let customers: Vec<Customer> = customers.query().gather().await?;
    Ok(())
}

fn main() {}
