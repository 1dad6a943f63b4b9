//! `azure_data_tables` 0.21, the last version of the older client for Rust.
//!
//! By default each of its requests opens a connection. With a third argument, `pooled`, it has a pool.

use std::ops::Range;
use std::sync::Arc;

use azure_core::{HttpClient, RetryOptions, TransportOptions};
use azure_data_tables::IfMatchCondition;
use azure_data_tables::clients::{TableClient, TableServiceClientBuilder};
use azure_storage::{CloudLocation, StorageCredentials};
use futures_util::StreamExt as _;
use work::order::Plain;
use work::{ACCOUNT, KEY, PAGE, Peer};

struct Older {
    table: TableClient,
    orders: Vec<Plain>,
}

impl Older {
    fn new(endpoint: &str, orders: Vec<Plain>) -> Self {
        let location = CloudLocation::Custom {
            account: ACCOUNT.to_owned(),
            uri: format!("{endpoint}/"),
        };
        let credentials = StorageCredentials::access_key(ACCOUNT, KEY);
        let mut builder = TableServiceClientBuilder::with_location(location, credentials).retry(RetryOptions::none());
        if std::env::args().nth(3).is_some_and(|argument| argument == "pooled") {
            let client: Arc<dyn HttpClient> = Arc::new(reqwest::Client::new());
            builder = builder.transport(TransportOptions::new(client));
        }
        Self {
            table: builder.build().table_client("Things"),
            orders,
        }
    }
}

impl Peer for Older {
    async fn get(&self, n: usize) {
        let order = &self.orders[n];
        let partition = self.table.partition_key_client(&order.customer);
        let response = partition.entity_client(&order.number).get::<Plain>().await;
        assert_eq!(response.expect("a response").entity.discount, 5);
    }

    async fn insert(&self, n: usize) {
        let insert = self.table.insert::<_, Plain>(&self.orders[n]).expect("an order");
        insert.await.expect("a response");
    }

    async fn merge(&self, n: usize) {
        let order = &self.orders[n];
        let partition = self.table.partition_key_client(&order.customer);
        let entity = partition.entity_client(&order.number);
        let merge = entity.merge(order, IfMatchCondition::Any).expect("an order");
        merge.await.expect("a response");
    }

    async fn pages(&self, rows: usize) {
        let mut pages = self.table.query().into_stream::<Plain>();
        for _ in 0..rows / PAGE {
            let page = pages.next().await.expect("a page").expect("a response");
            for order in page.entities {
                assert_eq!(order.discount, 5);
            }
        }
    }

    async fn rows(&self, rows: usize) {
        self.pages(rows).await;
    }

    async fn batch(&self, orders: Range<usize>) {
        let orders = &self.orders[orders];
        let mut batch = self.table.partition_key_client(&orders[0].customer).transaction();
        for order in orders {
            batch = batch.insert(order).expect("an order");
        }
        batch.into_future().await.expect("a response");
    }

    async fn bulk(&self, _: usize) -> bool {
        false
    }
}

fn main() {
    work::run(Older::new);
}
