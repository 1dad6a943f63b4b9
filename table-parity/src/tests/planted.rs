//! Services that differ from the emulator in one thing each: every difference is reported at its place.

use azure_table::Emulator;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table_tests::report;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};

use super::service::{FOREIGN, STORAGE, add_foreign_table, by_key, emulator, tables, verify};
use crate::comparison::options::Options;
use crate::service::output::Exit;

/// A change of a response, or of the service's state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plant {
    /// For requests of this method below a path with this text.
    Response(&'static str, &'static str, fn(&mut Response<Bytes>)),
    /// The request is answered, and has no effect.
    Lost(&'static str, &'static str),
}

#[derive(Clone, Debug)]
pub(super) struct Planted {
    pub(super) behind: Emulator,
    pub(super) plants: Vec<Plant>,
}

impl Transport for Planted {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let target = request.uri().path_and_query().map_or("", |target| target.as_str());
            let applies = |plant: &&Plant| {
                let (Plant::Response(method, path, _) | Plant::Lost(method, path)) = plant;
                request.method() == method && target.contains(path)
            };
            let plants: Vec<Plant> = self.plants.iter().filter(applies).copied().collect();
            if plants.iter().any(|plant| matches!(plant, Plant::Lost(..))) {
                let mut response = Response::new(Bytes::new());
                *response.status_mut() = StatusCode::NO_CONTENT;
                return Ok(response);
            }
            let mut response = self.behind.send(request).await?;
            for plant in plants {
                if let Plant::Response(.., change) = plant {
                    change(&mut response);
                }
            }
            Ok(response)
        })
    }
}

pub(super) fn body(response: &mut Response<Bytes>, change: impl Fn(&str) -> String) {
    let text = String::from_utf8(response.body().to_vec()).unwrap();
    *response.body_mut() = change(&text).into();
}

pub(super) fn set(response: &mut Response<Bytes>, name: &'static str, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

/// Exchanges the two rows of a page.
fn exchange(text: &str) -> String {
    const MARK: &str = "{\"odata.etag\"";
    let parts: Vec<&str> = text.splitn(3, MARK).collect();
    let [before, first, second] = parts[..] else {
        return text.to_owned();
    };
    match (first.split_once("},"), second.split_once("}]}")) {
        (Some((first, "")), Some((second, ""))) => format!("{before}{MARK}{second}}},{MARK}{first}}}]}}"),
        _ => text.to_owned(),
    }
}

/// A planted difference, and its place in the report.
struct Difference {
    name: &'static str,
    /// The functions and probes to run.
    only: &'static str,
    change: Plant,
    /// The lines of the list of differences: these, and no other.
    places: &'static [&'static str],
    /// A part of the report that shows it.
    shown: &'static str,
}

const PLANTS: &[Difference] = &[
    Difference {
        name: "status",
        only: "after the newest known one",
        change: Plant::Response("GET", "RowKey='missing'", |r| *r.status_mut() = StatusCode::GONE),
        places: &["`x-ms-version` after the newest known one / request 1 / status: 404 -> 410"],
        shown: "410 ResourceNotFound",
    },
    Difference {
        name: "code",
        only: "after the newest known one",
        change: Plant::Response("GET", "RowKey='missing'", |r| {
            body(r, |text| text.replace("ResourceNotFound", "EntityNotFound"));
        }),
        places: &["`x-ms-version` after the newest known one / request 1 / code: ResourceNotFound -> EntityNotFound"],
        shown: "404 EntityNotFound",
    },
    Difference {
        name: "message",
        only: "after the newest known one",
        change: Plant::Response("GET", "RowKey='missing'", |r| {
            body(r, |text| text.replace("does not exist", "is missing"));
        }),
        places: &["`x-ms-version` after the newest known one / request 1 / message"],
        shown: "Lines of unknowns.md: 0 confirmed, 1 confirmed but for the text of an error, 0 refuted",
    },
    Difference {
        name: "missing header",
        only: "after the newest known one",
        change: Plant::Response("GET", "RowKey='missing'", |r| {
            r.headers_mut().remove("x-content-type-options");
        }),
        places: &["header x-content-type-options"],
        shown: "service   (absent)",
    },
    Difference {
        name: "further header",
        only: "after the newest known one",
        change: Plant::Response("GET", "RowKey='missing'", |r| {
            set(r, "x-ms-error-code", "ResourceNotFound")
        }),
        places: &["header x-ms-error-code"],
        shown: "emulator  (absent)",
    },
    Difference {
        name: "changed header",
        only: "after the newest known one",
        change: Plant::Response("GET", "RowKey='missing'", |r| {
            set(r, "content-type", "application/json;charset=utf-8")
        }),
        places: &["header content-type"],
        shown: "service   application/json;charset=utf-8",
    },
    Difference {
        name: "version in the response",
        only: "no `x-ms-version`",
        change: Plant::Response("GET", "RowKey='r'", |r| set(r, "x-ms-version", "2011-08-18")),
        places: &["no `x-ms-version` / request 2 / header x-ms-version"],
        shown: "header x-ms-version service   2011-08-18",
    },
    Difference {
        name: "missing property",
        only: "`$select=*`",
        change: Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace(",\"B\":\"b\"", ""))
        }),
        places: &["`$select=*`, a selection with other than names after its first / request 3 / body"],
        shown: "\"A\":1}",
    },
    Difference {
        name: "order of properties",
        only: "`$select=*`",
        change: Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace("\"A\":1,\"B\":\"b\"", "\"B\":\"b\",\"A\":1"));
        }),
        places: &["`$select=*`, a selection with other than names after its first / request 3 / body"],
        shown: "\"B\":\"b\",\"A\":1}",
    },
    Difference {
        name: "order of rows",
        only: "text beyond U+FFFF",
        change: Plant::Response("GET", "$filter", |r| body(r, exchange)),
        places: &["text beyond U+FFFF in the order of keys / request 3 / body"],
        shown: "body service",
    },
    Difference {
        name: "form of a number",
        only: "a bare integer",
        change: Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace("3000000000.0", "3000000000"))
        }),
        places: &["a bare integer between 2³¹ and 2⁶³ / request 2 / body"],
        shown: "\"A\":3000000000,",
    },
    Difference {
        name: "form of an ETag",
        only: "a bare integer",
        change: Plant::Response("POST", "probes", |r| set(r, "etag", "\"1\"")),
        places: &["header etag"],
        shown: "service   \"1\"",
    },
    Difference {
        name: "missing ETag",
        only: "a bare integer",
        change: Plant::Response("POST", "probes", |r| {
            r.headers_mut().remove("etag");
        }),
        places: &["header etag"],
        shown: "service   (absent)",
    },
    Difference {
        name: "Timestamp apart from the ETag",
        only: "a bare integer",
        change: Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replacen("\"Timestamp\":\"20", "\"Timestamp\":\"19", 1));
        }),
        places: &["a bare integer between 2³¹ and 2⁶³ / request 2 / body"],
        shown: "\"Timestamp\":\"{time 2}\"",
    },
    Difference {
        name: "missing continuation",
        only: "a page of long rows",
        change: Plant::Response("GET", "$filter", |r| {
            r.headers_mut().remove("x-ms-continuation-nextpartitionkey");
            r.headers_mut().remove("x-ms-continuation-nextrowkey");
        }),
        places: &[
            "a page of long rows, on Cosmos DB too / request 10 / header x-ms-continuation-nextrowkey",
            "header x-ms-continuation-nextpartitionkey",
        ],
        shown: "header x-ms-continuation-nextrowkey service   (absent)",
    },
    Difference {
        name: "further continuation",
        only: "`$top=0`",
        change: Plant::Response("GET", "$top=0", |r| {
            set(r, "x-ms-continuation-nextpartitionkey", "1!4!cA--");
        }),
        places: &["`$top=0` / request 2 / header x-ms-continuation-nextpartitionkey"],
        shown: "service   1!4!cA--",
    },
    Difference {
        name: "metadata",
        only: "a bare integer",
        change: Plant::Response("GET", "RowKey='r'", |r| {
            body(r, |text| text.replace("/$metadata#", "/$metadata#Tables/"));
        }),
        places: &["a bare integer between 2³¹ and 2⁶³ / request 2 / body"],
        shown: "/$metadata#Tables/verify",
    },
    Difference {
        name: "Location",
        only: "parentheses in the keys",
        change: Plant::Response("POST", "probes", |r| {
            set(r, "location", "https://contoso.table.core.windows.net/")
        }),
        places: &["parentheses in the keys of a `Location` / request 1 / header location"],
        shown: "header location service   https://account.table.core.windows.net/",
    },
    Difference {
        name: "applied preference",
        only: "`Prefer` of a tunnelled update",
        change: Plant::Response("PUT", "RowKey='r'", |r| set(r, "preference-applied", "return-content")),
        places: &[
            "`Prefer` of a tunnelled update, `return-content` of an update / request 3 / header preference-applied",
        ],
        shown: "service   return-content",
    },
    Difference {
        name: "part of a batch",
        only: "a second change set",
        change: Plant::Response("POST", "$batch", |r| {
            body(r, |text| text.replace("HTTP/1.1 400", "HTTP/1.1 409"))
        }),
        places: &[
            "more than 100 changes in a batch, a second change set / request 1 / body",
            "more than 100 changes in a batch, a second change set / request 2 / body",
        ],
        shown: "HTTP/1.1 409",
    },
    Difference {
        name: "shared Timestamp of a batch",
        only: "rows of one batch",
        change: Plant::Response("GET", "$select=Timestamp", |r| {
            body(r, |text| {
                let times: Vec<_> = text.split("\"Timestamp\":\"").skip(1).map(|rest| &rest[..28]).collect();
                match times[..] {
                    [first, second, ..] => text.replace(second, first),
                    _ => text.to_owned(),
                }
            });
        }),
        places: &[
            "rows of one batch / request 2 / body",
            "rows of one batch / request 4 / body",
        ],
        shown: "body service",
    },
    Difference {
        name: "table missing in the list",
        only: "tables_are_listed",
        change: Plant::Response("GET", "/Tables", |r| {
            body(r, |text| text.replace("\"verify", "\"other"))
        }),
        places: &["test tables::tables_are_listed"],
        shown: "tests/src/tables.rs:",
    },
    Difference {
        name: "lost delete",
        only: "a_missing_entity_is_none",
        change: Plant::Lost("DELETE", "RowKey="),
        places: &["test single_entities::a_missing_entity_is_none"],
        shown: "tests/src/single_entities.rs:",
    },
    Difference {
        name: "row missing in a page",
        only: "pages_are_joined_without_loss",
        change: Plant::Response("GET", "NextRowKey", |r| {
            body(r, |text| match text.split_once("\"value\":[") {
                Some((before, _)) => format!("{before}\"value\":[]}}"),
                None => text.to_owned(),
            });
        }),
        places: &["test queries::pages_are_joined_without_loss"],
        shown: "tests/src/queries.rs:",
    },
];

#[tokio::test]
async fn every_planted_difference_is_found_at_its_place() {
    assert!(PLANTS.len() >= 20);
    for Difference {
        name,
        only,
        change,
        places,
        shown,
    } in PLANTS
    {
        let mut options = Options::new(by_key(STORAGE));
        options.common.only = only.to_lowercase();
        let emulator = emulator();
        add_foreign_table(&emulator);
        let planted = Planted {
            behind: emulator.clone(),
            plants: vec![*change],
        };
        let ran = verify(options, planted).await;
        let lines: Vec<String> = ran.report.unwrap().lines().into_iter().collect();
        assert_eq!(lines, *places, "{name}:\n{}", ran.output);
        assert!(ran.output.contains(shown), "{name}: {shown} is not in\n{}", ran.output);
        assert_eq!(ran.exit, Exit::Difference, "{name}");
        assert_eq!(tables(&emulator), [FOREIGN], "{name}");
        assert!(!ran.output.contains(FOREIGN), "{name}: {}", ran.output);
    }
}

/// Prints a report with all of them: `cargo test -p table-parity in_one_run -- --show-output`
#[tokio::test(start_paused = true)]
async fn all_planted_differences_are_found_in_one_run() {
    let planted = Planted {
        behind: emulator(),
        plants: PLANTS.iter().map(|difference| difference.change).collect(),
    };
    let ran = verify(Options::new(by_key(STORAGE)), planted).await;
    report::remark(&ran.output);
    let lines = ran.report.unwrap().lines();
    for place in PLANTS.iter().flat_map(|difference| difference.places) {
        assert!(lines.contains(*place), "{place} is not in {lines:#?}");
    }
    assert_eq!(ran.exit, Exit::Difference);
}
