//! Lost responses to single operations in batches, because their URLs are rejected: the read-back uses a batch, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use azure_table::telemetry::OperationContext;
use azure_table::transport::{Delivery, TransportError};
use azure_table::{CallOptions, DynamicEntity, Emulator, ErrorKind, TableClient};
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use http::Response;

use super::{row_of, table_of};

/// The longest URL that is accepted in front of the service.
const MAX_CHARACTERS: usize = 300;

/// A table whose long URLs are rejected as HTTP.sys does, and which loses the response to the next change on demand.
async fn setup() -> (TableClient, Arc<AtomicBool>) {
    let loses = Arc::new(AtomicBool::new(false));
    let on_demand = Arc::clone(&loses);
    let table = table_of(Intercept::new(Emulator::new(), move |service, request| {
        let is_change = String::from_utf8_lossy(request.body()).contains("changeset_");
        let is_lost = is_change && on_demand.swap(false, Ordering::Relaxed);
        async move {
            if request.uri().to_string().len() > MAX_CHARACTERS {
                let html = "<HTML><BODY><h2>Bad Request - Invalid URL</h2></BODY></HTML>";
                let rejection = Response::builder().status(400).body(Bytes::from(html));
                return Ok(rejection.unwrap());
            }
            let response = service.send(request).await?;
            match is_lost {
                true => Err(TransportError::new(Delivery::MaybeSent, "lost")),
                false => Ok(response),
            }
        }
    }));
    table.create_table().await.unwrap();
    (table, loses)
}

#[tokio::test(start_paused = true)]
async fn lost_write_through_a_batch_is_read_back_through_a_batch() {
    let (table, loses) = setup().await;
    let mut entity = DynamicEntity::new("漢".repeat(200), "100%".repeat(100));
    entity.insert("Text", "one's own");
    let rejected = table.merge(&entity).await.unwrap_err();
    assert!(rejected.to_string().contains("CallOptions::via_batch"), "{rejected}");

    let table = table.with(&CallOptions::new().via_batch());
    loses.store(true, Ordering::Relaxed);
    let context = OperationContext::new();
    let insert = table.insert_returning(&entity);
    let stored = insert.with(&CallOptions::new().context(&context)).await.unwrap();
    assert_eq!(stored.properties, entity.properties);
    let read = async || table.get(&entity).versioned().await.unwrap().unwrap();
    let now = read().await;
    assert_eq!((&now.etag, now.timestamp), (&stored.etag, stored.timestamp));
    let attempts = context.attempts();
    assert!(attempts.iter().map(|attempt| attempt.operation()).eq(["insert", "get"]));

    let mut changed = entity.clone();
    changed.insert("Text", "changed");
    loses.store(true, Ordering::Relaxed);
    let etag = table.merge(&changed).await.unwrap();
    let now = read().await;
    assert_eq!((&now.etag, now.get("Text")), (&etag, Some(&"changed".into())));
    // The client reads back a batch of this one row in the same way.
    loses.store(true, Ordering::Relaxed);
    let mut batch = table.batch();
    batch.replace(&changed).unwrap();
    let results = batch.submit().with(&CallOptions::new().via_batch()).await.unwrap();
    assert_eq!(results[0].etag(), Some(&read().await.etag));

    // A missing row does not show who deleted it.
    loses.store(true, Ordering::Relaxed);
    let error = table.delete(&entity).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::NotFound), "{error}");
    assert_eq!(table.get(&entity).await.unwrap(), None);
}

/// The entity is returned, and the read-back is not visible.
#[tokio::test(start_paused = true)]
async fn lost_echo_of_a_batch_is_read_back() {
    let (table, loses) = setup().await;
    let row = |key| row_of(key, 1_i64 << 40);
    let mut batch = table.batch();
    batch.insert(&row("1")).unwrap().insert_returning(&row("2")).unwrap();
    loses.store(true, Ordering::Relaxed);
    let results = batch.submit().await.unwrap();
    assert_eq!((results[0].status(), results[1].status()), (204, 201));
    assert_eq!(results[0].entity::<DynamicEntity>().unwrap(), None);
    let echoed = results[1].entity::<DynamicEntity>().unwrap().unwrap();
    assert_eq!(echoed, table.get(("p", "2")).await.unwrap().unwrap());
}
