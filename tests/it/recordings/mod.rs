//! Recorded live sessions: the client decodes every response of a table operation without loss.
//!
//! The recordings are not part of the repository (`AZURE_TABLE_FIXTURES`); without them these tests are ignored.
//! `requests.rs` checks the requests, `failures.rs` the batches that failed or read.

use std::collections::BTreeMap;

use azure_table::service::{ServiceProperties, StoredAccessPolicy};
use azure_table::{DynamicEntity, EdmValue, Error, TableOperation, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::assert_contains;
use azure_table_tests::fixtures;
use serde_json::Value;

mod failures;
mod requests;

/// The number of responses by kind, so that a recording that is no longer read is noticed.
#[derive(Default)]
struct Seen(BTreeMap<&'static str, usize>);

impl Seen {
    fn add(&mut self, kind: &'static str, count: usize) {
        *self.0.entry(kind).or_default() += count;
    }
}

fn exchanges() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for kind in ["storage", "cosmos"] {
        for entry in std::fs::read_dir(fixtures::recordings(kind)).unwrap() {
            let path = entry.unwrap().path();
            let session: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            found.extend(session.into_iter().map(|exchange| (name.clone(), exchange)));
        }
    }
    found
}

/// The recorded answer as a step of a script.
fn step(response: &Value) -> Step {
    let headers: Vec<(&str, &str)> = response["headers"]
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        // The client rejects the id of another request.
        .filter(|(name, _)| !name.eq_ignore_ascii_case("x-ms-client-request-id"))
        .collect();
    let status = u16::try_from(response["status"].as_u64().unwrap()).unwrap();
    Step::response(status, &headers, response["body"].as_str().unwrap_or_default())
}

/// Returns the key of an entity in a body, or any key: the client rejects an entity with another one than requested.
fn key_of(body: &str) -> (String, String) {
    let entity: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |name| entity[name].as_str().unwrap_or("any").to_owned();
    (text("PartitionKey"), text("RowKey"))
}

fn client(response: &Value) -> TableServiceClient {
    // The responses are years old.
    Canned::new([step(response)]).service().without_clock_correction()
}

/// The entity contains everything in the JSON of the response.
fn assert_complete(name: &str, json: &Value, read: &DynamicEntity) {
    for (member, value) in json.as_object().unwrap() {
        match member.as_str() {
            "PartitionKey" => assert_eq!(value.as_str().unwrap(), read.partition_key, "{name}"),
            "RowKey" => assert_eq!(value.as_str().unwrap(), read.row_key, "{name}"),
            "Timestamp" => assert!(read.timestamp.is_some(), "{name}"),
            "odata.etag" => assert_eq!(value.as_str(), read.etag.as_ref().map(|etag| etag.as_str()), "{name}"),
            _ if member.contains('@') || member.starts_with("odata.") || value.is_null() => {}
            _ => {
                assert!(read.get(member).is_some(), "{name}: {member} was lost");
                let property = read.get(member).unwrap();
                let annotated = json.get(format!("{member}@odata.type")).and_then(Value::as_str);
                let expected = annotated.unwrap_or(match value {
                    Value::Bool(_) => "Edm.Boolean",
                    Value::Number(number) if number.is_i64() => "Edm.Int32",
                    Value::Number(_) => "Edm.Double",
                    _ => "Edm.String",
                });
                assert_eq!(property.edm_type().name(), expected, "{name}: {member}");
                if let (EdmValue::String(text), Some(recorded)) = (property, value.as_str()) {
                    assert_eq!(text, recorded, "{name}: {member}");
                }
            }
        }
    }
}

fn continues(response: &Value) -> bool {
    let mut names = response["headers"].as_object().unwrap().keys();
    names.any(|name| name.to_ascii_lowercase().contains("continuation"))
}

/// With `$select` a response has no keys, so it is not a whole entity.
fn assert_selected(name: &str, url: &str, error: &Error) {
    assert!(url.contains("select"), "{name}: {error}");
    assert_contains(error, "has no PartitionKey");
}

/// Returns the code of a recorded error body.
fn recorded_code(body: &str) -> Option<String> {
    let json: Value = serde_json::from_str(body.trim_start_matches('\u{feff}')).ok()?;
    Some(json["odata.error"]["code"].as_str()?.to_owned())
}

fn assert_rejected(name: &str, response: &Value, error: &Error) {
    let body = response["body"].as_str().unwrap_or_default();
    let status = response["status"].as_u64();
    assert_eq!(error.status().map(u64::from), status, "{name}: {error}");
    if let Some(code) = recorded_code(body) {
        assert_eq!(error.code(), Some(code.as_str()), "{name}");
        let message = error.service_message().unwrap_or_default();
        let is_bare = ["RequestId:", "Time:"].iter().all(|part| !message.contains(part));
        assert!(!message.is_empty() && is_bare, "{name}: {message}");
    }
    assert_eq!(error.to_string().lines().count(), 1, "{name}: {error}");
}

#[tokio::test]
#[cfg_attr(
    not(recordings),
    ignore = "needs recordings: set AZURE_TABLE_FIXTURES, see tests/README.md"
)]
async fn every_recorded_response_is_decoded_without_loss() {
    let exchanges = exchanges();
    let mut seen = Seen::default();
    for (name, exchange) in &exchanges {
        let (request, response) = (&exchange["request"], &exchange["response"]);
        let (method, url) = (request["method"].as_str().unwrap(), request["url"].as_str().unwrap());
        let path = url.split('?').next().unwrap();
        let body = response["body"].as_str().unwrap_or_default();
        let rejected = response["status"].as_u64().unwrap() >= 400;
        let is_entity = path.contains("PartitionKey=");
        let service = client(response);
        let table = service.dynamic_table("Things").unwrap();
        if url.contains("comp=") {
            document(name, (method, url), response, &service).await;
            seen.add("documents", 1);
            continue;
        }
        let key = key_of(body);
        match method {
            "GET" if path.contains("/Tables(") => {
                let there = table.table_exists().await.unwrap();
                assert_eq!(there, !rejected, "{name}");
                seen.add("lists", 1);
            }
            "POST" if path.ends_with("$batch") => batch(name, response, &table, &mut seen).await,
            "GET" if path.ends_with("/Tables") => {
                let json: Value = serde_json::from_str(body).unwrap();
                let recorded = json["value"].as_array().unwrap().iter();
                let recorded: Vec<_> = recorded.filter_map(|table| table["TableName"].as_str()).collect();
                // A list with a continuation sends another request, which the recording has elsewhere.
                if !continues(response) {
                    assert_eq!(service.list_tables().await.unwrap(), recorded, "{name}");
                    seen.add("lists", 1);
                }
            }
            "GET" if is_entity => match table.get((&*key.0, &*key.1)).await {
                Ok(Some(entity)) => {
                    assert_complete(name, &serde_json::from_str(body).unwrap(), &complete(entity, body));
                    seen.add("entities", 1);
                }
                Ok(None) => {
                    assert_eq!(response["status"], 404, "{name}");
                    seen.add("service errors", 1);
                }
                Err(e) => assert_selected(name, url, &e),
            },
            "GET" => match table.query().pages().try_next().await {
                Ok(page) => {
                    let page = page.unwrap();
                    let json: Value = serde_json::from_str(body.trim()).unwrap();
                    let recorded = json["value"].as_array().unwrap();
                    assert_eq!(page.items().len(), recorded.len(), "{name}");
                    assert_eq!(!page.continuation().is_finished(), continues(response), "{name}");
                    for (json, row) in recorded.iter().zip(page.items()) {
                        assert_complete(name, json, row);
                    }
                    seen.add("pages", 1);
                    seen.add("rows", recorded.len());
                }
                Err(e) if rejected => {
                    assert_rejected(name, response, &e);
                    seen.add("service errors", 1);
                }
                Err(e) => assert_selected(name, url, &e),
            },
            _ => {
                let row = DynamicEntity::new("p", "r");
                let outcome = match method {
                    _ if path.ends_with("/Tables") => table.create_table().await,
                    _ if path.contains("/Tables(") => table.delete_table().await,
                    "DELETE" => table.delete(("p", "r")).await,
                    _ => table.execute(TableOperation::insert(&row)).await.map(drop),
                };
                match outcome {
                    Ok(()) => assert!(!rejected, "{name}"),
                    Err(e) => {
                        assert!(rejected, "{name}: {e}");
                        assert_rejected(name, response, &e);
                        seen.add("service errors", 1);
                    }
                }
                seen.add("writes", 1);
            }
        }
    }
    for (kind, at_least) in [
        ("entities", 70),
        ("pages", 50),
        ("rows", 100),
        ("lists", 30),
        ("batches", 35),
        ("writes", 300),
        ("service errors", 50),
        ("documents", 18),
    ] {
        assert!(seen.0.get(kind) >= Some(&at_least), "only {:?}", seen.0);
    }
}

/// Properties, statistics and policies: the result contains all elements of the response.
async fn document(name: &str, (method, url): (&str, &str), response: &Value, service: &TableServiceClient) {
    let rejected = response["status"].as_u64().unwrap() >= 400;
    let body = response["body"].as_str().unwrap_or_default();
    let count = |element: &str| body.matches(&format!("<{element}>")).count();
    let table = service.dynamic_table("Things").unwrap();
    let outcome = match method {
        "GET" if url.contains("comp=properties") => service.properties().await.map(|properties| {
            let rules = properties.cors.map(|rules| rules.len());
            assert_eq!(rules, Some(count("CorsRule")), "{name}");
            for (is_there, element) in [
                (properties.logging.is_some(), "Logging"),
                (properties.hour_metrics.is_some(), "HourMetrics"),
                (properties.minute_metrics.is_some(), "MinuteMetrics"),
            ] {
                assert_eq!(is_there, count(element) == 1, "{name}");
            }
        }),
        "PUT" if url.contains("comp=properties") => service.set_properties(ServiceProperties::default()).await,
        "GET" if url.contains("comp=stats") => service.statistics().await.map(|statistics| {
            let is_synced = statistics.last_sync_time.is_some();
            assert_eq!(is_synced, count("LastSyncTime") == 1, "{name}");
        }),
        "GET" => table.access_policies().await.map(|policies| {
            assert_eq!(policies.len(), count("SignedIdentifier"), "{name}");
            let said = |said: fn(&StoredAccessPolicy) -> bool| policies.iter().filter(|policy| said(policy)).count();
            assert_eq!(said(|policy| policy.start.is_some()), count("Start"), "{name}");
            assert_eq!(said(|policy| policy.expiry.is_some()), count("Expiry"), "{name}");
            let permissions = said(|policy| policy.permissions.is_some());
            assert_eq!(permissions, count("Permission"), "{name}");
        }),
        _ => table.set_access_policies([]).await.map(drop),
    };
    match outcome {
        Ok(()) => assert!(!rejected, "{name}"),
        Err(e) => {
            assert!(rejected, "{name}: {e}");
            assert_rejected(name, response, &e);
            assert!(e.code().is_some(), "{name}: {e}");
        }
    }
}

/// The ETag of a single entity may be only in the header.
fn complete(mut entity: DynamicEntity, body: &str) -> DynamicEntity {
    if !body.contains("odata.etag") {
        entity.etag = None;
    }
    entity
}

/// One operation per part of the response, or several for the only part of a failure.
async fn batch(name: &str, response: &Value, table: &azure_table::TableClient<DynamicEntity>, seen: &mut Seen) {
    let body = response["body"].as_str().unwrap_or_default();
    let parts = body.matches("HTTP/1.1 ").count();
    let failed = ["HTTP/1.1 4", "HTTP/1.1 5"].iter().any(|status| body.contains(status));
    let mut batch = table.batch();
    let responses: Vec<&str> = body.split("HTTP/1.1 ").skip(1).collect();
    for n in 0..parts.max(if failed { 5 } else { 1 }) {
        let row = DynamicEntity::new("p", n.to_string());
        // A deletion and a read have no ETag here; every other write has one.
        if responses.get(n).is_some_and(|response| !response.contains("ETag:")) {
            batch.delete(&row).unwrap()
        } else {
            batch.insert(&row).unwrap()
        };
    }
    match batch.submit().await {
        Ok(results) => {
            assert!(!failed && results.len() == parts, "{name}");
            let etags = results.iter().filter(|result| result.etag().is_some());
            assert!(etags.count() <= body.matches("ETag").count());
        }
        Err(e) if failed => {
            let is_known = e.code().is_some() && e.status() >= Some(400);
            assert!(is_known && !e.may_have_applied(), "{name}: {e}");
        }
        // The response to an empty change set has no part.
        Err(e) => assert!(parts == 0, "{name}: {e}"),
    }
    seen.add("batches", 1);
}
