//! `azure_data_tables` 0.21, the last version of the older client for Rust.

use std::ops::Range;
use std::sync::Arc;

use azure_core::{RetryOptions, TransportOptions};
use azure_data_tables::IfMatchCondition;
use azure_data_tables::clients::{TableClient, TableServiceClientBuilder};
use azure_storage::{CloudLocation, StorageCredentials};
use futures::StreamExt as _;

use crate::order::{Plain, plain};
use crate::{ACCOUNT, BATCH, KEY, PAGE, Peer};

/// The client.
pub struct Older {
    table: TableClient,
    orders: Vec<Plain>,
}

impl Older {
    /// Creates a client of the server at `address`. By default each of its requests opens a connection; with
    /// `is_pooled` it has a pool.
    pub fn new(address: &str, is_pooled: bool) -> Self {
        let location = CloudLocation::Custom {
            account: ACCOUNT.to_owned(),
            uri: format!("http://{address}/{ACCOUNT}/"),
        };
        let credentials = StorageCredentials::access_key(ACCOUNT, KEY);
        let mut builder = TableServiceClientBuilder::with_location(location, credentials).retry(RetryOptions::none());
        if is_pooled {
            let client: Arc<dyn azure_core::HttpClient> = Arc::new(reqwest_012::Client::new());
            builder = builder.transport(TransportOptions::new(client));
        }
        Self {
            table: builder.build().table_client("Things"),
            orders: (0..200 * BATCH).map(plain).collect(),
        }
    }
}

impl Peer for Older {
    async fn get(&self, n: usize) {
        let order = &self.orders[n];
        let partition = self.table.partition_key_client(&order.customer);
        let response = partition.entity_client(&order.number).get::<Plain>().await;
        assert_eq!(response.expect("the server answers").entity.discount, 5);
    }

    async fn insert(&self, n: usize) {
        let insert = self.table.insert::<_, Plain>(&self.orders[n]).expect("an order");
        insert.await.expect("the server answers");
    }

    async fn merge(&self, n: usize) {
        let order = &self.orders[n];
        let partition = self.table.partition_key_client(&order.customer);
        let entity = partition.entity_client(&order.number);
        let merge = entity.merge(order, IfMatchCondition::Any).expect("an order");
        merge.await.expect("the server answers");
    }

    async fn pages(&self, rows: usize) {
        let mut pages = self.table.query().into_stream::<Plain>();
        for _ in 0..rows / PAGE {
            let page = pages.next().await.expect("a page").expect("the server answers");
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
        batch.into_future().await.expect("the server answers");
    }

    async fn bulk(&self, _: usize) -> bool {
        false
    }
}
