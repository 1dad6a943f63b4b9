//! Services that differ from the emulator in one thing each: every difference is reported.

use azure_table::Emulator;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};

use crate::options::Options;
use crate::run::Exit;
use crate::service::{STORAGE, by_key, emulator, verify};

/// A change of a response, or of the service's state.
#[derive(Clone, Copy, Debug)]
enum Plant {
    /// For requests of this method below a path with this text.
    Response(&'static str, &'static str, fn(&mut Response<Bytes>)),
    /// The request is answered, and has no effect.
    Lost(&'static str, &'static str),
}

#[derive(Clone, Debug)]
struct Planted {
    behind: Emulator,
    plant: Plant,
}

impl Transport for Planted {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let applies = |method: &str, path: &str| {
                let target = request.uri().path_and_query().map_or("", |target| target.as_str());
                request.method() == method && target.contains(path)
            };
            match self.plant {
                Plant::Lost(method, path) if applies(method, path) => {
                    let mut response = Response::new(Bytes::new());
                    *response.status_mut() = StatusCode::NO_CONTENT;
                    Ok(response)
                }
                Plant::Response(method, path, change) if applies(method, path) => {
                    let mut response = self.behind.send(request).await?;
                    change(&mut response);
                    Ok(response)
                }
                _ => self.behind.send(request).await,
            }
        })
    }
}

fn body(response: &mut Response<Bytes>, change: impl Fn(&str) -> String) {
    let text = String::from_utf8(response.body().to_vec()).unwrap();
    *response.body_mut() = change(&text).into();
}

fn set(response: &mut Response<Bytes>, name: &'static str, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

/// Exchanges the first two texts of the body that are between these marks.
fn exchange(text: &str, mark: &str, end: &str) -> String {
    let parts: Vec<&str> = text.splitn(3, mark).collect();
    let [before, first, second] = parts[..] else {
        return text.to_owned();
    };
    let (second, rest) = second.split_once(end).unwrap();
    let first = first.trim_end_matches(',');
    format!("{before}{mark}{second},{mark}{first}{end}{rest}")
}

/// The differences: a name, the tests and probes to run, and the change.
const PLANTS: &[(&str, &str, Plant)] = &[
    (
        "status",
        "after the newest known one",
        Plant::Response("GET", "RowKey='missing'", |r| *r.status_mut() = StatusCode::GONE),
    ),
    (
        "code",
        "after the newest known one",
        Plant::Response("GET", "RowKey='missing'", |r| {
            body(r, |text| text.replace("ResourceNotFound", "EntityNotFound"));
        }),
    ),
    (
        "message",
        "after the newest known one",
        Plant::Response("GET", "RowKey='missing'", |r| {
            body(r, |text| text.replace("does not exist", "is missing"));
        }),
    ),
    (
        "missing header",
        "after the newest known one",
        Plant::Response("GET", "RowKey='missing'", |r| {
            r.headers_mut().remove("x-content-type-options");
        }),
    ),
    (
        "further header",
        "after the newest known one",
        Plant::Response("GET", "RowKey='missing'", |r| {
            set(r, "x-ms-error-code", "ResourceNotFound")
        }),
    ),
    (
        "changed header",
        "after the newest known one",
        Plant::Response("GET", "RowKey='missing'", |r| {
            set(r, "content-type", "application/json;charset=utf-8")
        }),
    ),
    (
        "version in the response",
        "no `x-ms-version`",
        Plant::Response("GET", "RowKey='r'", |r| set(r, "x-ms-version", "2011-08-18")),
    ),
    (
        "missing property",
        "`$select=*`",
        Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace(",\"B\":\"b\"", ""))
        }),
    ),
    (
        "order of properties",
        "`$select=*`",
        Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace("\"A\":1,\"B\":\"b\"", "\"B\":\"b\",\"A\":1"));
        }),
    ),
    (
        "order of rows",
        "text beyond U+FFFF",
        Plant::Response("GET", "$filter", |r| {
            body(r, |text| exchange(text, "{\"odata.etag\"", "}]}"))
        }),
    ),
    (
        "form of a number",
        "a bare integer",
        Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace("3000000000.0", "3000000000"))
        }),
    ),
    (
        "form of an ETag",
        "a bare integer",
        Plant::Response("POST", "probes", |r| set(r, "etag", "\"1\"")),
    ),
    (
        "missing ETag",
        "a bare integer",
        Plant::Response("POST", "probes", |r| {
            r.headers_mut().remove("etag");
        }),
    ),
    (
        "Timestamp apart from the ETag",
        "a bare integer",
        Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| {
                let (before, rest) = text.split_once("\"Timestamp\":\"20").unwrap();
                format!("{before}\"Timestamp\":\"19{rest}")
            });
        }),
    ),
    (
        "missing continuation",
        "a page of long rows",
        Plant::Response("GET", "$filter", |r| {
            r.headers_mut().remove("x-ms-continuation-nextpartitionkey");
            r.headers_mut().remove("x-ms-continuation-nextrowkey");
        }),
    ),
    (
        "further continuation",
        "`$top=0`",
        Plant::Response("GET", "$top=0", |r| {
            set(r, "x-ms-continuation-nextpartitionkey", "1!4!cA--");
        }),
    ),
    (
        "metadata",
        "a bare integer",
        Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace("/$metadata#", "/$metadata#Tables/"));
        }),
    ),
    (
        "Location",
        "parentheses in the keys",
        Plant::Response("POST", "probes", |r| {
            set(r, "location", "https://contoso.table.core.windows.net/")
        }),
    ),
    (
        "applied preference",
        "`Prefer` of a tunnelled update",
        Plant::Response("PUT", "RowKey='r'", |r| set(r, "preference-applied", "return-content")),
    ),
    (
        "part of a batch",
        "a second change set",
        Plant::Response("POST", "$batch", |r| {
            body(r, |text| text.replace("HTTP/1.1 400", "HTTP/1.1 409"))
        }),
    ),
    (
        "shared Timestamp of a batch",
        "rows of one batch",
        Plant::Response("GET", "$select=Timestamp", |r| {
            body(r, |text| {
                let times: Vec<_> = text.split("\"Timestamp\":\"").skip(1).map(|rest| &rest[..28]).collect();
                text.replace(times[1], times[0])
            });
        }),
    ),
    (
        "lost delete",
        "a_missing_entity_is_none",
        Plant::Lost("DELETE", "RowKey="),
    ),
    (
        "row missing in a page",
        "pages_are_joined_without_loss",
        Plant::Response("GET", "NextRowKey", |r| {
            body(r, |text| match text.split_once("\"value\":[") {
                Some((before, _)) => format!("{before}\"value\":[]}}"),
                None => text.to_owned(),
            });
        }),
    ),
];

#[tokio::test]
async fn every_planted_difference_is_found() {
    assert!(PLANTS.len() >= 20);
    let mut hidden = Vec::new();
    for (name, only, plant) in PLANTS {
        let mut options = Options::new(by_key(STORAGE));
        options.only = only.to_lowercase();
        let emulator = emulator();
        let ran = verify(
            options,
            Planted {
                behind: emulator.clone(),
                plant: *plant,
            },
        )
        .await;
        let lines = ran.report.unwrap().lines();
        if lines.is_empty() || ran.exit != Exit::Difference {
            hidden.push(format!("{name}: {:?}\n{}", ran.exit, ran.output));
        }
        assert_eq!(emulator.tables(), [], "{name}");
    }
    assert!(
        hidden.is_empty(),
        "{} were not found:\n{}",
        hidden.len(),
        hidden.join("\n")
    );
}
