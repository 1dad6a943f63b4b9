//! A single variant, written to the table of its enum.

use azure_table::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Customer {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    id: String,
}

#[derive(TableEntity)]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: u32,
}

#[derive(TableEntity)]
#[table(tag = "Kind")]
enum Row {
    Customer(Customer),
    Order(Order),
}

fn writes(rows: &TableClient<Row>, customer: &Customer, orders: Vec<Order>) {
    rows.insert(customer);
    rows.bulk().insert(orders);
}

fn main() {}
