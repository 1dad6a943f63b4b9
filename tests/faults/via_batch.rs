//! Lost responses to single operations in batches, because their URLs are rejected: the read-back uses a batch, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use azure_table::telemetry::OperationContext;
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use azure_table::{CallOptions, DynamicEntity, Emulator, ErrorKind, TableClient, TableServiceClient};
use azure_table_tests::errors::kind_in_doubt;
use bytes::Bytes;
use http::{Request, Response};

/// The longest URL that is accepted in front of the service.
const MAX_CHARACTERS: usize = 300;

/// Rejects long URLs as HTTP.sys does, and loses one response to a change on demand.
#[derive(Clone, Debug)]
struct Narrow {
    emulator: Emulator,
    loses: Arc<AtomicBool>,
}

impl Transport for Narrow {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            if request.uri().to_string().len() > MAX_CHARACTERS {
                let html = "<HTML><BODY><h2>Bad Request - Invalid URL</h2></BODY></HTML>";
                let rejection = Response::builder()
                    .status(400)
                    .body(Bytes::from_static(html.as_bytes()));
                return Ok(rejection.unwrap());
            }
            let is_change = String::from_utf8_lossy(request.body()).contains("changeset_");
            let response = self.emulator.send(request).await?;
            if is_change && self.loses.swap(false, Ordering::Relaxed) {
                return Err(TransportError::new(Delivery::MaybeSent, "lost"));
            }
            Ok(response)
        })
    }
}

struct Setup {
    table: TableClient,
    /// The next change is applied, and its response is lost.
    loses: Arc<AtomicBool>,
    entity: DynamicEntity,
}

async fn setup() -> Setup {
    let loses = Arc::new(AtomicBool::new(false));
    let service = TableServiceClient::from_transport(Narrow {
        emulator: Emulator::new(),
        loses: Arc::clone(&loses),
    });
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let mut entity = DynamicEntity::new("漢".repeat(200), "100%".repeat(100));
    entity.insert("Text", "one's own");
    Setup { table, loses, entity }
}

#[tokio::test(start_paused = true)]
async fn lost_write_through_a_batch_is_read_back_through_a_batch() {
    let Setup {
        table,
        loses,
        mut entity,
    } = setup().await;
    let rejected = table.merge(&entity).await.unwrap_err();
    assert!(rejected.to_string().contains("CallOptions::via_batch"), "{rejected}");

    let table = table.with(&CallOptions::new().via_batch());
    loses.store(true, Ordering::Relaxed);
    let context = OperationContext::new();
    let stored = table
        .insert_returning(&entity)
        .with(&CallOptions::new().context(&context))
        .await
        .unwrap();
    assert_eq!(stored.properties, entity.properties);
    let read = table.get(&entity).versioned().await.unwrap().unwrap();
    assert_eq!((&read.etag, read.timestamp), (&stored.etag, stored.timestamp));
    let reported: Vec<_> = context
        .attempts()
        .iter()
        .map(|attempt| attempt.operation().to_owned())
        .collect();
    assert_eq!(reported, ["insert", "get"]);

    entity.insert("Text", "changed");
    loses.store(true, Ordering::Relaxed);
    let etag = table.merge(&entity).await.unwrap();
    let read = table.get(&entity).versioned().await.unwrap().unwrap();
    assert_eq!((&read.etag, read.get("Text")), (&etag, Some(&"changed".into())));
    // The client reads back a batch of this one row in the same way.
    loses.store(true, Ordering::Relaxed);
    let mut batch = table.batch();
    batch.replace(&entity).unwrap();
    let results = batch.submit().with(&CallOptions::new().via_batch()).await.unwrap();
    assert_eq!(
        results[0].etag(),
        Some(&table.get(&entity).versioned().await.unwrap().unwrap().etag)
    );

    // A missing row does not show who deleted it.
    loses.store(true, Ordering::Relaxed);
    let error = table.delete(&entity).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::NotFound), "{error}");
    assert_eq!(table.get(&entity).await.unwrap(), None);
}

/// The entity is returned, and the read-back is not visible.
#[tokio::test(start_paused = true)]
async fn lost_echo_of_a_batch_is_read_back() {
    let Setup { table, loses, .. } = setup().await;
    let row = |key: &str| {
        let mut entity = DynamicEntity::new("p", key);
        entity.insert("Number", 1_i64 << 40);
        entity
    };
    let mut batch = table.batch();
    batch.insert(&row("1")).unwrap().insert_returning(&row("2")).unwrap();
    loses.store(true, Ordering::Relaxed);
    let results = batch.submit().await.unwrap();
    assert_eq!((results[0].status(), results[1].status()), (204, 201));
    assert_eq!(results[0].entity::<DynamicEntity>().unwrap(), None);
    let echoed = results[1].entity::<DynamicEntity>().unwrap().unwrap();
    assert_eq!(echoed, table.get(("p", "2")).await.unwrap().unwrap());
}
