//! The options of a client, a table and a call are merged in bulks, writers and writes by query.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::{CallOptions, Emulator, TableClient, TableServiceClient};
use azure_table_tests::entities::Numbered;
use azure_table_tests::intercept::Intercept;
use futures::StreamExt;

fn things() -> impl Iterator<Item = Numbered> {
    (0..3).map(|number| Numbered::new("a", number, 1))
}

/// All values of the header `x-tenant` of each request.
type Seen = Arc<Mutex<Vec<Vec<String>>>>;

/// Returns the header of all requests since the last call. Each request has it once.
#[track_caller]
fn only(seen: &Seen) -> String {
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.dedup();
    assert_eq!((seen.len(), seen[0].len()), (1, 1), "{seen:?}");
    seen.remove(0).remove(0)
}

async fn fixture() -> (Seen, TableServiceClient) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let transport = Intercept::new(Emulator::new(), move |behind, request| {
        let values = request.headers().get_all("x-tenant").iter();
        let values = values.map(|value| value.to_str().unwrap().to_owned());
        log.lock().unwrap().push(values.collect());
        async move { behind.send(request).await }
    });
    let service = TableServiceClient::from_transport(transport);
    let service = service.with(&CallOptions::new().header("x-tenant", "client"));
    let table = service.table::<Numbered>("Things").unwrap();
    table.create_table().await.unwrap();
    assert_eq!(only(&seen), "client");
    (seen, service)
}

/// Runs every operation that sends several requests.
async fn write_and_read(table: &TableClient<Numbered>) {
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
    let patch = table.patch_where(Numbered::COUNT.eq(2), [Numbered::COUNT.set(3)]);
    assert_eq!(patch.await.unwrap().applied(), 3);
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
    assert_eq!(only(&tenants), "client");
}

/// The options of a table or call do not remove the client's.
#[tokio::test]
async fn other_options_keep_the_header_of_the_client() {
    let (tenants, service) = fixture().await;
    let table = service.table::<Numbered>("Things").unwrap();
    let slow = CallOptions::new().timeout(Duration::from_secs(90));
    write_and_read(&table.with(&slow)).await;
    let inserted = table.bulk().with(&slow).insert(things()).await.unwrap();
    let deleted = table.delete_where(table.query().with(&slow)).with(&slow).await.unwrap();
    assert_eq!((inserted.applied(), deleted.applied()), (3, 3));
    assert_eq!(only(&tenants), "client");
}
