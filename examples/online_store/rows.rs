//! The kinds of rows in the table. Their PartitionKey is the customer, so one transaction can write every kind.

use std::collections::BTreeSet;

use azure_table::{DateTime, Descending, Guid, TableEntity};

#[derive(TableEntity, Debug)]
#[table(partition_key = "{id}", row_key = "customer")]
pub(crate) struct Customer {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The number of orders: written with each order in one transaction.
    pub(crate) orders: u32,
    #[table(write_id)]
    pub(crate) last_write: Option<Guid>,
}

#[derive(TableEntity)]
#[table(partition_key = "{customer}", row_key = "address_{kind}")]
pub(crate) struct Address {
    pub(crate) customer: String,
    pub(crate) kind: String,
    pub(crate) city: String,
}

#[derive(TableEntity)]
#[table(partition_key = "{customer}", row_key = "order_{number:08}")]
pub(crate) struct Order {
    pub(crate) customer: String,
    pub(crate) number: u32,
    pub(crate) placed: DateTime,
    pub(crate) cents: i64,
}

/// Its key extends the order's key.
#[derive(TableEntity)]
#[table(partition_key = "{customer}", row_key = "order_{number:08}_{line:02}")]
pub(crate) struct OrderLine {
    pub(crate) customer: String,
    pub(crate) number: u32,
    pub(crate) line: u8,
    pub(crate) item: String,
    pub(crate) cents: i64,
}

/// The second copy of an order, under its time: the latest order comes first, and no second read is needed.
#[derive(TableEntity)]
#[table(partition_key = "{customer}", row_key = "latest_{placed}_{number:08}")]
pub(crate) struct LatestOrder {
    pub(crate) customer: String,
    pub(crate) placed: Descending<DateTime>,
    pub(crate) number: u32,
    pub(crate) cents: i64,
}

/// The slim index row: which orders have an item. It holds no more than the key of the order.
#[derive(TableEntity)]
#[table(partition_key = "{customer}", row_key = "item_{item}_{number:08}")]
pub(crate) struct ItemIndex {
    pub(crate) customer: String,
    pub(crate) item: String,
    pub(crate) number: u32,
}

#[derive(TableEntity)]
#[table(tag = "Kind")]
pub(crate) enum StoreRow {
    Customer(Customer),
    Address(Address),
    Order(Order),
    Line(OrderLine),
    Latest(LatestOrder),
    Item(ItemIndex),
}

/// The maximum number of lines of an order: each may need an index row too, and one transaction has 100 rows. The
/// others are the customer, the order and its second copy.
pub(crate) const MAX_LINES: usize = (100 - 3) / 2;

/// Creates all rows of an order: itself and its lines, its second copy, and an index row for each different item.
pub(crate) fn order(customer: &str, number: u32, placed: DateTime, items: &[(&str, i64)]) -> Vec<StoreRow> {
    let customer = || customer.to_owned();
    let cents = items.iter().map(|(_, cents)| cents).sum();
    let mut rows = vec![
        StoreRow::Order(Order {
            customer: customer(),
            number,
            placed,
            cents,
        }),
        StoreRow::Latest(LatestOrder {
            customer: customer(),
            placed: placed.into(),
            number,
            cents,
        }),
    ];
    for (line, (item, cents)) in (1..).zip(items) {
        let (item, cents) = ((*item).to_owned(), *cents);
        rows.push(StoreRow::Line(OrderLine {
            customer: customer(),
            number,
            line,
            item,
            cents,
        }));
    }
    let different: BTreeSet<&str> = items.iter().map(|(item, _)| *item).collect();
    rows.extend(different.into_iter().map(|item| {
        StoreRow::Item(ItemIndex {
            customer: customer(),
            item: item.to_owned(),
            number,
        })
    }));
    rows
}
