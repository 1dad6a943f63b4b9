//! Compares two responses to one request, without ids, times and the names of boundaries.
//!
//! Everything else must be equal: bodies byte by byte, including multipart ones.

use std::collections::BTreeMap;

use azure_table_tests::texts::{after_each, without, without_ids};

use super::session::Responded;

/// The levels on which responses are compared.
pub(super) const LEVELS: [&str; 5] = ["status", "code", "message", "headers", "body"];

/// Headers that belong to the connection, or contain the time or the id of the request.
const ASIDE: &[&str] = &[
    "connection",
    "content-length",
    "date",
    "transfer-encoding",
    "x-ms-request-id",
];

/// The date since which Cosmos DB sends the type of a response without a body.
const SINCE: &str = "2024-01-01T00:00:00Z";
/// The text of Cosmos DB about a table that exists, until 2024 and in 2026 (azure-data-tables,
/// `create_table_fail_on_exist`).
const TABLE_EXISTS: [&str; 2] = [
    "The specified table already exists.",
    "The specified table: [] already exists.",
];

/// The compared parts of a response.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) status: u16,
    /// The code of an error, also in a part of a batch.
    pub(super) code: Option<String>,
    /// The first line of an error's text.
    pub(super) message: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn of(response: &Responded, is_cosmos: bool) -> Self {
        let mut text = response.body.clone();
        if is_cosmos {
            text = text.replace(TABLE_EXISTS[0], TABLE_EXISTS[1]);
        }
        let (code, message) = error(&text).unzip();
        let mut kept = response.headers.clone();
        kept.retain(|name, _| !ASIDE.contains(&name.as_str()));
        let mut headers: BTreeMap<_, _> = kept.into_iter().map(header).collect();
        // Only newer recordings have it there.
        if is_cosmos && response.status == 204 && response.date() < SINCE.parse().unwrap() {
            headers.remove("content-type");
        }
        Self {
            status: response.status,
            code,
            message,
            headers,
            body: if is_cosmos { sorted(&body(&text)) } else { body(&text) },
        }
    }

    /// Returns the levels that apply, and if they are equal.
    pub(super) fn levels(&self, live: &Self) -> [Option<bool>; 5] {
        let is_error = live.code.is_some() || self.code.is_some();
        [
            Some(self.status == live.status),
            is_error.then(|| self.code == live.code),
            is_error.then(|| self.message == live.message),
            Some(self.headers == live.headers),
            Some(self.body == live.body),
        ]
    }
}

/// Returns the code and the first line of the text of an error, in any form.
fn error(body: &str) -> Option<(String, String)> {
    const JSON: &str = "{\"odata.error\":{\"code\":\"";
    if let Some((_, rest)) = body.split_once(JSON) {
        let (code, rest) = rest.split_once('"')?;
        let (_, text) = rest.split_once("\"value\":\"")?;
        let end = ["\\n", "\\r", "\""].iter().filter_map(|end| text.find(end)).min()?;
        return Some((code.to_owned(), text[..end].to_owned()));
    }
    let (_, rest) = body.split_once("<m:code>")?;
    let (code, rest) = rest.split_once("</m:code>")?;
    let (_, text) = rest.split_once("xml:lang=\"en-US\">")?;
    let end = text.find(['\n', '<'])?;
    Some((code.to_owned(), text[..end].to_owned()))
}

fn header((name, value): (String, String)) -> (String, String) {
    let value = match &*name {
        // Some recorders parsed it and wrote it again, with a space after each semicolon that neither service sends.
        "content-type" => boundaries(&value.replace("; ", ";")),
        // Two products, which some recorders wrote as a list.
        "server" => value.replace(", ", " "),
        // The tenant is the account's.
        "www-authenticate" => ids(&value),
        // A name and an id, which distinguishes tables of the same name: a time.
        "x-ms-continuation-nexttablename" => table_token(&value),
        // On Cosmos DB it holds the id of a resource.
        "x-ms-continuation-nextpartitionkey" => without(&value, "{\"token\":\"", "\""),
        _ => value,
    };
    (name, value)
}

fn table_token(token: &str) -> String {
    let text = super::repeated_session::decoded_token(token).unwrap_or_else(|| token.to_owned());
    let Some((name, id)) = text.split_once('\u{1}') else {
        return without(&text, "-RID:~", "#");
    };
    let is_time = id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit());
    format!("{} {name} {is_time}", token.split('!').nth(1).unwrap_or_default())
}

fn body(text: &str) -> String {
    let mut text = ids(&boundaries(text));
    for (before, end) in [
        ("\\nTime:", "\""),
        ("\nTime:", "<"),
        ("<LastSyncTime>", "<"),
        // The row of this version is unknown.
        (", documentdb-dotnet-sdk", "\\n"),
    ] {
        text = without(&text, before, end);
    }
    text
}

/// Sorts a list of tables by name: Cosmos DB guarantees no order.
fn sorted(text: &str) -> String {
    const BEGIN: &str = "{\"value\":[{\"TableName\":\"";
    let whole = text.strip_prefix(BEGIN).and_then(|rest| rest.split_once("\"}]"));
    let Some((names, rest)) = whole else {
        return text.to_owned();
    };
    const BETWEEN: &str = "\"},{\"TableName\":\"";
    let mut names: Vec<&str> = names.split(BETWEEN).collect();
    names.sort_unstable();
    format!("{BEGIN}{}\"}}]{rest}", names.join(BETWEEN))
}

/// Returns the text without the id of each boundary.
fn boundaries(text: &str) -> String {
    ["batchresponse_", "changesetresponse_"]
        .iter()
        .fold(text.to_owned(), |text, kind| {
            after_each(&text, kind, |rest| rest.get(36..).unwrap_or_default().to_owned())
        })
}

/// Returns the text without each id of a request, a tenant and the like.
fn ids(text: &str) -> String {
    const MARKS: &[&str] = &["RequestId:", "RequestID:", "ActivityId: ", "login.microsoftonline.com/"];
    let text = without_ids(text, MARKS);
    // One recorder replaced it by a word.
    MARKS.iter().fold(text, |text, mark| {
        after_each(&text, mark, |rest| {
            rest.strip_prefix("Sanitized").unwrap_or(rest).to_owned()
        })
    })
}
