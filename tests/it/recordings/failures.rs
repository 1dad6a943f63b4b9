//! Recorded responses to failed batches, of Storage and of Cosmos DB. The failure is at its index, with its code and
//! keys, and at each other index that the recorded text names.

use azure_table::{CallOptions, DynamicEntity, Error, TableOperation};
use serde_json::Value;

use super::{client, exchanges};

/// The number of operations in these batches: more than any recorded index.
const OPERATIONS: usize = 5;

const DOESNT_MATCH: &str = "py2017_batch_batch_update_if_doesnt_match";

/// The recorded failures: name, status, code and index, as in the files.
const RECORDED: &[(&str, u16, &str, usize)] = &[
    ("cpp_TransactionCreateFail", 400, "InvalidDuplicateRow", 1),
    ("go_TestBatchError_cosmos", 409, "EntityAlreadyExists", 2),
    ("go_TestBatchError_storage", 409, "EntityAlreadyExists", 2),
    ("node2017_batch_010", 404, "ResourceNotFound", 0),
    ("node2017_batch_014", 400, "InvalidDuplicateRow", 1),
    (DOESNT_MATCH, 412, "UpdateConditionNotSatisfied", 0),
];

async fn failure(response: &Value, operations: usize) -> Error {
    let table = client(response).dynamic_table("Things").unwrap();
    let mut batch = table.batch();
    for row in 0..operations {
        let entity = DynamicEntity::new("p", row.to_string());
        batch.push(TableOperation::insert(&entity)).unwrap();
    }
    batch.submit().await.unwrap_err()
}

/// The same response for the operation at this index, or for one that it does not name.
fn about(response: &Value, index: Option<usize>) -> Value {
    const BEFORE: &str = "\"value\":\"";
    let body = response["body"].as_str().unwrap();
    let (head, message) = body.split_once(BEFORE).unwrap();
    let text = message
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start_matches(':');
    let index = index.map_or(String::new(), |index| format!("{index}:"));
    let mut changed = response.clone();
    changed["body"] = format!("{head}{BEFORE}{index}{text}").into();
    changed
}

fn assert_reported(name: &str, error: &Error, (status, code): (u16, &str), index: Option<usize>) {
    let found = (error.status(), error.code(), error.batch_index());
    assert_eq!(found, (Some(status), Some(code), index), "{name}: {error}");
    let row = index.map(|index| index.to_string());
    assert_eq!(error.entity(), row.as_deref().map(|row| ("p", row)), "{name}: {error}");
    let message = error.service_message().unwrap();
    let is_bare = !message.starts_with(|c: char| c.is_ascii_digit()) && !message.to_lowercase().contains("requestid");
    assert!(is_bare && !message.is_empty(), "{name}: {message}");
    assert!(!error.may_have_applied() && error.attempts() == 1, "{name}: {error}");
}

#[tokio::test]
#[cfg_attr(
    not(recordings),
    ignore = "needs recordings: set AZURE_TABLE_FIXTURES, see tests/README.md"
)]
async fn recorded_failures_are_reported_at_their_index() {
    let exchanges = exchanges();
    let mut found: Vec<&str> = Vec::new();
    let (mut mixed, mut crlf) = (0, 0);
    for (name, exchange) in &exchanges {
        let response = &exchange["response"];
        let body = response["body"].as_str().unwrap_or_default();
        let is_batch = exchange["request"]["url"].as_str().unwrap().ends_with("$batch");
        if !is_batch || !(body.contains("HTTP/1.1 4") || body.contains("HTTP/1.1 5")) {
            continue;
        }
        let known = RECORDED.iter().find(|(known, ..)| known == name);
        let (name, status, code, index) = *known.unwrap_or_else(|| panic!("{name} is not known"));
        found.push(name);
        // Cosmos DB mixes line ends.
        let has_bare = body.replace("\r\n", "").contains('\n');
        *if has_bare { &mut mixed } else { &mut crlf } += 1;

        // Without an index, the batch had one operation.
        let is_indexed = body.contains(&format!("{index}:The"));
        let error = failure(response, if is_indexed { OPERATIONS } else { 1 }).await;
        assert_reported(name, &error, (status, code), Some(index));
        let id = response["headers"]["x-ms-request-id"].as_str();
        assert_eq!(error.request_id(), id, "{name}");
        // A number that no operation has is not an index.
        for (index, expected) in [
            (Some(0), Some(0)),
            (Some(1), Some(1)),
            (Some(OPERATIONS - 1), Some(OPERATIONS - 1)),
            (Some(OPERATIONS), None),
            (None, None),
        ] {
            let error = failure(&about(response, index), OPERATIONS).await;
            assert_reported(name, &error, (status, code), expected);
        }
    }
    found.dedup();
    let known: Vec<&str> = RECORDED.iter().map(|(name, ..)| *name).collect();
    found.sort_unstable();
    assert_eq!(found, known);
    assert!(mixed >= 1 && crlf >= 7, "{mixed} {crlf}");
}

/// A read in a batch, with a live response: an existing row, and a missing one.
#[tokio::test]
#[cfg_attr(
    not(recordings),
    ignore = "needs recordings: set AZURE_TABLE_FIXTURES, see tests/README.md"
)]
async fn recorded_reads_in_a_batch_equal_a_get() {
    let exchanges = exchanges();
    let recorded = |name: &str| {
        let mut named = exchanges
            .iter()
            .filter(|(of, _)| of == name)
            .map(|(_, exchange)| exchange);
        let batch = named.find(|exchange| exchange["request"]["url"].as_str().unwrap().ends_with("$batch"));
        &batch.unwrap()["response"]
    };
    let (there, missing) = (recorded("node2017_batch_009"), recorded("node2017_batch_010"));
    let table = |response: &Value| client(response).dynamic_table("Things").unwrap();
    let single = |response: &Value| table(response).with(&CallOptions::new().via_batch());
    let key = ("partition1", "row1");

    let read = single(there).get(key).versioned().await.unwrap().unwrap();
    assert_eq!(read.etag.as_str(), "W/\"datetime'2017-01-05T03%3A24%3A59.5315504Z'\"");
    assert_eq!(read.properties.len(), 7);
    assert_eq!(read.get("Int64Property"), Some(&5_432_873_627_392_i64.into()));
    let mut batch = table(there).batch();
    batch.get(key).unwrap();
    let result = &batch.submit().await.unwrap()[0];
    assert_eq!(result.etag(), Some(&read.etag));
    assert_eq!(result.entity::<DynamicEntity>().unwrap().unwrap(), read.entity);

    assert_eq!(single(missing).get(key).await.unwrap(), None);
    let mut batch = table(missing).batch();
    batch.get(key).unwrap();
    assert_eq!(batch.submit().await.unwrap()[0].status(), 404);
    // A delete with this response fails.
    let delete = single(missing).delete(key).await.unwrap_err();
    assert_eq!((delete.status(), delete.batch_index()), (Some(404), None));
}

/// In 2017, inserts without a preference were echoed as well.
#[tokio::test]
#[cfg_attr(
    not(recordings),
    ignore = "needs recordings: set AZURE_TABLE_FIXTURES, see tests/README.md"
)]
async fn recorded_echoes_are_read() {
    let exchanges = exchanges();
    let is_echo = |(_, exchange): &&(String, Value)| {
        let body = exchange["response"]["body"].as_str().unwrap_or_default();
        exchange["request"]["url"].as_str().unwrap().ends_with("$batch") && body.contains("HTTP/1.1 201")
    };
    let (name, exchange) = exchanges.iter().find(is_echo).unwrap();
    let table = client(&exchange["response"]).dynamic_table("Things").unwrap();
    let mut batch = table.batch();
    for row in 0..3 {
        let row = DynamicEntity::new("p", row.to_string());
        batch.insert_returning(&row).unwrap();
    }
    for result in batch.submit().await.unwrap() {
        let entity = result.entity::<DynamicEntity>().unwrap().unwrap();
        assert!(result.status() == 201 && entity.timestamp.is_some(), "{name}");
        assert_eq!(entity.etag.as_ref(), result.etag(), "{name}");
        assert!(!entity.properties.is_empty(), "{name}");
    }
}
