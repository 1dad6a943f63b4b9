//! A handle and a batch for a type that no variant holds, and for the type of the variant for all other rows.

use azure_table::{DynamicEntity, TableClient, TableEntity};

#[derive(TableEntity)]
struct Deposit {
    #[table(partition_key)]
    account: String,
    #[table(row_key)]
    at: u32,
}

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

fn handles(bookings: &TableClient<Booking>) {
    bookings.variant::<Deposit>();
    bookings.variant::<DynamicEntity>();
    bookings.variant::<Draft>();
    bookings.batch().variant::<Draft>();
}

fn main() {}
