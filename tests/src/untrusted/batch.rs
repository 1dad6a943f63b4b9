//! Responses to entity group transactions.

use azure_table::{CallOptions, DynamicEntity, ErrorKind, NoRetry, Result};

use super::{Kind, assert_presentable, on_runtime, responded, response, things};

/// Responses to entity group transactions.
pub const KIND: Kind = Kind {
    name: "batch",
    check: |body| {
        check_two_operations(body);
        check_one_operation(body);
    },
    samples: &[BATCHES, LONE],
    pieces: PIECES,
};

const TYPE: (&str, &str) = ("content-type", "multipart/mixed; boundary=b");

/// Responses to batches of two operations.
pub const BATCHES: &[&str] = &[
    "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\nETag: W/\"1\"\r\n\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\nETag: W/\"2\"\r\n\r\n\r\n--c--\r\n--b--\r\n",
    "--b\nContent-Type: application/http\n\nHTTP/1.1 204 No Content\netag:w\n\n--b\nContent-Type: application/http\n\n\nHTTP/1.1 201 Created\nETag: x\n\n--b--",
    "--b\r\nContent-Type: multipart/mixed; boundary=\"c\"\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n\r\n{\"odata.error\":{\"code\":\"EntityAlreadyExists\",\"message\":{\"lang\":\"en-US\",\"value\":\"1:The specified entity already exists.\\nRequestId:a\\nTime:b\"}}}\r\n--c--\r\n--b--\r\n",
];

/// Parts of responses.
pub const PIECES: &[&str] = &[
    "--b",
    "--c",
    "--",
    "\r\n",
    "\n",
    "\r",
    "--b\r\n",
    "--c\r\n",
    "--b--",
    "--c--",
    ":",
    "HTTP/1.1 ",
    "204",
    "0",
    "302",
    "404",
    "Content-Type: multipart/mixed; boundary=c\r\n\r\n",
    "Content-Type: multipart/mixed; boundary=b\r\n\r\n",
    "Content-Type: application/http\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "ETag: e\r\n",
    "boundary=",
    "{\"odata.error\":",
];

/// Responses to batches of one operation.
pub const LONE: &[&str] = &[
    "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\nETag: W/\"1\"\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2026-01-01T00:00:00Z\",\"A\":1}\r\n--b--\r\n",
    "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 201 Created\r\nETag: W/\"1\"\r\n\r\n{\"odata.etag\":\"W/\\\"1\\\"\",\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2026-01-01T00:00:00Z\"}\r\n--c--\r\n--b--\r\n",
    "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n{\"odata.error\":{\"code\":\"ResourceNotFound\",\"message\":{\"lang\":\"en-US\",\"value\":\"0:No.\"}}}\r\n--b--\r\n",
];

/// Returns the statuses of the results of a batch of two inserts.
///
/// # Errors
/// The errors of the batch.
///
/// # Panics
/// Never: both operations are valid.
pub fn commit(body: &[u8]) -> Result<Vec<u16>> {
    let service = responded([response(202, &[TYPE], body)]);
    let table = things(&service);
    let mut batch = table.batch();
    for row_key in ["1", "2"] {
        batch.insert(&DynamicEntity::new("p", row_key)).unwrap();
    }
    let results = on_runtime(async { batch.submit().with(&CallOptions::new().retry(NoRetry)).await })?;
    Ok(results.iter().map(|result| result.status()).collect())
}

/// Checks that a batch is reported as written only if the service reported each operation so, and as rejected only if
/// the service rejected it.
pub fn check_two_operations(body: &[u8]) {
    match commit(body) {
        Ok(statuses) => {
            assert_eq!(statuses.len(), 2);
            assert!(
                statuses.iter().all(|status| (200..300).contains(status)),
                "{statuses:?}"
            );
        }
        Err(error) => {
            assert_presentable(&error);
            let last = error.last_failure();
            let last = last.as_ref().unwrap_or(&error);
            let rejected = last.status().is_some_and(|status| (400..600).contains(&status));
            assert!(rejected || error.may_have_applied(), "{error:?}");
            assert!(rejected || last.kind() == ErrorKind::InvalidResponse, "{error:?}");
            assert!(error.batch_index().is_none_or(|index| index < 2), "{error:?}");
        }
    }
}

/// Checks that the outcome of a single operation is reported as such, although the response was a batch.
pub fn check_one_operation(body: &[u8]) {
    let step = || response(202, &[TYPE], body);
    let service = responded([step(), step(), step()]);
    let table = things(&service);
    let entity = DynamicEntity::new("p", "r");
    let key = ("p", "r");
    let (read, echoed) = on_runtime(async {
        let read = table
            .get(key)
            .with(&CallOptions::new().via_batch().retry(NoRetry))
            .await;
        let echoed = table
            .insert_returning(&entity)
            .with(&CallOptions::new().via_batch().retry(NoRetry))
            .await;
        (read, echoed)
    });
    if let Err(error) = read {
        assert_presentable(&error);
        assert!(!error.may_have_applied() && error.batch_index().is_none(), "{error:?}");
    }
    if let Err(error) = echoed {
        assert_presentable(&error);
        let rejected = error.status().is_some_and(|status| (400..600).contains(&status));
        assert!(rejected || error.may_have_applied(), "{error:?}");
        assert!(error.batch_index().is_none(), "{error:?}");
    }
    let mut batch = table.batch();
    batch.get(key).unwrap();
    if let Ok(results) = on_runtime(async { batch.submit().with(&CallOptions::new().retry(NoRetry)).await }) {
        assert_eq!(results.len(), 1);
        assert!(matches!(results[0].status(), 200..=299 | 404), "{results:?}");
        if let Err(error) = results[0].entity::<DynamicEntity>() {
            assert_presentable(&error);
        }
    }
}
