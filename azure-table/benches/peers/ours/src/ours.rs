//! azure-table, on the transport that its features select.

use std::ops::Range;

use azure_table::{DateTime, Guid, TableClient, TableEntity, TableServiceClient};
use work::order::Plain;
use work::{ACCOUNT, BATCH, KEY, PAGE, Peer};

#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: String,
    product: String,
    #[table(default)]
    note: String,
    quantity: i32,
    discount: i32,
    cents: i64,
    #[table(default)]
    weight: i64,
    #[table(default)]
    rating: f64,
    paid: bool,
    #[table(default = unknown)]
    ordered: DateTime,
    id: Guid,
}

/// Returns the date of an order without one.
fn unknown() -> DateTime {
    DateTime::from_unix_millis(0)
}

impl From<Plain> for Order {
    fn from(order: Plain) -> Self {
        Self {
            customer: order.customer,
            number: order.number,
            product: order.product,
            note: order.note,
            quantity: order.quantity,
            discount: order.discount,
            cents: order.cents,
            weight: order.weight,
            rating: order.rating,
            paid: order.paid,
            ordered: order.ordered,
            id: order.id,
        }
    }
}

/// The client.
pub struct Ours {
    table: TableClient<Order>,
    sparse: TableClient<Order>,
    orders: Vec<Order>,
}

impl Ours {
    pub fn new(endpoint: &str, orders: Vec<Plain>) -> Self {
        let settings = format!("AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint}");
        let service = TableServiceClient::from_connection_string(&settings).expect("a connection string");
        Self {
            table: service.table("Things").expect("a name of a table"),
            sparse: service.table("Sparse").expect("a name of a table"),
            orders: orders.into_iter().map(Order::from).collect(),
        }
    }
}

async fn pages_of(table: &TableClient<Order>, rows: usize) {
    let mut pages = table.query().allow_table_scan().pages();
    for _ in 0..rows / PAGE {
        let page = pages.try_next().await.expect("a response").expect("a page");
        for order in page.into_items() {
            assert_eq!(order.discount, 5);
        }
    }
}

impl Peer for Ours {
    async fn get(&self, n: usize) {
        let Order { customer, number, .. } = &self.orders[n];
        let order = self.table.get((customer, number)).await.expect("a response");
        assert_eq!(order.expect("a row").discount, 5);
    }

    async fn insert(&self, n: usize) {
        self.table.insert(&self.orders[n]).await.expect("a response");
    }

    async fn merge(&self, n: usize) {
        self.table.merge(&self.orders[n]).await.expect("a response");
    }

    async fn pages(&self, rows: usize) {
        pages_of(&self.table, rows).await;
    }

    async fn sparse_pages(&self, rows: usize) -> bool {
        pages_of(&self.sparse, rows).await;
        true
    }

    async fn rows(&self, rows: usize) {
        let mut rows = self.table.query().allow_table_scan().limit(rows).stream();
        while let Some(order) = rows.try_next().await.expect("a response") {
            assert_eq!(order.discount, 5);
        }
    }

    async fn batch(&self, orders: Range<usize>) {
        let mut batch = self.table.batch();
        for order in &self.orders[orders] {
            batch.insert(order).expect("an order");
        }
        assert_eq!(batch.submit().await.expect("a response").len(), BATCH);
    }

    async fn bulk(&self, orders: usize) -> bool {
        let report = self.table.bulk().concurrency(8).insert(&self.orders[..orders]).await;
        assert_eq!(report.expect("a response").applied() as usize, orders);
        true
    }
}
