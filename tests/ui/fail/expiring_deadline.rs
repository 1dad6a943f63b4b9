//! A deadline that is not stored as a date, in milliseconds.

use azure_table::{Emulator, TableEntity, TableServiceClient};
use azure_table_patterns::Expiring;

#[derive(TableEntity)]
struct Session {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: u32,
    expires: i64,
}

fn main() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let sessions = service.table::<Session>("Sessions").unwrap();
    let _ = Expiring::new(&sessions, Session::EXPIRES);
}
