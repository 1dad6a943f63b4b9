//! Recorded live sessions, asked again: the emulator answers as the live service did.
//!
//! Compared are status, code, and which headers there are. The recordings are fixtures outside of the repository
//! (`AZURE_TABLE_FIXTURES`, by default the folder `shared` beside the checkout); without them the test passes and says so.
//! Left out are sessions whose requests were not kept, and those with signatures, which were not kept either.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use super::*;

const KEY: &str = "AAECAwQFBgc=";
/// Exchanges whose answer came from what was there before the recording began, or whose signature was wrong on purpose.
const OTHER_STATE: &[(&str, usize)] = &[
    ("go_TestBatchError_storage", 0),
    ("net_EnableTenantDiscovery_401_challenge", 0),
    ("net_EnableTenantDiscovery_401_challenge", 1),
    ("py2017_table_list_tables_with_marker", 4),
    ("py2017_table_list_tables_with_marker", 5),
    ("py2017_table_list_tables_with_num_results", 4),
];
/// Exchanges with continuation tokens of Cosmos DB, which are not imitated.
const TOKENS: &[(&str, usize)] = &[
    ("go_TestContinuationTokens_cosmos", 12),
    ("go_TestQueryTable_cosmos", 7),
    ("go_TestQueryTable_cosmos", 8),
];
/// Headers of the connection, and those that depend on the recorder or the year.
const NOT_COMPARED: &[&str] = &[
    "connection",
    "content-length",
    "content-location",
    "content-type",
    "date",
    "server",
    "transfer-encoding",
    "vary",
    "x-ms-client-request-id",
    "x-ms-request-id",
];

/// A folder of the fixtures.
pub(super) fn fixtures(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("AZURE_TABLE_FIXTURES").map(PathBuf::from);
    let is_named = named.is_some();
    let folder = named.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared").into());
    let folder = folder.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!is_named, "AZURE_TABLE_FIXTURES is set, but has no folder {name}");
    eprintln!("skipped fixture {name}: set AZURE_TABLE_FIXTURES");
    None
}

fn sessions() -> Option<Vec<(String, Vec<Value>)>> {
    let folder = fixtures("recordings")?;
    let mut found = Vec::new();
    for kind in ["storage", "cosmos"] {
        for entry in std::fs::read_dir(folder.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let session = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            found.push((path.file_stem().unwrap().to_string_lossy().into_owned(), session));
        }
    }
    Some(found)
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Whether the requests of a session can be made again.
fn is_whole(name: &str, session: &[Value]) -> bool {
    let is_kept = |exchange: &Value| {
        let host = text(exchange, "/request/url").split('/').nth(2).unwrap();
        !text(exchange, "/request/url").contains("sig=") && host.split('.').next() != Some("REDACTED")
    };
    !name.starts_with("node") && session.iter().all(is_kept)
}

/// The code of an error, in any of its forms: JSON, XML, or JSON in a part of a batch.
fn code(body: &str) -> String {
    if let Some((code, _)) = crate::codec::xml::error(body) {
        return code;
    }
    let code = body.split(r#""odata.error":{"code":""#).nth(1);
    code.and_then(|code| code.split('"').next())
        .unwrap_or_default()
        .to_owned()
}

/// Status, code, names of headers.
type Seen = (u16, String, Vec<String>);

fn names<'a>(headers: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = headers.map(str::to_ascii_lowercase).collect();
    names.retain(|name| !NOT_COMPARED.contains(&name.as_str()));
    names.sort_unstable();
    names
}

fn live(response: &Value) -> Seen {
    let headers = response["headers"].as_object().unwrap();
    (
        response["status"].as_u64().unwrap().try_into().unwrap(),
        code(text(response, "/body")),
        names(headers.keys().map(String::as_str)),
    )
}

/// One session on an emulator of its own. Versions of rows are translated between the two.
struct Replay {
    emulator: Emulator,
    etags: HashMap<String, String>,
    tables: Vec<String>,
}

impl Replay {
    fn new(session: &[Value]) -> Self {
        // Recorded dates are not too old for it.
        let mut emulator = Emulator::new().with_clock(EmulatorClock::fixed(DateTime::from_unix_seconds(0)));
        for exchange in session {
            emulator = emulator.with_account(Self::account(exchange), KEY).unwrap();
        }
        Self {
            emulator,
            etags: HashMap::new(),
            tables: Vec::new(),
        }
    }

    fn account(exchange: &Value) -> &str {
        let host = text(exchange, "/request/url").split('/').nth(2).unwrap();
        host.split('.').next().unwrap().trim_end_matches("-secondary")
    }

    fn translated(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (live, own) in &self.etags {
            text = text.replace(live, own);
        }
        text
    }

    fn request(&self, exchange: &Value) -> Request<Bytes> {
        let recorded = &exchange["request"];
        let mut request = Request::builder()
            .method(text(recorded, "/method"))
            .uri(text(recorded, "/url"));
        let mut has_accept = false;
        for (name, value) in recorded["headers"].as_object().unwrap() {
            let left_out = ["authorization", "connection", "content-length", "date", "x-ms-date"];
            if !left_out.contains(&name.to_ascii_lowercase().as_str()) {
                request = request.header(name, self.translated(value.as_str().unwrap()));
                has_accept |= name.eq_ignore_ascii_case("accept");
            }
        }
        if !has_accept {
            request = request.header("accept", "application/json;odata=minimalmetadata");
        }
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let body = self.translated(text(recorded, "/body"));
        let mut request = request.header("x-ms-date", date).body(body.into()).unwrap();
        sign(&mut request, Self::account(exchange), KEY);
        request
    }

    /// Makes the table that an exchange takes for granted.
    async fn prepare(&mut self, exchange: &Value) {
        let (url, body) = (text(exchange, "/request/url"), text(exchange, "/request/body"));
        let path = url.splitn(4, '/').nth(3).unwrap().replace("%27", "'");
        let name = |text: &str| -> String { text.chars().take_while(char::is_ascii_alphanumeric).collect() };
        let table = if let Some(table) = path.strip_prefix("Tables('") {
            name(table)
        } else if path.starts_with("$batch") {
            let mut lines = body.lines();
            let line = lines.find(|line| line.contains(" HTTP/1.1")).unwrap_or_default();
            let address = line.split(' ').nth(1).unwrap_or_default();
            name(
                address
                    .rsplit_once(".com/")
                    .map_or(address.trim_start_matches('/'), |(_, path)| path),
            )
        } else {
            name(&path)
        };
        let (status, code, _) = live(&exchange["response"]);
        let is_missing = status == 404 && (path.starts_with("Tables") || code == "TableNotFound");
        if is_missing || table.is_empty() || table == "Tables" || self.tables.contains(&table) {
            return;
        }
        let base: String = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let body = format!(r#"{{"TableName":"{table}"}}"#);
        let mut request = unsigned_at(&base.replace("-secondary", ""), "POST", "Tables", &[], &body);
        sign(&mut request, Self::account(exchange), KEY);
        self.emulator.send(request).await.unwrap();
        self.tables.push(table);
    }

    async fn ask(&mut self, exchange: &Value) -> Seen {
        let request = exchange["request"].clone();
        if text(&request, "/method") == "POST" && text(&request, "/url").contains("/Tables") {
            let body: Value = serde_json::from_str(text(&request, "/body")).unwrap();
            self.tables.push(text(&body, "/TableName").to_owned());
        } else {
            self.prepare(exchange).await;
        }
        let answer = self.emulator.send(self.request(exchange)).await.unwrap();
        // In order: the ETags of headers and those in the body.
        let all = |text: &str| -> Vec<String> {
            let unescaped = text.replace('\\', "");
            let parts = unescaped.split("W/\"").skip(1);
            parts
                .map(|part| format!("W/\"{}\"", part.split('"').next().unwrap()))
                .collect()
        };
        let recorded = exchange["response"]["headers"].as_object().unwrap();
        let etag = recorded.iter().find(|(name, _)| name.eq_ignore_ascii_case("etag"));
        if let Some(etag) = etag.and_then(|(_, value)| value.as_str()) {
            self.etags.insert(etag.to_owned(), header(&answer, "etag").to_owned());
        }
        self.etags.extend(
            all(text(exchange, "/response/body"))
                .into_iter()
                .zip(all(body(&answer))),
        );
        (
            answer.status().as_u16(),
            code(body(&answer)),
            names(answer.headers().keys().map(|name| name.as_str())),
        )
    }
}

#[tokio::test]
async fn recorded_requests_are_answered_as_they_were_live() {
    let Some(sessions) = sessions() else { return };
    let (mut compared, mut differences) = (0, Vec::new());
    for (name, session) in sessions.iter().filter(|(name, session)| is_whole(name, session)) {
        let mut replay = Replay::new(session);
        for (index, exchange) in session.iter().enumerate() {
            let own = replay.ask(exchange).await;
            compared += 1;
            let live = live(&exchange["response"]);
            let mut known = OTHER_STATE.iter().chain(TOKENS);
            let is_known = known.any(|known| *known == (name.as_str(), index));
            if (own != live) != is_known {
                let url = text(exchange, "/request/url");
                differences.push(format!("{name} {index} {url}: {own:?}, live {live:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(compared > 250, "{compared}");
}
