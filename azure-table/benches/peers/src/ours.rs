//! This crate.

use std::ops::Range;
use std::rc::Rc;

use azure_table::transport::HyperTransport;
use azure_table::{TableClient, TableServiceClient};

use crate::order::{Order, order};
use crate::{ACCOUNT, BATCH, KEY, PAGE, Peer};

/// The client.
pub struct Ours {
    table: TableClient<Order>,
    orders: Rc<[Order]>,
}

impl Ours {
    /// Creates a client of the server at `address`, on the default transport.
    pub fn new(address: &str) -> Self {
        Self::with(service(address), (0..1_000 * BATCH).map(order).collect())
    }

    /// Creates the same on the transport without reqwest. Both write the same orders in memory.
    pub fn lean(&self, address: &str) -> Self {
        let transport = HyperTransport::builder().build().expect("no TLS is asked for");
        Self::with(service(address).transport(transport), Rc::clone(&self.orders))
    }

    fn with(service: TableServiceClient, orders: Rc<[Order]>) -> Self {
        Self {
            table: service.table("Things").expect("a name of a table"),
            orders,
        }
    }
}

fn service(address: &str) -> TableServiceClient {
    let endpoint = format!("http://{address}/{ACCOUNT}");
    let settings = format!("AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint}");
    TableServiceClient::from_connection_string(&settings).expect("a connection string")
}

impl Peer for Ours {
    async fn get(&self, n: usize) {
        let Order { customer, number, .. } = &self.orders[n];
        let order = self.table.get((customer, number)).await.expect("the server answers");
        assert_eq!(order.expect("it exists").discount, 5);
    }

    async fn insert(&self, n: usize) {
        self.table.insert(&self.orders[n]).await.expect("the server answers");
    }

    async fn merge(&self, n: usize) {
        self.table.merge(&self.orders[n]).await.expect("the server answers");
    }

    async fn pages(&self, rows: usize) {
        let mut pages = self.table.query().allow_table_scan().pages();
        for _ in 0..rows / PAGE {
            let page = pages.try_next().await.expect("the server answers").expect("a page");
            for order in page.into_items() {
                assert_eq!(order.discount, 5);
            }
        }
    }

    async fn rows(&self, rows: usize) {
        let mut rows = self.table.query().allow_table_scan().limit(rows).stream();
        while let Some(order) = rows.try_next().await.expect("the server answers") {
            assert_eq!(order.discount, 5);
        }
    }

    async fn batch(&self, orders: Range<usize>) {
        let mut batch = self.table.batch();
        for order in &self.orders[orders] {
            batch.insert(order).expect("an order");
        }
        assert_eq!(batch.submit().await.expect("the server answers").len(), BATCH);
    }

    async fn bulk(&self, orders: usize) -> bool {
        let report = self.table.bulk().concurrency(8).insert(&self.orders[..orders]).await;
        assert_eq!(report.expect("the server answers").applied() as usize, orders);
        true
    }
}
