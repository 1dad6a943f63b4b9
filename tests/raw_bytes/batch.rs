//! Answers to entity group transactions.

use azure_table::{DynamicEntity, ErrorKind, NoRetry};
use proptest::prelude::*;

use crate::document::{Document, document};
use crate::{answer, answered, is_presentable, on_runtime, things};

const BATCHES: &[&str] = &[
    "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\nETag: W/\"1\"\r\n\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\nETag: W/\"2\"\r\n\r\n\r\n--c--\r\n--b--\r\n",
    "--b\nContent-Type: application/http\n\nHTTP/1.1 204 No Content\netag:w\n\n--b\nContent-Type: application/http\n\n\nHTTP/1.1 201 Created\nETag: x\n\n--b--",
    "--b\r\nContent-Type: multipart/mixed; boundary=\"c\"\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n\r\n{\"odata.error\":{\"code\":\"EntityAlreadyExists\",\"message\":{\"lang\":\"en-US\",\"value\":\"1:The specified entity already exists.\\nRequestId:a\\nTime:b\"}}}\r\n--c--\r\n--b--\r\n",
];

const PIECES: &[&str] = &[
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

/// Answers to batches of one operation.
const LONE: &[&str] = &[
    "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\nETag: W/\"1\"\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2026-01-01T00:00:00Z\",\"A\":1}\r\n--b--\r\n",
    "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 201 Created\r\nETag: W/\"1\"\r\n\r\n{\"odata.etag\":\"W/\\\"1\\\"\",\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2026-01-01T00:00:00Z\"}\r\n--c--\r\n--b--\r\n",
    "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n{\"odata.error\":{\"code\":\"ResourceNotFound\",\"message\":{\"lang\":\"en-US\",\"value\":\"0:No.\"}}}\r\n--b--\r\n",
];

/// The results' statuses of a batch of two inserts, or its error.
fn commit(Document(body): &Document) -> azure_table::Result<Vec<u16>> {
    let service = answered([answer(202, &[("content-type", "multipart/mixed; boundary=b")], body)]);
    let table = things(&service);
    let mut batch = table.batch();
    for row_key in ["1", "2"] {
        batch.insert(&DynamicEntity::new("p", row_key)).unwrap();
    }
    let results = on_runtime(async { batch.commit().retry(NoRetry).await })?;
    Ok(results.iter().map(|result| result.status()).collect())
}

proptest! {
    /// A batch is reported as written only if the service said so of each operation, and as refused only if it said that.
    #[test]
    fn a_batch_is_written_or_refused_or_in_doubt(answer in document(BATCHES, PIECES)) {
        match commit(&answer) {
            Ok(statuses) => {
                prop_assert_eq!(statuses.len(), 2);
                prop_assert!(statuses.iter().all(|status| (200..300).contains(status)), "{statuses:?}");
            }
            Err(error) => {
                is_presentable(&error).map_err(TestCaseError::fail)?;
                let refused = error.status().is_some_and(|status| (400..600).contains(&status));
                prop_assert!(refused || error.may_have_applied(), "{error:?}");
                prop_assert!(refused || error.kind() == ErrorKind::InvalidResponse, "{error:?}");
                prop_assert!(error.batch_index().is_none_or(|index| index < 2), "{error:?}");
            }
        }
    }

    /// What comes of a single operation is told as of one, though a batch was the answer.
    #[test]
    fn one_operation_is_done_or_refused_or_in_doubt(answer in document(LONE, PIECES)) {
        let step = || crate::answer(202, &[("content-type", "multipart/mixed; boundary=b")], &answer.0);
        let service = answered([step(), step(), step()]);
        let table = things(&service);
        let entity = DynamicEntity::new("p", "r");
        let key = ("p", "r");
        let (read, echoed) = on_runtime(async {
            let read = table.get(key).via_batch().retry(NoRetry).await;
            let echoed = table.insert_echo(&entity).via_batch().retry(NoRetry).await;
            (read, echoed)
        });
        if let Err(error) = read {
            is_presentable(&error).map_err(TestCaseError::fail)?;
            prop_assert!(!error.may_have_applied() && error.batch_index().is_none(), "{error:?}");
        }
        if let Err(error) = echoed {
            is_presentable(&error).map_err(TestCaseError::fail)?;
            let refused = error.status().is_some_and(|status| (400..600).contains(&status));
            prop_assert!(refused || error.may_have_applied(), "{error:?}");
            prop_assert!(error.batch_index().is_none(), "{error:?}");
        }
        let mut batch = table.batch();
        batch.retrieve(key).unwrap();
        if let Ok(results) = on_runtime(async { batch.commit().retry(NoRetry).await }) {
            prop_assert_eq!(results.len(), 1);
            prop_assert!(matches!(results[0].status(), 200..=299 | 404), "{results:?}");
            if let Err(error) = results[0].entity::<DynamicEntity>() {
                is_presentable(&error).map_err(TestCaseError::fail)?;
            }
        }
    }

    #[test]
    fn a_boundary_may_be_anything(content_type in "[ -~]{0,40}", body in document(BATCHES, PIECES)) {
        let service = answered([answer(202, &[("content-type", &format!("multipart/mixed;boundary{content_type}"))], &body.0)]);
        let mut batch = things(&service).batch();
        batch.insert(&DynamicEntity::new("p", "1")).unwrap();
        if let Err(error) = on_runtime(async { batch.commit().retry(NoRetry).await }) {
            is_presentable(&error).map_err(TestCaseError::fail)?;
        }
    }
}

#[test]
fn the_samples_are_written_or_refused() {
    let results: Vec<_> = BATCHES
        .iter()
        .map(|sample| commit(&Document((*sample).into())))
        .collect();
    assert_eq!(results[0].as_ref().unwrap(), &[204, 204]);
    assert_eq!(results[1].as_ref().unwrap(), &[204, 201]);
    assert_eq!(results[2].as_ref().unwrap_err().batch_index(), Some(1));
}

/// Whoever takes the index for one of the batch's operations must find one.
#[test]
fn an_index_that_no_operation_has_is_none() {
    let body = BATCHES[2].replacen("1:The", "3021:The", 1);
    assert_eq!(commit(&Document(body.into())).unwrap_err().batch_index(), None);
}

/// A part that failed is the answer, and one that may pass by itself is not taken for something else.
#[test]
fn the_status_of_a_failed_part_is_told() {
    for status in [408, 429, 500, 503, 504] {
        let body = BATCHES[0].replacen("204", &status.to_string(), 1);
        assert_eq!(commit(&Document(body.into())).unwrap_err().status(), Some(status));
    }
}

/// A redirect or an interim answer is no success, and a status beyond HTTP's is none.
#[test]
fn a_part_that_says_neither_yes_nor_no_leaves_the_batch_in_doubt() {
    for status in ["0", "100", "302", "600", "65535"] {
        let body = BATCHES[0].replacen("204", status, 1);
        let error = commit(&Document(body.into())).unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_applied()),
            (ErrorKind::InvalidResponse, true),
            "{status}"
        );
    }
}
