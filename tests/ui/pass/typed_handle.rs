//! Handles with other entity types to an enum's table that compile.

use azure_table::{DynamicEntity, TableClient, TableEntity};

#[derive(TableEntity)]
struct Deposit {
    #[table(partition_key)]
    account: String,
    #[table(row_key)]
    at: u32,
    cents: i64,
}

/// No variant, though its keys are the same.
#[derive(TableEntity)]
struct Draft {
    #[table(partition_key)]
    account: String,
    #[table(row_key)]
    at: u32,
}

/// No variant, though its name and its keys are those of one: its properties have other types.
mod elsewhere {
    use azure_table::TableEntity;

    #[derive(TableEntity)]
    pub(super) struct Deposit {
        #[table(partition_key)]
        account: String,
        #[table(row_key)]
        at: u32,
        cents: f64,
    }
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
    let _: TableClient<DynamicEntity> = bookings.typed();
    let _: TableClient<Booking> = bookings.typed();
    let _: TableClient<Draft> = bookings.typed();
    let _: TableClient<elsewhere::Deposit> = bookings.typed();
    let _: TableClient<Deposit> = service.table("Bookings").unwrap();
}
