//! The options of a client, a table and a call are merged in bulks, writers and writes by query.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{CallOptions, Emulator, TableClient, TableEntity, TableServiceClient};
use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Thing {
    #[table(partition_key)]
    shelf: String,
    #[table(row_key)]
    id: u32,
    #[table(alias = "number")]
    count: i32,
}

fn things() -> impl Iterator<Item = Thing> {
    (0..3).map(|id| Thing {
        shelf: "a".into(),
        id,
        count: 1,
    })
}

/// Records all values of the header `x-tenant` of each request.
#[derive(Clone, Debug)]
struct Tenants {
    behind: Emulator,
    seen: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Transport for Tenants {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let values = request.headers().get_all("x-tenant").iter();
        let values = values.map(|value| value.to_str().unwrap().to_owned());
        self.seen.lock().unwrap().push(values.collect());
        self.behind.send(request)
    }
}

impl Tenants {
    /// Returns the header of all requests since the last call. Each request has it once.
    #[track_caller]
    fn only(&self) -> String {
        let mut seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.dedup();
        assert_eq!((seen.len(), seen[0].len()), (1, 1), "{seen:?}");
        seen.remove(0).remove(0)
    }
}

async fn fixture() -> (Tenants, TableServiceClient) {
    let tenants = Tenants {
        behind: Emulator::new(),
        seen: Arc::default(),
    };
    let service =
        TableServiceClient::from_transport(tenants.clone()).with(&CallOptions::new().header("x-tenant", "client"));
    let table = service.table::<Thing>("Things").unwrap();
    table.create_table().await.unwrap();
    assert_eq!(tenants.only(), "client");
    (tenants, service)
}

/// Runs every operation that sends several requests.
async fn write_and_read(table: &TableClient<Thing>) {
    assert_eq!(table.bulk().insert_or_replace(things()).await.unwrap().applied(), 3);
    let one = table.bulk().batch_size(1).insert_or_replace(things());
    assert_eq!(one.await.unwrap().applied(), 3);
    let mut writer = table.writer();
    for thing in things() {
        writer.insert_or_replace(&thing).await.unwrap();
    }
    assert_eq!(writer.close().await.unwrap().applied(), 3);

    let query = || table.query().partition("a");
    let updated = table.update_where(query(), |thing| thing.count = 2).await.unwrap();
    assert_eq!(updated.applied(), 3);
    let patched = table
        .patch_where(Thing::COUNT.eq(2), [Thing::COUNT.set(3)])
        .await
        .unwrap();
    assert_eq!(patched.applied(), 3);
    assert_eq!(table.upgrade_where(table.query()).await.unwrap().unchanged(), 3);
    assert_eq!(query().count().await.unwrap(), 3);
    assert_eq!(query().fan_out().count().await.unwrap(), 3);
    assert_eq!(table.query().scan().ranges(["b"]).count().await.unwrap(), 3);
    let many: Vec<_> = table.get_many([("a", 0), ("a", 7)]).collect().await;
    assert!(many.iter().all(Result::is_ok));
    assert_eq!(table.delete_where(query()).await.unwrap().applied(), 3);
}

#[tokio::test]
async fn header_of_a_client_is_sent_once_by_bulks_and_writes_over_a_query() {
    let (tenants, service) = fixture().await;
    write_and_read(&service.table("Things").unwrap()).await;
    assert_eq!(tenants.only(), "client");
}

/// The options of a table or call do not remove the client's.
#[tokio::test]
async fn other_options_keep_the_header_of_the_client() {
    let (tenants, service) = fixture().await;
    let table = service.table::<Thing>("Things").unwrap();
    let slow = CallOptions::new().timeout(Duration::from_secs(90));
    write_and_read(&table.with(&slow)).await;
    let inserted = table.bulk().with(&slow).insert(things()).await.unwrap();
    let deleted = table.delete_where(table.query().with(&slow)).with(&slow).await.unwrap();
    assert_eq!((inserted.applied(), deleted.applied()), (3, 3));
    assert_eq!(tenants.only(), "client");
}
