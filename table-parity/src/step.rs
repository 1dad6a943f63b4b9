//! The requests of facts and of probes: as values, and their text.
//!
//! In paths, headers and bodies these parts are replaced:
//!
//! | part | replaced by |
//! |---|---|
//! | `<base>` | the URL of the account, without a slash at its end |
//! | `<T>`, `<K>` | the table of the run, the own partition of the fact or probe |
//! | `<N>` | the beginning of its own table names |
//! | `<R:row>` | the URL of a row of `<K>`, `<T>(PartitionKey='…',RowKey='row')` |
//! | `<x*5>` | `xxxxx` |
//! | `<wide*3*100>` | three properties with 100 characters each |
//! | `<etag>` | the ETag of the last response with one |
//! | `<next>` | the parameters with the continuation of the last response, `NextPartitionKey=…&NextRowKey=…` |
//! | `<past>`, `<soon>` | a time an hour ago, and in an hour |

use std::fmt;
use std::time::Duration;

use azure_table::DateTime;

/// One request.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) method: &'static str,
    /// Below the account, without its slash.
    pub(crate) path: &'static str,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) without: &'static [&'static str],
    pub(crate) body: Body,
    pub(crate) auth: Auth,
    /// Creates the state of the later requests, and must succeed.
    pub(crate) is_setup: bool,
    /// Waits before the request on a live account, where some changes take 30 s.
    pub(crate) waits: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Body {
    Empty,
    Json(&'static str),
    /// A row of `<K>`: its key and the JSON of its other properties.
    Row(&'static str, &'static str),
    /// A batch with one change set: the head of each change, an empty line, and its body. A lone line ends its head.
    Changes(&'static [&'static str]),
    /// The same change this many times, with `<i>` for its number.
    Repeated(usize, &'static str),
    /// A batch from these lines.
    Batch(&'static str),
    /// The same with line feeds alone.
    Lines(&'static str),
    Xml(&'static str),
}

/// The credential of a request.
#[derive(Clone, Copy)]
pub(crate) enum Auth {
    Own,
    /// The own credential with another signature.
    Wrong,
    None,
    /// A signature with these fields, by the account key.
    Sas(&'static [(&'static str, &'static str)]),
    /// The same, followed by further parameters.
    SasAnd(&'static [(&'static str, &'static str)], &'static str),
}

impl Step {
    const fn new(method: &'static str, path: &'static str, body: Body) -> Self {
        Self {
            method,
            path,
            headers: &[],
            without: &[],
            body,
            auth: Auth::Own,
            is_setup: false,
            waits: false,
        }
    }

    pub(crate) const fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    pub(crate) const fn without(mut self, names: &'static [&'static str]) -> Self {
        self.without = names;
        self
    }

    pub(crate) const fn auth(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    pub(crate) const fn setup(mut self) -> Self {
        self.is_setup = true;
        self
    }

    pub(crate) const fn waits(mut self) -> Self {
        self.waits = true;
        self
    }
}

pub(crate) const fn get(path: &'static str) -> Step {
    Step::new("GET", path, Body::Empty)
}

pub(crate) const fn delete(path: &'static str) -> Step {
    Step::new("DELETE", path, Body::Empty)
}

pub(crate) const fn send(method: &'static str, path: &'static str, body: Body) -> Step {
    Step::new(method, path, body)
}

/// Creates a table.
pub(crate) const fn table(body: &'static str) -> Step {
    Step::new("POST", "Tables", Body::Json(body))
}

/// Inserts a row of `<K>`, which the response does not repeat.
pub(crate) const fn insert(row: &'static str, properties: &'static str) -> Step {
    Step::new("POST", "<T>", Body::Row(row, properties)).headers(&[("Prefer", "return-no-content")])
}

/// Submits a batch.
pub(crate) const fn batch(body: Body) -> Step {
    Step::new("POST", "$batch", body)
}

/// The replacements of one fact or probe.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The URL of the account.
    pub(crate) base: String,
    /// The table of the run.
    pub(crate) table: String,
    /// The own partition.
    pub(crate) partition: String,
    /// The beginning of its own tables.
    pub(crate) own: String,
    pub(crate) etag: String,
    /// The parameters of the last response's continuation.
    pub(crate) next: String,
    pub(crate) now: DateTime,
}

/// The boundaries of batches.
const BOUNDARIES: [&str; 2] = ["batch_1", "changeset_1"];

impl Names {
    /// Returns names that keep the parts of names, for patterns.
    #[cfg(test)]
    pub(crate) fn placeholders() -> Self {
        Self {
            base: "<base>".to_owned(),
            table: "<T>".to_owned(),
            partition: "<K>".to_owned(),
            own: "<N>".to_owned(),
            etag: "{etag}".to_owned(),
            next: "<next>".to_owned(),
            now: DateTime::now(),
        }
    }

    /// Returns the text with its parts replaced.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            filled.push_str(before);
            let part = after
                .split_once('>')
                .and_then(|(name, after)| Some((self.part(name)?, after)));
            match part {
                Some((part, after)) => {
                    filled.push_str(&part);
                    rest = after;
                }
                // XML.
                None => {
                    filled.push('<');
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    fn part(&self, name: &str) -> Option<String> {
        const HOUR: Duration = Duration::from_secs(3_600);
        let seconds = |at: DateTime| format!("{:.19}Z", at.to_string());
        Some(match name {
            "base" => self.base.clone(),
            "T" => self.table.clone(),
            "K" => self.partition.clone(),
            "N" => self.own.clone(),
            "etag" => self.etag.clone(),
            "next" => self.next.clone(),
            "past" => seconds(self.now - HOUR),
            "soon" => seconds(self.now + HOUR),
            _ => {
                if let Some(row) = name.strip_prefix("R:") {
                    return Some(format!(
                        "{}(PartitionKey='{}',RowKey='{row}')",
                        self.table, self.partition
                    ));
                }
                let mut words = name.split('*');
                match (words.next()?, words.next()?.parse::<usize>().ok()?, words.next()) {
                    ("wide", properties, Some(length)) => {
                        let value = "x".repeat(length.parse().ok()?);
                        let members = (0..properties).map(|number| format!("\"P{number:03}\":\"{value}\""));
                        members.collect::<Vec<_>>().join(",")
                    }
                    (text, times, None) => text.repeat(times),
                    _ => return None,
                }
            }
        })
    }

    /// Returns a body and its content type.
    pub(crate) fn body(&self, body: Body) -> (String, Option<String>) {
        let json = || Some("application/json".to_owned());
        let multipart = || Some(format!("multipart/mixed; boundary={}", BOUNDARIES[0]));
        match body {
            Body::Empty => (String::new(), None),
            Body::Json(text) => (self.fill(text), json()),
            Body::Xml(text) => (self.fill(text), Some("application/xml".to_owned())),
            Body::Row(row, properties) => {
                let partition = &self.partition;
                let comma = if properties.is_empty() { "" } else { "," };
                let row = format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\"{comma}{properties}}}");
                (self.fill(&row), json())
            }
            Body::Changes(changes) => {
                let changes = changes.iter().map(|change| self.fill(change));
                (change_set(&changes.collect::<Vec<_>>()), multipart())
            }
            Body::Repeated(times, change) => {
                let numbered = (0..times).map(|number| self.fill(&change.replace("<i>", &number.to_string())));
                (change_set(&numbered.collect::<Vec<_>>()), multipart())
            }
            Body::Lines(lines) => (self.fill(lines), multipart()),
            Body::Batch(lines) => (self.fill(lines).replace('\n', "\r\n"), multipart()),
        }
    }
}

/// Returns a batch with one change set.
fn change_set(changes: &[String]) -> String {
    let [outer, inner] = BOUNDARIES;
    let mut lines = format!("--{outer}\nContent-Type: multipart/mixed; boundary={inner}\n\n");
    for change in changes {
        let (head, body) = change.split_once("\n\n").unwrap_or((change, ""));
        let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
        let end = if headers.is_empty() { "" } else { "\n" };
        let accept = "Accept: application/json;odata=minimalmetadata\nContent-Type: application/json\n";
        lines.push_str(&format!(
            "--{inner}\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n\
             {line} HTTP/1.1\n{accept}{headers}{end}\n{body}\n"
        ));
    }
    lines.push_str(&format!("--{inner}--\n--{outer}--\n"));
    lines.replace('\n', "\r\n")
}

/// The request in short.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers = self
            .headers
            .iter()
            .filter(|(name, value)| (*name, *value) != ("Prefer", "return-no-content"));
        let headers = headers.map(|(name, value)| format!(", {name}: {value}"));
        let body = match self.body {
            Body::Empty => String::new(),
            Body::Json(text) | Body::Xml(text) | Body::Batch(text) | Body::Lines(text) => format!(" {text}"),
            Body::Row(row, properties) => format!(" RowKey {row}, {properties}"),
            Body::Changes(changes) => format!(" {}", changes.join(" + ")),
            Body::Repeated(times, change) => format!(" {times} times {change}"),
        };
        let signed = match self.auth {
            Auth::Own => String::new(),
            Auth::Wrong => " with a wrong signature".to_owned(),
            Auth::None => " without a credential".to_owned(),
            Auth::Sas(fields) => format!(" with a signature of {}", query(fields)),
            Auth::SasAnd(fields, further) => format!(
                " with a signature of {} and {}",
                query(fields),
                further.trim_start_matches('&')
            ),
        };
        let (method, path) = (self.method, self.path);
        write!(
            f,
            "{method} {path}{signed}{}{}",
            headers.collect::<String>(),
            body.trim_end_matches(", ")
        )
    }
}

fn query(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}
