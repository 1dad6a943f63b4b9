//! A store in one table: customers, addresses, orders and their lines, with indexes and a count.
//!
//! Sources: "Windows Azure Storage Client for Java Tables Deep Dive" (2012) and its `OnlineStoreSample`; "How to get
//! the most out of Windows Azure Tables" (2010), entities stored twice, index rows and the count of rentals.
//!
//! `cargo run --example online_store` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod rows;

use std::error::Error;
use std::process::ExitCode;

use azure_table::query::Families;
use azure_table::{DateTime, Key, TableClient, TableOperation, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};
use azure_table_patterns::Fence;

use crate::rows::{Address, Customer, ItemIndex, LatestOrder, MAX_LINES, Order, OrderLine, StoreRow, order};

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let store = service.table::<StoreRow>("Store")?;
    store.create_table().await?;
    for kind in ["home", "office"] {
        let [customer, kind, city] = ["c7", kind, "Oslo"].map(String::from);
        store
            .insert(&StoreRow::Address(Address { customer, kind, city }))
            .await?;
    }
    let new = StoreRow::Customer(Customer {
        id: "c7".into(),
        name: "Ada".into(),
        orders: 0,
        last_write: None,
    });
    let mut customer = Fence::open(&store, &new).await?;
    place(&mut customer, "2026-11-02T09:00:00Z", &[("tea", 450), ("cup", 900)]).await?;
    place(&mut customer, "2026-11-09T18:30:00Z", &[("kettle", 3_900)]).await?;
    place(
        &mut customer,
        "2026-11-21T12:15:00Z",
        &[("tea", 450), ("honey", 700), ("spoon", 150), ("tea", 450)],
    )
    .await?;

    everything(&store).await?;
    indexes(&store, &service.table("Store")?).await
}

/// Places an order: its rows, both indexes and the count of the customer are one transaction.
async fn place(customer: &mut Fence<StoreRow>, time: &str, items: &[(&str, i64)]) -> Result<(), Box<dyn Error>> {
    if items.len() > MAX_LINES {
        return Err(format!(
            "an order of {} lines, at most {MAX_LINES} fit a transaction",
            items.len()
        )
        .into());
    }
    let placed: DateTime = time.parse()?;
    // Runs again, on the customer as stored, if another order was placed meanwhile.
    let written = customer.transact(|header| {
        let StoreRow::Customer(header) = header else {
            return Err(azure_table::Error::other("the header is no customer"));
        };
        header.orders += 1;
        let rows = order(&header.id, header.orders, placed, items);
        Ok(rows.iter().map(TableOperation::insert).collect())
    });
    Ok(written.await?)
}

/// The whole customer, sorted by kind, with the lines under their orders. Index rows are passed over.
async fn everything(store: &TableClient<StoreRow>) -> Result<(), Box<dyn Error>> {
    let query = store.query().partition("c7");
    let (customer, addresses, orders): (Option<Customer>, Vec<Address>, Families<Order, OrderLine>) =
        query.gather().await?;
    let customer = customer.ok_or("no such customer")?;
    let Customer {
        id,
        name,
        orders: count,
        ..
    } = customer;
    println!("\ncustomer   {id} {name}, {count} orders");
    for address in addresses {
        println!("address    {:<8} {}", address.kind, address.city);
    }
    for (order, lines) in orders.iter() {
        print_order(order.number, order.placed, order.cents);
        for line in lines {
            println!("             {:<6} {:<20}  {}", line.line, line.item, price(line.cents));
        }
    }
    Ok(())
}

/// Two more ways to the orders: by time from the second copies, by item from the slim index rows.
///
/// `orders` is the same table: it reads orders by their key, and would store them without their tag.
async fn indexes(store: &TableClient<StoreRow>, orders: &TableClient<Order>) -> Result<(), Box<dyn Error>> {
    let latest = Key::<LatestOrder>::prefix(("c7",))?.into_enum();
    let latest = store.query().key_prefix(latest);
    println!("\nlatest first, {:?}:", latest.plan()?.path());
    for order in latest.limit(2).gather::<Vec<LatestOrder>>().await? {
        print_order(order.number, order.placed.0, order.cents);
    }

    let with_tea = Key::<ItemIndex>::prefix(("c7", "tea"))?.into_enum();
    let with_tea = store.query().key_prefix(with_tea);
    println!("\norders with tea, {:?}, then one get each:", with_tea.plan()?.path());
    let keys = with_tea.gather::<Vec<ItemIndex>>().await?;
    let keys = keys.into_iter().map(|index| (index.customer, index.number));
    for (_, order) in orders.get_many(keys).all().await? {
        let order = order.ok_or("an index row without its order")?;
        print_order(order.number, order.placed, order.cents);
    }
    Ok(())
}

fn print_order(number: u32, placed: DateTime, cents: i64) {
    println!("order      {number:<8} {placed}  {}", price(cents));
}

fn price(cents: i64) -> String {
    format!("{:>3}.{:02}", cents / 100, cents % 100)
}
