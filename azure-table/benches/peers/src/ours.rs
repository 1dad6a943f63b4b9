//! This crate.

use azure_table::transport::HyperTransport;
use azure_table::{TableClient, TableServiceClient};
use futures::stream::{self, StreamExt as _};

use crate::order::{Order, order};
use crate::{ACCOUNT, BATCH, IN_FLIGHT, KEY, Operation, PAGE, Peer};

/// The client.
pub struct Ours {
    table: TableClient<Order>,
    orders: Vec<Order>,
}

impl Ours {
    /// Creates a client of the server at `address`, on the default transport.
    pub fn new(address: &str) -> Self {
        Self::with(service(address))
    }

    /// Creates the same on the transport without reqwest.
    pub fn lean(address: &str) -> Self {
        let transport = HyperTransport::builder().build().expect("no TLS is asked for");
        Self::with(service(address).transport(transport))
    }

    fn with(service: TableServiceClient) -> Self {
        Self {
            table: service.table("Things").expect("a name of a table"),
            orders: (0..1_000 * BATCH).map(order).collect(),
        }
    }

    async fn get(&self, n: usize) {
        let Order { customer, number, .. } = &self.orders[n];
        let order = self.table.get((customer, number)).await.expect("the server answers");
        assert_eq!(order.expect("it exists").discount, 5);
    }
}

fn service(address: &str) -> TableServiceClient {
    let endpoint = format!("http://{address}/{ACCOUNT}");
    let settings = format!("AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint}");
    TableServiceClient::from_connection_string(&settings).expect("a connection string")
}

impl Peer for Ours {
    async fn run(&self, operation: Operation, units: usize) -> bool {
        match operation {
            Operation::Get => {
                for n in 0..units {
                    self.get(n).await;
                }
            }
            Operation::GetInFlight => {
                let gets = stream::iter(0..units).map(|n| self.get(n));
                gets.buffer_unordered(IN_FLIGHT).collect::<()>().await;
            }
            Operation::Insert => {
                for order in &self.orders[..units] {
                    self.table.insert(order).await.expect("the server answers");
                }
            }
            Operation::Merge => {
                for order in &self.orders[..units] {
                    self.table.merge(order).await.expect("the server answers");
                }
            }
            Operation::Page => {
                let mut pages = self.table.query().allow_table_scan().pages();
                for _ in 0..units / PAGE {
                    let page = pages.try_next().await.expect("the server answers").expect("a page");
                    for order in page.into_items() {
                        assert_eq!(order.discount, 5);
                    }
                }
            }
            Operation::Row => {
                let mut rows = self.table.query().allow_table_scan().limit(units).stream();
                while let Some(order) = rows.try_next().await.expect("the server answers") {
                    assert_eq!(order.discount, 5);
                }
            }
            Operation::Batch => {
                for orders in self.orders[..units].chunks(BATCH) {
                    let mut batch = self.table.batch();
                    for order in orders {
                        batch.insert(order).expect("an order");
                    }
                    assert_eq!(batch.submit().await.expect("the server answers").len(), BATCH);
                }
            }
            Operation::Bulk => {
                let report = self.table.bulk().concurrency(8).insert(&self.orders[..units]).await;
                assert_eq!(report.expect("the server answers").applied() as usize, units);
            }
        }
        true
    }
}
