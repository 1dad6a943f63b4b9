//! The entities that are written and read.

use azure_table::{DateTime, DynamicEntity, Guid, TableEntity};

/// The rows of a partition.
pub(crate) const PARTITION: usize = 100;

/// An entity of ten properties.
#[derive(TableEntity, Clone, Debug)]
#[table(rename_all = "PascalCase")]
pub(crate) struct Order {
    #[table(partition_key)]
    pub(crate) customer: String,
    #[table(row_key)]
    pub(crate) number: String,
    pub(crate) product: String,
    pub(crate) note: String,
    pub(crate) quantity: i32,
    pub(crate) discount: i32,
    pub(crate) cents: i64,
    pub(crate) weight: i64,
    pub(crate) rating: f64,
    pub(crate) paid: bool,
    pub(crate) ordered: DateTime,
    pub(crate) id: Guid,
}

/// Returns an order; a partition has [`PARTITION`] of them.
pub(crate) fn order(n: usize) -> Order {
    order_in(n / PARTITION, n)
}

/// Returns an order of a partition.
pub(crate) fn order_in(partition: usize, n: usize) -> Order {
    Order {
        customer: format!("customer-{partition:07}"),
        number: format!("{n:010}"),
        product: "Product number 123456".to_owned(),
        note: "Leave it at the door, please".to_owned(),
        quantity: 7,
        discount: 5,
        cents: 1_234_567_890_123,
        weight: -123_456,
        rating: 0.123_456_789,
        paid: n.is_multiple_of(2),
        ordered: DateTime::from_unix_millis(1_700_000_000_123 + n as i64),
        id: Guid([n as u8; 16]),
    }
}

/// Returns an entity with this many strings of `length` ASCII characters.
pub(crate) fn wide(properties: usize, length: usize) -> DynamicEntity {
    wide_of(properties, &"x".repeat(length))
}

/// Returns an entity that has the same text several times.
pub(crate) fn wide_of(properties: usize, text: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new("partition", "0000000000");
    for n in 0..properties {
        row.insert(format!("Property{n:03}"), text);
    }
    row
}
