//! A recorded session: requests, responses and times.
//!
//! Contains the parser of the files. `masked.rs` reconstructs requests that were not recorded.

use std::collections::BTreeMap;
use std::path::Path;

use azure_table::DateTime;
use serde_json::Value;

/// One request and its response.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) request: Requested,
    pub(super) response: Responded,
    /// The recorder omitted everything but the URL of the request.
    pub(super) is_masked: bool,
}

/// A request, without its signature.
#[derive(Clone, Debug)]
pub(super) struct Requested {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// A response. Names of headers are in lower case.
#[derive(Clone, Debug)]
pub(super) struct Responded {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
    /// The recorder parsed the JSON and wrote it again: the original spacing is lost.
    pub(super) is_rewritten: bool,
}

impl Requested {
    /// The first label of the host: the account, also for the secondary.
    pub(super) fn account(&self) -> &str {
        let host = self.url.split('/').nth(2).unwrap();
        host.split('.').next().unwrap().trim_end_matches("-secondary")
    }

    pub(super) fn is_cosmos(&self) -> bool {
        self.url.contains(".table.cosmos.")
    }

    /// The path without its leading slash, as it was sent.
    pub(super) fn path(&self) -> &str {
        let below = self.url.splitn(4, '/').nth(3).unwrap_or_default();
        below.split('?').next().unwrap()
    }

    /// The URL up to the path.
    pub(super) fn base(&self) -> &str {
        &self.url[..self.url.len() - self.url.splitn(4, '/').nth(3).map_or(0, |below| below.len() + 1)]
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        Some(&headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?.1)
    }

    pub(super) fn is_batch(&self) -> bool {
        self.path() == "$batch"
    }
}

impl Responded {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The time of the response, to the second.
    pub(super) fn date(&self) -> DateTime {
        let date = httpdate::parse_http_date(self.header("date")).unwrap();
        date.try_into().unwrap()
    }

    /// The times in its ETags, in order, each as the text between the quotes.
    pub(super) fn versions(&self) -> Vec<String> {
        let text = format!("{}{}", self.header("etag"), self.body);
        let parts = text.split("datetime'").skip(1);
        // Not the literals of a filter.
        let versions = parts.map(|part| part.split('\'').next().unwrap());
        versions
            .filter(|text| text.contains("%3A"))
            .map(str::to_owned)
            .collect()
    }
}

/// The time that is part of a version.
pub(super) fn moment(version: &str) -> DateTime {
    version.replace("%3A", ":").parse().unwrap()
}

fn headers(value: &Value) -> Vec<(String, String)> {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn exchange(value: &Value) -> Exchange {
    let (request, response) = (&value["request"], &value["response"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let responded = headers(&response["headers"]).into_iter();
    Exchange {
        request: Requested {
            method: text(&request["method"]),
            url: text(&request["url"]),
            headers: headers(&request["headers"]),
            body: text(&request["body"]),
        },
        response: Responded {
            status: response["status"].as_u64().unwrap().try_into().unwrap(),
            headers: responded
                .map(|(name, value)| (name.to_ascii_lowercase(), value))
                .collect(),
            // One recorder used two names for the account.
            body: text(&response["body"]).replace("fakecosmosaccount", "fakeendpoint"),
            is_rewritten: value["response"].get("bodyReserialised").is_some(),
        },
        is_masked: request.get("bodyMasked").is_some(),
    }
}

/// Returns the sessions in a folder, by name.
pub(super) fn sessions(folder: &Path) -> Vec<(String, Vec<Exchange>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let session: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        found.push((name, with_one_name(session.iter().map(exchange).collect())));
    }
    found.sort_by(|(a, _), (b, _): &(String, Vec<Exchange>)| a.cmp(b));
    found
}

/// Returns the session with the account name of its responses in its URLs: some recorders replaced it only in requests.
fn with_one_name(mut session: Vec<Exchange>) -> Vec<Exchange> {
    let name = session.iter().find_map(|exchange| {
        let shown = format!("{}{}", exchange.response.header("location"), exchange.response.body);
        let hosts = shown.split("https://").skip(1);
        let hosts = hosts.filter_map(|rest| Some(rest.split_once(".table.")?.0));
        let mut names = hosts.filter(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        names.next().map(str::to_owned)
    });
    for Exchange { request, .. } in &mut session {
        let present = request.account().to_owned();
        if let Some(name) = &name {
            request.url = request.url.replacen(&present, name, 1);
        }
    }
    session
}
