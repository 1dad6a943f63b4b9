//! Enums of entities with contradicting attributes.

use azure_table::{DynamicEntity, TableEntity};

#[derive(TableEntity)]
struct Customer {
    #[table(partition_key)]
    shop: String,
    #[table(row_key)]
    id: String,
}

#[derive(TableEntity)]
enum Forms {
    Unit,
    Two(Customer, Customer),
    Named { customer: Customer },
}

#[derive(TableEntity)]
enum Prefixes {
    #[table(row_key_prefix = "1")]
    First(Customer),
    #[table(row_key_prefix = "10")]
    Second(Customer),
    Third(Customer),
    #[table(row_key_prefix = "a/b")]
    Fourth(Customer),
}

#[derive(TableEntity)]
#[table(tag = "Kind", row_key = "{id}")]
enum Tags {
    #[table(row_key_prefix = "1")]
    First(Customer),
    #[table(rename = "First")]
    Second(Customer),
    #[table(other, rename = "rest")]
    Third(DynamicEntity),
    #[table(other)]
    Fourth(DynamicEntity),
    #[table(etag)]
    Fifth(Customer),
}

#[derive(TableEntity)]
#[table(tag = "Timestamp")]
enum Reserved {
    Only(Customer),
}

#[derive(TableEntity)]
enum Renamed {
    #[table(rename = "only")]
    Only(Customer),
}

fn main() {}
