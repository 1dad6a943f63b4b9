//! Handles to an enum's table that compile.

use azure_table::{DynamicEntity, TableClient, TableEntity};

#[derive(TableEntity)]
struct Deposit {
    #[table(partition_key)]
    account: String,
    #[table(row_key)]
    at: u32,
}

/// No variant, though its keys are the same.
#[derive(TableEntity)]
struct Draft {
    #[table(partition_key)]
    account: String,
    #[table(row_key)]
    at: u32,
}

#[derive(TableEntity)]
#[table(tag = "Kind")]
enum Booking {
    Deposit(Deposit),
    #[table(other)]
    Unknown(DynamicEntity),
}

fn main() {
    let key = azure_table::AccountKey::new("a", "AAAA").unwrap();
    let service = azure_table::TableServiceClient::new("https://a.table.core.windows.net", key).unwrap();
    let bookings: TableClient<Booking> = service.table("Bookings").unwrap();
    let _: TableClient<Deposit> = bookings.variant();
    let mut batch = bookings.batch();
    batch.variant::<Deposit>().delete(("a", 1)).unwrap();
    let _: TableClient<DynamicEntity> = bookings.typed();
    let _: TableClient<Booking> = bookings.typed();
    let _: TableClient<Draft> = bookings.typed();
    let _: TableClient<Deposit> = service.table("Bookings").unwrap();
}
