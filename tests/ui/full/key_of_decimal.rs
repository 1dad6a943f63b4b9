//! A price as a key: its text would not sort as it does.

use azure_table::TableEntity;
use rust_decimal::Decimal;

#[derive(TableEntity)]
struct Offer {
    #[table(partition_key)]
    article: String,
    #[table(row_key)]
    price: Decimal,
}

fn main() {}
