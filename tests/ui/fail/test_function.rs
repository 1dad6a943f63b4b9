//! Functions that `#[azure_table::test]` does not accept.

use azure_table::{DynamicEntity, TableClient, TableServiceClient};

#[azure_table::test]
fn not_async(service: TableServiceClient) {
    let _ = service;
}

#[azure_table::test]
async fn with_types<E>(table: TableClient<E>) {
    let _ = table;
}

#[azure_table::test]
async fn short_name(t: TableClient) {
    let _ = t;
}

#[azure_table::test]
async fn reserved_name(tables: TableClient<DynamicEntity>) {
    let _ = tables;
}

#[azure_table::test]
async fn no_name((service, _): (TableServiceClient, u8)) {
    let _ = service;
}

#[azure_table::test]
#[tokio::test]
async fn twice(_: TableServiceClient) {}

#[tokio::test]
#[azure_table::test]
async fn twice_the_other_way_round() {}

#[azure_table::test]
async fn without_a_name(_: TableClient<DynamicEntity>) {}

#[azure_table::test]
struct NoFunction;

struct Methods;

impl Methods {
    #[azure_table::test]
    async fn method(&self) {}
}

fn main() {}
