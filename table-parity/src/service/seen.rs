//! Two responses to one request, without ids, times and the names of boundaries.

use std::collections::BTreeMap;

use azure_table::DateTime;
use azure_table::testing::{mask_guids, mask_times};
use azure_table_tests::texts::{after_each, without, without_ids};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Response;

use crate::service::mask::{Mask, shows_properties};

/// Headers of the connection, and with the time or id of a request.
const ASIDE: [&str; 10] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "server",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
    "x-ms-client-request-id",
    "x-ms-request-id",
];
/// The characters of a body that are kept as they are. The rest is a length and a hash.
const MAX_CHARACTERS: usize = 4_000;

/// The compared parts of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    /// The code of an error, also in a part of a batch.
    pub(crate) code: String,
    /// The first line of its text.
    pub(crate) message: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// A difference between two responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// `status`, `code`, `message`, `body`, or the name of a header after `header `.
    pub(crate) level: String,
    pub(crate) emulator: String,
    pub(crate) service: String,
}

impl Seen {
    pub(crate) fn of(response: &Response<Bytes>, mask: &Mask) -> Self {
        let text = mask.hide(&String::from_utf8_lossy(response.body()));
        let (code, message) = error(&text).unwrap_or_default();
        let headers = response
            .headers()
            .iter()
            .filter(|(name, _)| !ASIDE.contains(&name.as_str()));
        let headers = headers.map(|(name, value)| {
            let value = mask.hide(&String::from_utf8_lossy(value.as_bytes()));
            let value = boundaries(&mask_times(&mask_guids(&value)));
            (name.as_str().to_owned(), positions(&spaces(&value)))
        });
        Self {
            status: response.status().as_u16(),
            code,
            message,
            headers: headers.collect(),
            body: if shows_properties(&text) {
                "(the service properties)".to_owned()
            } else {
                shortened(&normal(&text))
            },
        }
    }

    /// Returns the differences to the emulator's response.
    ///
    /// A code or message that differs is not reported as a body too.
    pub(crate) fn differences(&self, emulator: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut compare = |level: &str, emulator: &str, service: &str| {
            if emulator != service {
                found.push(Difference {
                    level: level.to_owned(),
                    emulator: emulator.to_owned(),
                    service: service.to_owned(),
                });
            }
        };
        compare("status", &emulator.status.to_string(), &self.status.to_string());
        compare("code", &emulator.code, &self.code);
        compare("message", &emulator.message, &self.message);
        if (&emulator.code, &emulator.message) == (&self.code, &self.message) {
            compare("body", &emulator.body, &self.body);
        }
        let names = emulator.headers.keys().chain(self.headers.keys());
        for name in names.collect::<std::collections::BTreeSet<_>>() {
            let [own, live] = [emulator, self].map(|seen| seen.headers.get(name).map_or("", String::as_str));
            compare(&format!("header {name}"), own, live);
        }
        found
    }

    /// Returns status, code and message in one text.
    pub(crate) fn outcome(&self) -> String {
        match (self.code.as_str(), self.message.as_str()) {
            ("", _) if self.status >= 400 => format!("{} without a code", self.status),
            ("", _) => self.status.to_string(),
            (code, message) => format!("{} {code}: {message}", self.status),
        }
    }
}

/// Returns the code and the first line of the text of an error, in any form.
pub(crate) fn error(body: &str) -> Option<(String, String)> {
    const JSON: &str = "{\"odata.error\"";
    if let Some(at) = body.find(JSON) {
        // In a batch, further parts follow.
        let mut values = serde_json::Deserializer::from_str(&body[at..]).into_iter::<serde_json::Value>();
        let value = values.next()?.ok()?;
        let error = &value["odata.error"];
        let message = error["message"]["value"].as_str().unwrap_or_default();
        let line = message.lines().next().unwrap_or_default();
        return Some((error["code"].as_str()?.to_owned(), line.to_owned()));
    }
    let within = |tag: &str| {
        let (_, rest) = body.split_once(&format!("<{tag}"))?;
        Some(rest.split_once('>')?.1.split(['<', '\n', '\r']).next()?.to_owned())
    };
    let forms = [("m:code", "m:message"), ("code", "message"), ("Code", "Message")];
    forms
        .into_iter()
        .find_map(|(code, message)| within(code).zip(within(message)))
}

fn normal(text: &str) -> String {
    let text = numbered_times(&mask_guids(&boundaries(text)));
    without(&without(&text, "\\nTime:", "\""), "\nTime:", "<")
}

/// Replaces each time by a number, so that equal times have the same one.
fn numbered_times(text: &str) -> String {
    const PLACEHOLDER: &str = "{time}";
    let text = text.replace("%3A", ":");
    let masked = mask_times(&text);
    let mut known: Vec<String> = Vec::new();
    let (mut numbered, mut rest) = (String::new(), text.as_str());
    let mut pieces = masked.split(PLACEHOLDER);
    let first = pieces.next().unwrap_or_default();
    numbered.push_str(first);
    rest = rest.get(first.len()..).unwrap_or_default();
    for piece in pieces {
        let end = match piece {
            "" => rest.len(),
            piece => rest.find(piece).unwrap_or(rest.len()),
        };
        let time = rest[..end].to_owned();
        let number = known.iter().position(|one| *one == time).unwrap_or_else(|| {
            known.push(time);
            known.len() - 1
        });
        numbered.push_str(&format!("{{time {}}}{piece}", number + 1));
        rest = rest.get(end + piece.len()..).unwrap_or_default();
    }
    numbered
}

/// Removes the ids of requests and of boundaries.
fn boundaries(text: &str) -> String {
    const MARKS: [&str; 5] = [
        "batchresponse_",
        "changesetresponse_",
        "RequestId:",
        "RequestID:",
        "ActivityId: ",
    ];
    without_ids(text, &MARKS)
}

/// Recorders that parse a header and write it again add a space after each semicolon, and some servers send one.
pub(crate) fn spaces(text: &str) -> String {
    text.replace("; ", ";")
}

/// Replaces the ids in continuations of Cosmos DB, each of which the emulator begins with the time of a creation.
fn positions(text: &str) -> String {
    [("RID:~", '#'), ("\"token\":\"", '"')]
        .iter()
        .fold(text.to_owned(), |text, (before, end)| {
            after_each(&text, before, |rest| {
                let (id, _) = rest.split_once(*end).unwrap_or((rest, ""));
                let form = if begins_with_time(id) { "{time}{number}" } else { "{id}" };
                format!("{form}{}", &rest[id.len()..])
            })
        })
}

/// Returns `true` if an id begins with a time of the last day.
fn begins_with_time(id: &str) -> bool {
    const DAY: i64 = 24 * 3_600 * 10_000_000;
    let bytes = STANDARD.decode(id).unwrap_or_default();
    let first = bytes.first_chunk().map(|bytes| i64::from_le_bytes(*bytes));
    first.is_some_and(|ticks| (DateTime::now().ticks() - ticks).abs() < DAY)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        None => text.to_owned(),
        Some((at, _)) => {
            // FNV-1a, over everything.
            let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            format!("{}… ({} bytes, {hash:016x})", &text[..at], text.len())
        }
    }
}
