//! A URL that reads the orders of one customer for an hour, given to a second process without any key, and revoked.
//!
//! Source: REST "Create a service SAS", which the storage team announced with version 2012-02-12; "Define a stored
//! access policy".
//!
//! `cargo run --example sas` runs on an emulator on a port of this process. With `AZURE_STORAGE_CONNECTION_STRING` it
//! runs on that account, which needs its key. There a policy takes up to 30 s to have an effect.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::io::Write;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use azure_table::auth::SasUrl;
use azure_table::service::StoredAccessPolicy;
use azure_table::{DateTime, TableClient, TableEntity, TablePermissions, TableSas, TableServiceClient};
use azure_table_examples::{CONNECTION_STRING, connect_on_port, finish, is_emulated, on_own_tables};

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(TableEntity)]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: u32,
    item: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    // The second process is this program again.
    match std::env::args().nth(1).as_deref() {
        Some("reader") => finish(read().await),
        _ => finish(run().await),
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, _server) = connect_on_port().await?;
    on_own_tables(&service, share).await
}

/// The owner: writes orders of two customers, and shares one customer's.
async fn share(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let orders = service.table::<Order>("Orders")?;
    orders.create_table().await?;
    for (customer, number, item) in [("ada", 1, "tea"), ("ada", 2, "cup"), ("ben", 1, "kettle")] {
        let (customer, item) = (customer.to_owned(), item.to_owned());
        orders.insert(&Order { customer, number, item }).await?;
    }

    let expiry = DateTime::now() + HOUR;
    // The URL names a policy of the table, so that the owner can revoke it. Only a new key revokes one without.
    let mut readers = StoredAccessPolicy::new("readers");
    readers.permissions = Some(TablePermissions::READ);
    readers.expiry = Some(expiry);
    orders.set_access_policies([readers]).await?;
    take_effect().await;
    let sas = TableSas::new(orders.name())
        .policy("readers")
        .first("ada", "")
        .last("ada", "");
    let sas = if service.endpoint().starts_with("https") {
        sas.https_only()
    } else {
        sas
    };
    let url = orders.sas_url(&sas)?;
    println!("owner      shares the orders of ada until {expiry}, to be read");

    let same = url.clone();
    let status = tokio::task::spawn_blocking(move || start_reader(&same)).await??;
    println!("owner      the reader ended with {status}");

    orders.set_access_policies([]).await?;
    take_effect().await;
    println!("owner      removes the policy, which revokes the URL");
    tokio::task::spawn_blocking(move || start_reader(&url)).await??;
    Ok(())
}

async fn take_effect() {
    if !is_emulated() {
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
}

/// Starts the second process with the URL on its standard input: all users of a machine see the arguments of a process.
fn start_reader(url: &SasUrl) -> std::io::Result<ExitStatus> {
    let mut reader = Command::new(std::env::current_exe()?)
        .arg("reader")
        .env_remove(CONNECTION_STRING)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = reader.stdin.take() {
        input.write_all(url.expose().as_bytes())?;
    }
    reader.wait()
}

/// The second process: all that it has is the URL.
async fn read() -> Result<(), Box<dyn Error>> {
    let url = std::io::read_to_string(std::io::stdin())?;
    let orders = TableClient::<Order>::from_sas_url(&url)?;
    match orders.query().partition("ada").all().await {
        Err(error) if error.status() == Some(403) => println!("reader     {error}"),
        found => use_all(&orders, found?).await?,
    }
    Ok(())
}

async fn use_all(orders: &TableClient<Order>, of_ada: Vec<Order>) -> Result<(), Box<dyn Error>> {
    for order in of_ada {
        println!(
            "reader     order {} of {}: {}",
            order.number, order.customer, order.item
        );
    }

    let all = orders.query().allow_table_scan().all().await?;
    println!("reader     a query of the whole table finds {} orders", all.len());
    let others = orders.get(("ben", 1)).await.map(|order| order.is_some());
    println!("reader     the order of ben exists: {}", outcome(others));
    let deleted = orders.delete(("ada", 1)).await;
    println!("reader     delete: {}", outcome(deleted));
    Ok(())
}

fn outcome<T: std::fmt::Debug>(result: azure_table::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}
