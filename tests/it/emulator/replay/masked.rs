//! Requests of which only the URL was recorded, reconstructed from their responses and from later reads.
//!
//! The response to a write has the new version, and a later read shows the row with that version. Headers follow from
//! the response: the level of its metadata, the applied preference. If nothing identifies the row, the request cannot
//! be reconstructed.

use azure_table_tests::texts::percent_decoded;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::session::{Exchange, Requested};

/// A version that no row has.
const STALE: &str = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"";

/// Returns a request whose response has all the needed information, or `None`.
pub(super) fn made_again(session: &[Exchange], index: usize) -> Option<Requested> {
    let Exchange { request, response, .. } = &session[index];
    let mut requested = request.clone();
    requested.headers = vec![
        ("Accept".into(), accept(response.header("content-type"))),
        ("x-ms-version".into(), response.header("x-ms-version").into()),
        ("DataServiceVersion".into(), "3.0;NetFx".into()),
    ];
    if requested.url.contains("comp=") {
        requested.headers[0].1 = "application/xml".into();
        if requested.method == "PUT" {
            let read = session[index..].iter().find(|later| {
                later.request.method == "GET" && later.request.url == request.url && later.response.status == 200
            })?;
            requested.body = read.response.body.clone();
        }
        return Some(requested);
    }
    if request.method == "GET" {
        return Some(requested);
    }
    let preference = response.header("preference-applied");
    if !preference.is_empty() {
        requested.headers.push(("Prefer".into(), preference.into()));
    }
    if request.is_batch() {
        batch(session, index, &mut requested)?;
        return Some(requested);
    }
    let path = percent_decoded(request.path());
    let below = || response.header("location").rsplit_once(".net/").map(|(_, path)| path);
    match request.method.as_str() {
        "POST" if path == "Tables" => {
            let table = below()?.strip_prefix("Tables('")?.strip_suffix("')")?;
            requested.body = format!(r#"{{"TableName":"{table}"}}"#);
        }
        "POST" => requested.body = entity(session, &keys(below()?)?, response.header("etag")),
        "DELETE" if path.starts_with("Tables(") => {}
        _ => {
            let is_known = session[..index].iter().any(|earlier| wrote(earlier, &path));
            match response.status {
                412 => requested.headers.push(("If-Match".into(), STALE.into())),
                _ if is_known => requested.headers.push(("If-Match".into(), "*".into())),
                _ => {}
            }
            if request.method != "DELETE" {
                requested.body = entity(session, &keys(&path)?, response.header("etag"));
            }
        }
    }
    if !requested.body.is_empty() {
        let json = ("Content-Type".into(), "application/json".into());
        requested.headers.push(json);
    }
    Some(requested)
}

fn accept(content_type: &str) -> String {
    let level = content_type.split(';').find(|part| part.trim().starts_with("odata="));
    format!("application/json;{}", level.unwrap_or("odata=minimalmetadata").trim())
}

fn wrote(earlier: &Exchange, path: &str) -> bool {
    let location = percent_decoded(earlier.response.header("location"));
    earlier.response.status < 300 && location.ends_with(path)
}

/// Returns the PartitionKey and RowKey of a URL.
fn keys(address: &str) -> Option<[String; 2]> {
    let address = percent_decoded(address);
    let (_, rest) = address.split_once("(PartitionKey='")?;
    let (partition, row) = rest.strip_suffix("')")?.split_once("',RowKey='")?;
    Some([partition, row].map(|key| key.replace("''", "'")))
}

/// A row in a response: its members in their order.
#[derive(Clone, Default)]
struct Row(Vec<(String, Value)>);

impl Row {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name)?.1.as_str()
    }

    fn keys(&self) -> Option<[String; 2]> {
        Some([self.get("PartitionKey")?.to_owned(), self.get("RowKey")?.to_owned()])
    }

    /// Returns its version, even if the response has only its time.
    fn version(&self) -> Option<String> {
        let time = || Some(self.get("Timestamp")?.replace(':', "%3A"));
        let of_time = || Some(format!("W/\"datetime'{}'\"", time()?));
        self.get("odata.etag").map(str::to_owned).or_else(of_time)
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Row;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Row, A::Error> {
                let mut row = Row::default();
                while let Some(member) = members.next_entry()? {
                    row.0.push(member);
                }
                Ok(row)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Returns all rows in responses, including batches.
fn shown(session: &[Exchange]) -> Vec<Row> {
    #[derive(serde::Deserialize)]
    struct Page {
        value: Vec<Row>,
    }
    let bodies = session.iter().flat_map(|exchange| exchange.response.body.split("\r\n"));
    let rows = bodies.flat_map(|text| match serde_json::from_str::<Page>(text) {
        Ok(page) => page.value,
        Err(_) => serde_json::from_str::<Row>(text).into_iter().collect(),
    });
    rows.filter(|row| row.version().is_some()).collect()
}

/// Returns the keys of all rows that were written with this version, in order.
fn written(session: &[Exchange], version: &str) -> Vec<[String; 2]> {
    let texts = session.iter().map(|exchange| exchange.response.body.as_str());
    let mut written: Vec<[String; 2]> = texts
        .flat_map(parts)
        .filter(|part| part.field("ETag") == Some(version))
        .filter_map(|part| keys(part.field("Location")?))
        .collect();
    written.sort();
    written
}

/// Returns the body of the row with these keys and this version, in the order of the read. It has only the keys if
/// nothing read the row. A row that was read without its keys is found by its position among the rows of the version.
fn entity(session: &[Exchange], row_keys: &[String; 2], version: &str) -> String {
    let mut rows = shown(session);
    rows.retain(|row| row.version().as_deref() == Some(version));
    let place = written(session, version).iter().position(|keys| keys == row_keys);
    let nameless = || rows.iter().filter(|row| row.keys().is_none()).nth(place?);
    let mut named = rows.iter().filter(|row| row.keys().as_ref() == Some(row_keys));
    let found = named.next().or_else(nameless);
    let [partition, row] = row_keys;
    let mut members = vec![
        ("PartitionKey".to_owned(), Value::from(partition.as_str())),
        ("RowKey".to_owned(), Value::from(row.as_str())),
    ];
    let others = found.into_iter().flat_map(|row| &row.0).filter(|(name, _)| {
        !name.starts_with("odata.")
            && !name.starts_with("Timestamp")
            && !["PartitionKey", "RowKey"].contains(&name.as_str())
    });
    members.extend(others.cloned());
    let member = |(name, value): &(String, Value)| format!("{}:{value}", Value::from(name.as_str()));
    let texts: Vec<String> = members.iter().map(member).collect();
    format!("{{{}}}", texts.join(","))
}

/// One part of a batch response.
struct Part<'a> {
    status: u16,
    head: &'a str,
    body: &'a str,
}

impl Part<'_> {
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

fn parts(body: &str) -> Vec<Part<'_>> {
    let messages = body.split("HTTP/1.1 ").skip(1);
    messages
        .filter_map(|message| {
            let (head, rest) = message.split_once("\r\n\r\n")?;
            let status = head.get(..3)?.parse().ok()?;
            let body = rest.split("\r\n--").next().unwrap_or_default();
            Some(Part { status, head, body })
        })
        .collect()
}

fn batch(session: &[Exchange], index: usize, requested: &mut Requested) -> Option<()> {
    const BATCH: &str = "batch_of_this_test";
    const SET: &str = "changeset_of_this_test";
    let body = &session[index].response.body;
    let parts = parts(body);
    let table = session[..index].iter().find_map(|earlier| {
        let (_, name) = earlier.response.header("location").split_once("/Tables('")?;
        Some(name.trim_end_matches("')"))
    })?;
    let content_type = format!("multipart/mixed; boundary={BATCH}");
    requested.headers.push(("Content-Type".into(), content_type));
    let head = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
    let base = session[index].request.base();
    if !body.contains("changesetresponse_") {
        // A read: of the row in the response, or of any other row.
        let row: Value = serde_json::from_str(parts.first()?.body).ok()?;
        let key = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("missing").to_owned();
        let address = address(table, &[key("PartitionKey"), key("RowKey")]);
        requested.body = format!(
            "--{BATCH}\r\n{head}GET {base}/{address} HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n\r\n\r\n--{BATCH}--\r\n"
        );
        return Some(());
    }
    let rows = shown(&session[index..]);
    let mut taken: Vec<[String; 2]> = parts.iter().filter_map(|part| keys(part.field("Location")?)).collect();
    let mut out = format!("--{BATCH}\r\nContent-Type: multipart/mixed; boundary={SET}\r\n\r\n");
    let mut operation = |line: String, fields: String, body: String| {
        out.push_str(&format!("--{SET}\r\n{head}{line} HTTP/1.1\r\n{fields}\r\n{body}\r\n"));
    };
    for part in &parts {
        let mut fields = format!("Accept: {}\r\n", accept(part.field("Content-Type").unwrap_or_default()));
        for (name, sent) in [("Content-ID", "Content-ID"), ("Preference-Applied", "Prefer")] {
            if let Some(value) = part.field(name) {
                fields.push_str(&format!("{sent}: {value}\r\n"));
            }
        }
        let version = part.field("ETag").unwrap_or_default();
        fields.push_str("Content-Type: application/json\r\n");
        if part.status == 400 && part.body.contains("InvalidDuplicateRow") {
            let body = r#"{"PartitionKey":"p","RowKey":"r"}"#;
            operation(format!("POST {base}/{table}"), fields.clone(), body.into());
            operation(format!("POST {base}/{table}"), fields, body.into());
        } else if let Some(location) = part.field("Location") {
            let body = entity(session, &keys(location)?, version);
            operation(format!("POST {base}/{table}"), fields, body);
        } else if part.status == 204 && !version.is_empty() {
            let mut read = rows.iter().filter(|row| row.version().as_deref() == Some(version));
            let keys = read.find_map(|row| row.keys().filter(|keys| !taken.contains(keys)))?;
            let body = entity(session, &keys, version);
            operation(format!("PUT {base}/{}", address(table, &keys)), fields, body);
            taken.push(keys);
        } else if part.status == 204 {
            // A row that existed, and does no longer.
            let before = shown(&session[..index]);
            let is_left = |keys: &[String; 2]| rows.iter().any(|row| row.keys().as_ref() == Some(keys));
            let mut before = before.iter().filter_map(Row::keys);
            let gone = before.find(|keys| !is_left(keys) && !taken.contains(keys))?;
            operation(
                format!("DELETE {base}/{}", address(table, &gone)),
                format!("{fields}If-Match: *\r\n"),
                String::new(),
            );
            taken.push(gone);
        } else {
            return None;
        }
    }
    requested.body = format!("{out}--{SET}--\r\n--{BATCH}--\r\n");
    Some(())
}

fn address(table: &str, [partition, row]: &[String; 2]) -> String {
    let key = |text: &str| text.replace('\'', "''").replace('%', "%25").replace(' ', "%20");
    format!("{table}(PartitionKey='{}',RowKey='{}')", key(partition), key(row))
}
