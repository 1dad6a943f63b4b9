//! Recorded requests with a body: the client sends the same, or the difference is named here with its reason.

use std::collections::BTreeMap;

use azure_table::{DynamicEntity, ETag, ErrorKind, TableOperation, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned, Step, no_retry};
use azure_table_tests::texts::percent_decoded;
use serde_json::{Map, Value};

use super::{exchanges, key_of};

/// The intended differences, by their reason.
const TUNNELLED_NOT: &str = "merges are PATCH: proxies know it, and the service takes both";
const KEYS_UNREADABLE: &str =
    "a body without PartitionKey or RowKey, or with keys of another type, cannot be made: refused by type";
const REJECTED: &str = "what the service refused is refused before it is sent";
const NAME_REJECTED: &str = "a table name that the service refused is refused before it is sent";
const COSMOS_KEYS: &str = "Cosmos DB refuses empty keys: refused before it is sent";
const COSMOS_PROPERTIES: &str = "Cosmos DB has no properties and policies: refused before it is sent";
const EMPTY_BATCH: &str = "a batch without operations is refused before it is sent";

/// The number of occurrences of each difference.
type Differences = BTreeMap<&'static str, usize>;

/// One request inside a batch, or alone.
#[derive(Debug)]
struct Sent {
    method: String,
    path: String,
    if_match: Option<String>,
    body: String,
}

impl Sent {
    fn is_entity(&self) -> bool {
        self.path.contains("PartitionKey=")
    }
}

fn service(is_cosmos: bool, canned: &Canned) -> TableServiceClient {
    let host = if is_cosmos {
        "cosmos.azure.com"
    } else {
        "core.windows.net"
    };
    let endpoint = format!("{CONTOSO};TableEndpoint=https://contoso.table.{host}");
    let service = TableServiceClient::from_connection_string(&endpoint).unwrap();
    service.transport(canned.clone())
}

fn path(url: &str) -> String {
    let below = url
        .split_once("://")
        .map_or(url, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    percent_decoded(below.split('?').next().unwrap().trim_start_matches('/'))
}

/// Returns a header by its name, which the recorders wrote in any case.
fn header(headers: &Value, name: &str) -> Option<String> {
    let mut fields = headers.as_object()?.iter();
    let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    found.1.as_str().map(str::to_owned)
}

/// Returns the entity of a body, decoded like the response to a get, with all its types.
async fn entity(body: &str) -> azure_table::Result<DynamicEntity> {
    let table = Canned::new([Step::response(200, &[], body)]).table();
    let (partition_key, row_key) = key_of(body);
    Ok(table.get((&*partition_key, &*row_key)).await?.unwrap())
}

/// Returns the meaning of a body. Annotations that only repeat the type of the JSON value, and nulls, are left out; so
/// is the Timestamp, which the service sets.
fn said(body: &str) -> Value {
    let object: Map<String, Value> = serde_json::from_str(body).unwrap();
    let kept = object.iter().filter(|(name, value)| {
        let annotated = name.strip_suffix("@odata.type").and_then(|name| object.get(name));
        let repeats = annotated.is_some_and(|of| match value.as_str() {
            Some("Edm.String") => of.is_string(),
            Some("Edm.Boolean") => of.is_boolean(),
            Some("Edm.Int32") => of.is_i64(),
            Some("Edm.Double") => of.is_f64(),
            _ => of.is_null(),
        });
        !value.is_null() && !repeats && name.as_str() != "Timestamp" && name.as_str() != "Timestamp@odata.type"
    });
    let exact = |(name, value): (&String, &Value)| {
        let annotation = object.get(&format!("{name}@odata.type")).and_then(Value::as_str);
        let value = match (annotation, value) {
            // Trailing zeros in the fraction of a date have no meaning.
            (Some("Edm.DateTime"), Value::String(text)) => {
                let moment: azure_table::DateTime = text.parse().unwrap();
                Value::String(moment.to_string())
            }
            // A `5` with the annotation of a double is a double.
            (Some("Edm.Double"), Value::Number(number)) => Value::from(number.as_f64().unwrap()),
            (_, value) => value.clone(),
        };
        (name.clone(), value)
    };
    let mut kept: Map<String, Value> = kept.map(exact).collect();
    // The value already shows its type, so its annotation is redundant.
    let doubles = kept.iter().filter(|(_, value)| value.is_f64());
    let annotations: Vec<_> = doubles.map(|(name, _)| format!("{name}@odata.type")).collect();
    for name in annotations {
        kept.remove(&name);
    }
    Value::Object(kept)
}

/// Returns the operation of a recorded write, or a difference if the client does not have it.
async fn operation(sent: &Sent) -> Result<TableOperation, &'static str> {
    let entity = match entity(&sent.body).await {
        _ if sent.method == "DELETE" => {
            let (_, keys) = sent.path.split_once("PartitionKey='").unwrap();
            let (partition_key, row_key) = keys.trim_end_matches("')").split_once("',RowKey='").unwrap();
            DynamicEntity::new(partition_key.replace("''", "'"), row_key.replace("''", "'"))
        }
        Ok(entity) => entity,
        Err(e) => {
            let text = e.to_string();
            assert!(text.contains("PartitionKey") || text.contains("RowKey"), "{text}");
            return Err(KEYS_UNREADABLE);
        }
    };
    let operation = match (sent.method.as_str(), &sent.if_match) {
        ("POST", _) if !sent.is_entity() => TableOperation::insert(&entity),
        ("PUT", None) => TableOperation::insert_or_replace(&entity),
        ("PUT", Some(_)) => TableOperation::replace(&entity),
        ("DELETE", _) => TableOperation::delete(&entity),
        (_, None) => TableOperation::insert_or_merge(&entity),
        (_, Some(_)) => TableOperation::merge(&entity),
    };
    Ok(match sent.if_match.as_deref() {
        None => operation,
        Some("*") => operation.unconditionally(),
        Some(etag) => operation.if_match(ETag::new(etag)),
    })
}

/// Compares the client's request for a write with the recorded one.
fn compare(name: &str, recorded: &Sent, ours: &Sent, is_cosmos: bool, differences: &mut Differences) {
    match (recorded.method.as_str(), ours.method.as_str()) {
        ("MERGE", "PATCH") => *differences.entry(TUNNELLED_NOT).or_default() += 1,
        (recorded, ours) => assert_eq!(ours, recorded, "{name}"),
    }
    let table_aside = |path: &str| path.split_once('(').map(|(_, keys)| keys.to_owned());
    assert_eq!(table_aside(&ours.path), table_aside(&recorded.path), "{name}");
    assert_eq!(ours.if_match, recorded.if_match, "{name}");
    if recorded.method != "DELETE" {
        let (ours, recorded) = (said(&ours.body), said(&recorded.body));
        assert_eq!(ours, recorded, "{name}, on Cosmos DB: {is_cosmos}");
    }
}

/// Returns the requests inside the body of a batch.
fn inner(body: &str) -> Vec<Sent> {
    let lines = body.replace("\r\n", "\n");
    let mut found = Vec::new();
    for part in lines.split(" HTTP/1.1\n").collect::<Vec<_>>().windows(2) {
        let (method, url) = part[0].rsplit('\n').next().unwrap().split_once(' ').unwrap();
        let (head, rest) = part[1].split_once("\n\n").unwrap_or((part[1], ""));
        let field = |name: &str| {
            head.lines().find_map(|line| {
                let (known, value) = line.split_once(':')?;
                known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let body = rest.split("--changeset").next().unwrap().trim();
        found.push(Sent {
            method: field("X-HTTP-Method").unwrap_or_else(|| method.to_owned()),
            path: path(url),
            if_match: field("If-Match"),
            body: body.to_owned(),
        });
    }
    found
}

/// Returns the last request of the client.
fn ours(canned: &Canned) -> Sent {
    let sent = canned.sent().pop().unwrap();
    let text = |name: &str| sent.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    Sent {
        method: text("x-http-method").unwrap_or_else(|| sent.method().to_string()),
        path: path(&sent.uri().to_string()),
        if_match: text("if-match"),
        body: String::from_utf8(sent.body().to_vec()).unwrap(),
    }
}

async fn write(name: &str, recorded: &Sent, is_cosmos: bool, differences: &mut Differences) {
    let operation = match operation(recorded).await {
        Ok(operation) => operation,
        Err(difference) => return *differences.entry(difference).or_default() += 1,
    };
    let canned = Canned::new([Step::status(204)]);
    let table = service(is_cosmos, &canned).dynamic_table("Things").unwrap();
    match table.execute(operation).await {
        Ok(_) => compare(name, recorded, &ours(&canned), is_cosmos, differences),
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::InvalidInput, "{name}: {e}");
            let is_empty = e.to_string().contains("empty key");
            let reason = if is_empty { COSMOS_KEYS } else { REJECTED };
            *differences.entry(reason).or_default() += 1;
        }
    }
}

async fn batch(name: &str, body: &str, is_cosmos: bool, differences: &mut Differences) {
    let recorded = inner(body);
    if recorded.is_empty() {
        return *differences.entry(EMPTY_BATCH).or_default() += 1;
    }
    let canned = Canned::new([Step::status(500)]);
    let table = service(is_cosmos, &canned).dynamic_table("Things").unwrap();
    let mut batch = table.batch();
    for recorded in &recorded {
        match operation(recorded).await {
            Ok(operation) => {
                if batch.push(operation).is_err() {
                    return *differences.entry(REJECTED).or_default() += 1;
                }
            }
            Err(difference) => return *differences.entry(difference).or_default() += 1,
        }
    }
    batch.submit().with(&no_retry()).await.unwrap_err();
    let sent = inner(&ours(&canned).body);
    assert_eq!(sent.len(), recorded.len(), "{name}");
    for (recorded, ours) in recorded.iter().zip(&sent) {
        compare(name, recorded, ours, is_cosmos, differences);
    }
}

/// Properties and policies: the recorded request is decoded like a response, and compared with the client's request.
async fn document(name: &str, url: &str, body: &str, is_cosmos: bool, differences: &mut Differences) {
    let canned = Canned::new([Step::response(200, &[], body), Step::status(202), Step::status(204)]);
    let service = service(false, &canned);
    let table = service.dynamic_table("Things").unwrap();
    let again = |canned: &Canned| Canned::new([Step::response(200, &[], &ours(canned).body)]).service();
    if is_cosmos {
        let service = self::service(true, &Canned::new([]));
        let error = service.properties().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        return *differences.entry(COSMOS_PROPERTIES).or_default() += 1;
    }
    let outcome = if url.contains("comp=properties") {
        let properties = service.properties().await.unwrap();
        let set = service.set_properties(properties.clone()).await;
        if set.is_ok() {
            assert_eq!(again(&canned).properties().await.unwrap(), properties, "{name}");
        }
        set
    } else {
        let policies = table.access_policies().await.unwrap();
        // The first success of the script is for properties.
        let canned = Canned::new([Step::status(204)]);
        let table = self::service(false, &canned).dynamic_table("Things").unwrap();
        let set = table.set_access_policies(policies.clone()).await.map(drop);
        if set.is_ok() {
            let again = again(&canned).dynamic_table("Things").unwrap();
            assert_eq!(again.access_policies().await.unwrap(), policies, "{name}");
        }
        set
    };
    if let Err(e) = outcome {
        assert_eq!(e.kind(), ErrorKind::InvalidInput, "{name}: {e}");
        *differences.entry(REJECTED).or_default() += 1;
    }
}

#[tokio::test]
#[cfg_attr(
    not(recordings),
    ignore = "needs recordings: set AZURE_TABLE_FIXTURES, see tests/README.md"
)]
async fn every_recorded_request_is_sent_or_its_difference_is_named() {
    let exchanges = exchanges();
    let mut differences = Differences::new();
    let mut checked = 0;
    for (name, exchange) in &exchanges {
        let request = &exchange["request"];
        let (method, url) = (request["method"].as_str().unwrap(), request["url"].as_str().unwrap());
        let Some(body) = request["body"].as_str().filter(|body| !body.is_empty()) else {
            continue;
        };
        if request["bodyMasked"] == Value::Bool(true) {
            continue;
        }
        let is_cosmos = url.contains(".table.cosmos.");
        checked += 1;
        let before = differences.get(REJECTED).copied();
        let sent = Sent {
            method: header(&request["headers"], "X-HTTP-Method").unwrap_or_else(|| method.to_owned()),
            path: path(url),
            if_match: header(&request["headers"], "If-Match"),
            body: body.to_owned(),
        };
        if url.contains("comp=") {
            document(name, url, body, is_cosmos, &mut differences).await;
        } else if sent.path == "$batch" {
            batch(name, body, is_cosmos, &mut differences).await;
        } else if sent.path == "Tables" {
            let json: Value = serde_json::from_str(body).unwrap();
            let canned = Canned::new([Step::response(204, &[("location", "https://acct/Tables('t')")], "")]);
            match service(is_cosmos, &canned).dynamic_table(json["TableName"].as_str().unwrap()) {
                Ok(table) => {
                    table.create_table().await.unwrap();
                    let ours = ours(&canned);
                    assert_eq!((ours.method, ours.path), (sent.method, sent.path), "{name}");
                    assert_eq!(serde_json::from_str::<Value>(&ours.body).unwrap(), json, "{name}");
                }
                Err(_) => {
                    assert_eq!(exchange["response"]["status"], 400, "{name}");
                    *differences.entry(NAME_REJECTED).or_default() += 1;
                }
            }
        } else {
            write(name, &sent, is_cosmos, &mut differences).await;
        }
        if differences.get(REJECTED).copied() != before {
            let response = &exchange["response"];
            let body = response["body"].as_str().unwrap_or_default();
            let was_rejected = response["status"].as_u64() >= Some(400) || body.contains("HTTP/1.1 4");
            assert!(was_rejected, "{name}: the service took it");
        }
    }
    assert!(checked >= 170, "only {checked}");
    let expected = BTreeMap::from([
        (COSMOS_KEYS, 1),
        (COSMOS_PROPERTIES, 1),
        (EMPTY_BATCH, 1),
        (KEYS_UNREADABLE, 3),
        (NAME_REJECTED, 1),
        (REJECTED, 5),
        (TUNNELLED_NOT, 10),
    ]);
    assert_eq!(differences, expected);
}
