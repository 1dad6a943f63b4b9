//! A variant of an enum, through `typed` of the enum's table.

use azure_table::{DynamicEntity, TableClient, TableEntity};

#[derive(TableEntity)]
struct Deposit {
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

fn deposits(bookings: &TableClient<Booking>) {
    bookings.typed::<Deposit>();
}

fn main() {
    let bookings = azure_table::TableServiceClient::new("", azure_table::AccountKey::new("", "").unwrap());
    deposits(&bookings.unwrap().table("Bookings").unwrap());
}
