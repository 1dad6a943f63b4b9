//! A recorded session, repeated on a separate emulator.
//!
//! Contains the parts of a request that were not recorded: a signature, the time, and the state that the session
//! assumes, which is created first. Versions and positions are translated between the two.

use azure_table::Emulator;
use azure_table::emulator::EmulatorClock;
use azure_table::transport::Transport as _;
use azure_table_tests::texts::percent_decoded;
use base64::Engine as _;
use bytes::Bytes;
use http::{Request, Response};

use super::super::signed;
use super::session::{Exchange, Requested, Responded, moment};

/// A token that the emulator accepts.
const TOKEN: &str = "recorded";

/// The row that a session inserted before its first copied exchange: session, table, body.
///
/// Source: the index of the recordings.
const INSERTED_BEFORE: &[(&str, &str, &str)] = &[(
    "go_TestBatchError_storage",
    "tableName2163872032",
    r#"{"PartitionKey":"partition","RowKey":"3"}"#,
)];
/// CORS rules of an account whose responses show that it had some.
const BROWSERS: &str = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://contoso.example</AllowedOrigins>\
    <AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders /><AllowedHeaders />\
    </CorsRule></Cors></StorageServiceProperties>";

/// The text of a continuation token of Storage.
pub(super) fn decoded_token(token: &str) -> Option<String> {
    let text = token.splitn(3, '!').nth(2)?.replace('-', "=");
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    String::from_utf8(bytes).ok()
}

/// One session on a separate emulator.
pub(super) struct Replay {
    emulator: Emulator,
    /// Recorded versions, and the versions of the same writes here.
    versions: Vec<(String, String)>,
    /// The same for continuation tokens.
    tokens: Vec<(String, String)>,
    tables: Vec<String>,
}

impl Replay {
    pub(super) fn new(session: &[Exchange]) -> Self {
        let clock = EmulatorClock::fixed(session[0].response.date());
        let mut emulator = Emulator::new().shared_clock(clock).token(TOKEN);
        for exchange in session {
            emulator = emulator.account(exchange.request.account(), signed::KEY).unwrap();
        }
        Self {
            emulator,
            versions: Vec::new(),
            tokens: Vec::new(),
            tables: Vec::new(),
        }
    }

    async fn send(&self, requested: &Requested, is_let_in: bool) -> Responded {
        let url = signed::with_signature(requested.account(), &requested.url);
        let uri = self.with_positions(url.as_deref().unwrap_or(&requested.url));
        let mut request = Request::builder().method(requested.method.as_str()).uri(uri);
        const OURS: [&str; 5] = ["authorization", "connection", "content-length", "date", "x-ms-date"];
        for (name, value) in &requested.headers {
            if !OURS.contains(&name.to_ascii_lowercase().as_str()) {
                request = request.header(name, self.translated(value));
            }
        }
        let now = std::time::SystemTime::try_from(self.emulator.clock().now()).unwrap();
        let date = httpdate::fmt_http_date(now);
        if is_let_in && url.is_none() {
            // A request without a date had a token.
            let has = |name| requested.header(name).is_some();
            let has_date = requested.headers.is_empty() || has("date") || has("x-ms-date");
            let is_masked = !has("user-agent") && !has("x-ms-client-request-id");
            let proof = if has_date || is_masked {
                let content = ["content-md5", "content-type"].map(|name| requested.header(name).unwrap_or_default());
                let below = &requested.url[requested.base().len()..];
                signed::shared_key(requested.account(), &requested.method, content, &date, below)
            } else {
                format!("Bearer {TOKEN}")
            };
            request = request.header("authorization", proof);
        }
        let body = Bytes::from(self.translated(&requested.body));
        let request = request.header("x-ms-date", date).body(body).unwrap();
        responded(self.emulator.send(request).await.unwrap())
    }

    /// Returns a URL with the positions of the pages here.
    fn with_positions(&self, url: &str) -> String {
        let Some((path, query)) = url.split_once('?') else {
            return url.to_owned();
        };
        let pairs = query.split('&').map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value_read = percent_decoded(value);
            let mut tokens = self.tokens.iter().filter(|_| name.starts_with("Next"));
            let known = tokens.find(|(live, _)| *live == value_read);
            known.map_or(pair.to_owned(), |(_, own)| {
                let encoded: String = own.bytes().map(|byte| format!("%{byte:02X}")).collect();
                format!("{name}={encoded}")
            })
        });
        format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
    }

    /// Returns recorded text with the versions of the rows here.
    fn translated(&self, text: &str) -> String {
        let pairs = self.versions.iter();
        pairs.fold(text.to_owned(), |text, (live, own)| text.replace(live, own))
    }

    /// Returns a response of the emulator with the recorded versions.
    fn in_recorded_terms(&self, mut response: Responded) -> Responded {
        for (live, own) in &self.versions {
            let (live_time, own_time) = (live.replace("%3A", ":"), own.replace("%3A", ":"));
            let put = |text: &str| text.replace(own, live).replace(&own_time, &live_time);
            response.body = put(&response.body);
            for value in response.headers.values_mut() {
                *value = put(value);
            }
        }
        response
    }

    /// Creates the state that an exchange assumes: the table of a session whose recording begins after its creation.
    async fn prepare(&mut self, exchange: &Exchange) {
        let Exchange { request, response, .. } = exchange;
        let path = percent_decoded(request.path());
        let name = |text: &str| -> String { text.chars().take_while(char::is_ascii_alphanumeric).collect() };
        let table = if let Some(table) = path.strip_prefix("Tables('") {
            name(table)
        } else if request.is_batch() {
            let mut lines = request.body.lines();
            let line = lines.find(|line| line.contains(" HTTP/1.1")).unwrap_or_default();
            let address = line.split(' ').nth(1).unwrap_or_default();
            let below = address
                .split_once("://")
                .map_or(address, |(_, rest)| rest.split_once('/').unwrap().1);
            name(below.trim_start_matches('/'))
        } else {
            name(&path)
        };
        let is_missing =
            response.status == 404 && path.starts_with("Tables") || response.body.contains("TableNotFound");
        if !is_missing && !table.is_empty() && table != "Tables" {
            self.make_table(request, &table).await;
        }
    }

    /// Creates the state that the account's owner made before the session, or that another client made meanwhile.
    pub(super) async fn begin(&mut self, name: &str, session: &[Exchange]) {
        let first = &session[0].request;
        let mut vary = session.iter().map(|exchange| exchange.response.header("vary"));
        if vary.any(|header| header == "Origin") {
            let path = "?restype=service&comp=properties";
            self.set(first, "PUT", path, BROWSERS).await;
        }
        let inserted = INSERTED_BEFORE.iter().filter(|(of, ..)| *of == name);
        for (_, table, body) in inserted {
            self.make_table(first, table).await;
            self.set(first, "POST", table, body).await;
        }
    }

    /// Creates the tables of other clients that a list of all tables contains, or continues with.
    pub(super) async fn make_listed(&mut self, exchange: &Exchange) {
        let listed: serde_json::Value = serde_json::from_str(&exchange.response.body).unwrap();
        let shown = listed["value"].as_array().unwrap().iter();
        let shown = shown.map(|table| table["TableName"].as_str().unwrap().to_owned());
        let next = decoded_token(exchange.response.header("x-ms-continuation-nexttablename"));
        let next = next.map(|text| text.split('\u{1}').next().unwrap().to_owned());
        for table in shown.chain(next).collect::<Vec<_>>() {
            self.make_table(&exchange.request, &table).await;
        }
    }

    async fn make_table(&mut self, like: &Requested, table: &str) {
        if self.tables.iter().any(|known| known.eq_ignore_ascii_case(table)) {
            return;
        }
        self.tables.push(table.to_owned());
        let body = format!(r#"{{"TableName":"{table}"}}"#);
        self.set(like, "POST", "Tables", &body).await;
    }

    /// A request of this test, which the account's owner sent before the recording.
    pub(super) async fn set(&self, like: &Requested, method: &str, path: &str, body: &str) {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let requested = Requested {
            method: method.to_owned(),
            url: format!("{}/{path}", like.base().replace("-secondary", "")),
            headers: vec![
                header("x-ms-version", "2019-02-02"),
                header("accept", "application/json;odata=nometadata"),
            ],
            body: body.to_owned(),
        };
        let response = self.send(&requested, true).await;
        assert!(response.status < 300, "{requested:?}: {response:?}");
    }

    /// Sends the recorded request. The response uses the names of the recording.
    pub(super) async fn ask(&mut self, exchange: &Exchange, requested: &Requested) -> Responded {
        let live = &exchange.response;
        let versions = live.versions();
        let is_write = requested.method != "GET" && live.status < 300;
        let first = versions.iter().map(|version| moment(version)).min();
        let first = first.filter(|_| is_write);
        self.emulator.clock().set(first.unwrap_or_else(|| live.date()));
        if requested.method == "POST" && requested.path() == "Tables" {
            let body: serde_json::Value = serde_json::from_str(&requested.body).unwrap();
            self.tables.push(body["TableName"].as_str().unwrap().to_owned());
        } else {
            self.prepare(exchange).await;
        }
        let is_let_in = live.header("www-authenticate").is_empty();
        let own = self.send(requested, is_let_in).await;
        for name in ["nextpartitionkey", "nextrowkey", "nexttablename"] {
            let name = format!("x-ms-continuation-{name}");
            if !live.header(&name).is_empty() {
                let token = (live.header(&name).to_owned(), own.header(&name).to_owned());
                self.tokens.push(token);
            }
        }
        if is_write {
            for (live, own) in versions.into_iter().zip(own.versions()) {
                // Such writes run at the recorded time, so their version is the same text.
                assert!(live == own || requested.is_batch(), "{} {live} {own}", requested.url);
                if live != own && !self.versions.contains(&(live.clone(), own.clone())) {
                    self.versions.push((live, own));
                }
            }
        }
        self.in_recorded_terms(own)
    }
}

fn responded(response: Response<Bytes>) -> Responded {
    let headers = response.headers().iter();
    Responded {
        status: response.status().as_u16(),
        headers: headers
            .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()))
            .collect(),
        body: String::from_utf8(response.body().to_vec()).unwrap(),
        is_rewritten: false,
    }
}
