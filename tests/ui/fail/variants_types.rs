//! Entities that do not form an enum together.

use azure_table::TableEntity;

struct Opaque;

#[derive(TableEntity)]
struct Customer {
    #[table(partition_key)]
    shop: String,
    #[table(row_key)]
    id: String,
    kind: String,
}

#[derive(TableEntity)]
#[table(row_key = "order-{id}")]
struct Order {
    #[table(partition_key)]
    shop: u32,
    id: String,
}

#[derive(TableEntity)]
#[table(partition_key = "shop-{shop}", row_key = "visit-{id}")]
struct Visit {
    shop: String,
    id: String,
}

/// Not an entity.
#[derive(TableEntity)]
enum WithOpaque {
    #[table(row_key_prefix = "1")]
    Customer(Customer),
    #[table(row_key_prefix = "2")]
    Opaque(Opaque),
}

/// Other partitions.
#[derive(TableEntity)]
enum WithOrder {
    #[table(row_key_prefix = "customer-")]
    Customer(Customer),
    #[table(row_key_prefix = "order-")]
    Order(Order),
    #[table(row_key_prefix = "visit-")]
    Visit(Visit),
}

/// Every row has the form of a customer's keys.
#[derive(TableEntity)]
enum ByForm {
    Customer(Customer),
    Second(Customer),
}

/// The tag is a field.
#[derive(TableEntity)]
#[table(tag = "kind")]
enum ByTag {
    Customer(Customer),
    #[table(other)]
    Other(Customer),
}

fn main() {}
