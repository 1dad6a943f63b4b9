//! The routes of the control port.
//!
//! Owns paths, methods and parameters. Lists are lines of JSON, anything else is one object. Blocking work, which
//! copies all tables or waits for the disk, runs on another thread. A response is sent once everything that it shows is
//! durable.

use std::time::Duration;

use azure_table::emulator::EmulatorSnapshot;
use azure_table::{DateTime, ValueError};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::SemaphorePermit;

use crate::control::answer::{self, Answer, Body, LINES, Refused, json, lines, nothing, push_line};
use crate::control::connections::Place;
use crate::control::json::object;
use crate::control::page;
use crate::control::steered::{MAX_BODIES, Steered, TIMEOUT};
use crate::options::DEVELOPMENT_ACCOUNT;

/// The maximum body of a request, in bytes.
const MAX_BODY: usize = 256 << 20;
/// The maximum number of seconds by which the clock is moved in one request: a hundred years.
const MOST_SECONDS: f64 = 3_155_760_000.0;
/// The end of the clock, the year 9000. Timestamps differ as long as they can grow, and never go back: after a row with
/// the greatest possible time, all rows would have the same ETag.
const LAST: DateTime = DateTime::from_unix_seconds(221_845_392_000);

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct TableJson<'a> {
    account: &'a str,
    table: &'a str,
    entities: usize,
}

#[derive(Serialize)]
struct ClockJson {
    now: DateTime,
    system: DateTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetClock {
    now: String,
    /// A member of the response, accepted so that it can be sent back.
    #[serde(default, rename = "system")]
    _system: serde::de::IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    seconds: f64,
}

/// A request with its parsed path.
struct Asked {
    method: Method,
    path: String,
    parameters: Vec<(String, String)>,
    body: Incoming,
    place: Place,
}

pub(super) async fn answer(steered: &Steered, request: Request<Incoming>, place: Place) -> Response<Body> {
    let answered = checked(steered, request, place).await;
    answered.unwrap_or_else(|refused| refused.response())
}

async fn checked(steered: &Steered, request: Request<Incoming>, place: Place) -> Answer {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    steered.access.check_site(&head, path == "/")?;
    // These contain no data of the tables: the page prompts for the token, and the other shows that the program runs.
    if !matches!(path, "/" | "/health") {
        steered.access.check_token(&head)?;
    }
    let asked = Asked::of(head.method, &head.uri, body, place)?;
    let path = asked.path.clone();
    let segments: Vec<String> = path.split('/').skip(1).map(decoded).collect::<Result<_, _>>()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    asked.check_parameters(parameters(&asked.method, &segments))?;
    match (asked.method.as_str(), &segments[..]) {
        ("GET", [""]) => Ok(page::page()),
        ("GET", ["health"]) => json(&Health {
            status: "alive",
            version: env!("CARGO_PKG_VERSION"),
        }),
        ("GET", ["ready"]) => {
            steered.emulator.check_storage()?;
            json(&Health {
                status: "ready",
                version: env!("CARGO_PKG_VERSION"),
            })
        }
        ("GET", ["tables"]) => tables(steered, &asked).await,
        ("DELETE", ["tables"]) => delete_tables(steered, &asked).await,
        ("GET", ["tables", table]) => rows(steered, &asked, table).await,
        ("POST", ["tables", table]) => seed(steered, asked, table).await,
        ("DELETE", ["tables", table]) => delete_table(steered, &asked, table).await,
        ("GET", ["snapshot"]) => {
            let emulator = steered.emulator.clone();
            let text = blocking(move || emulator.snapshot().to_string()).await?;
            steered.emulator.settle().await?;
            lines(text)
        }
        ("PUT", ["snapshot"]) => restore(steered, asked).await,
        ("GET", ["faults"]) => lines(steered.faults.lines()),
        ("PUT" | "POST", ["faults"]) => {
            let replace = asked.method == Method::PUT;
            let (text, _place) = asked.text(steered).await?;
            steered.faults.add(&text, replace).map_err(Refused::bad_request)?;
            lines(steered.faults.lines())
        }
        ("DELETE", ["faults"]) => {
            steered.faults.clear();
            nothing()
        }
        ("DELETE", ["faults", id]) => {
            let is_removed = id.parse().is_ok_and(|id| steered.faults.remove(id));
            let missing = || Refused::not_found(format_args!("fault {id:?} does not exist, GET /faults lists them"));
            is_removed.then(nothing).ok_or_else(missing)?
        }
        ("GET", ["clock"]) => clock(steered),
        ("PUT", ["clock"]) => {
            let SetClock { now, .. } = asked.json(steered).await?;
            let now = now.parse();
            let now = now.map_err(|e: ValueError| Refused::bad_request(format_args!("now: {e}")))?;
            check_time("now", now)?;
            steered.emulator.clock().set(now);
            clock(steered)
        }
        ("DELETE", ["clock"]) => {
            steered.emulator.clock().reset();
            nothing()
        }
        ("POST", ["clock", "advance"]) => {
            let Advance { seconds } = asked.json(steered).await?;
            if !(0.0..=MOST_SECONDS).contains(&seconds) {
                let why = format!("seconds: {seconds}, it must be 0 to {MOST_SECONDS}");
                return Err(Refused::bad_request(why));
            }
            let by = Duration::from_secs_f64(seconds);
            check_time("seconds", steered.emulator.clock().now() + by)?;
            steered.emulator.clock().advance(by);
            clock(steered)
        }
        ("GET", ["load"]) => json(&steered.load.json()),
        ("PUT", ["load"]) => {
            let model = asked.json(steered).await?;
            steered.load.set(Some(model)).map_err(Refused::bad_request)?;
            json(&steered.load.json())
        }
        ("DELETE", ["load"]) => {
            steered.load.set(None).map_err(Refused::bad_request)?;
            nothing()
        }
        ("GET", ["requests"]) => requests(steered, &asked),
        ("DELETE", ["requests"]) => {
            steered.log.clear();
            nothing()
        }
        (_, segments) => Err(match allowed(segments) {
            Some(methods) => Refused::method(&asked.method, &path, methods),
            None => Refused::not_found(format_args!(
                "{path:?} does not exist; the paths are /, /health, /ready, /tables, /tables/TABLE, /snapshot, /faults, \
                 /faults/ID, /clock, /clock/advance, /load, /requests"
            )),
        }),
    }
}

/// Returns the methods of a path.
fn allowed(segments: &[&str]) -> Option<&'static str> {
    Some(match segments {
        ["" | "health" | "ready"] => "GET",
        ["tables" | "requests"] => "GET, DELETE",
        ["tables", _] => "GET, POST, DELETE",
        ["snapshot"] => "GET, PUT",
        ["faults"] => "GET, PUT, POST, DELETE",
        ["faults", _] => "DELETE",
        ["clock" | "load"] => "GET, PUT, DELETE",
        ["clock", "advance"] => "POST",
        _ => return None,
    })
}

/// Returns the parameters of a route.
fn parameters(method: &Method, segments: &[&str]) -> &'static [&'static str] {
    match (method, segments) {
        (&Method::GET, ["tables", _]) => &["account", "limit"],
        (_, ["tables", ..]) => &["account"],
        (&Method::GET, ["requests"]) => &["follow"],
        _ => &[],
    }
}

async fn tables(steered: &Steered, asked: &Asked) -> Answer {
    let account = asked.parameter("account");
    let mut text = String::new();
    for table in steered.emulator.tables() {
        if account.is_none_or(|account| account == table.account) {
            push_line(
                &mut text,
                &TableJson {
                    account: &table.account,
                    table: &table.name,
                    entities: table.entity_count,
                },
            );
        }
    }
    steered.emulator.settle().await?;
    lines(text)
}

async fn delete_tables(steered: &Steered, asked: &Asked) -> Answer {
    let account = asked.parameter("account").map(str::to_owned);
    let emulator = steered.emulator.clone();
    let deleted = blocking(move || match account {
        None => emulator.clear(),
        Some(account) => emulator.clear_account(&account),
    });
    deleted.await??;
    nothing()
}

async fn rows(steered: &Steered, asked: &Asked, table: &str) -> Answer {
    let account = asked.account();
    let limit = asked.parameter("limit");
    let limit = limit.map(|text| {
        text.parse()
            .map_err(|_| Refused::bad_request(format_args!("limit: {text:?}, it must be a number of rows")))
    });
    let limit = limit.transpose()?.unwrap_or(usize::MAX);
    let missing = no_table(&account, table);
    let (emulator, table) = (steered.emulator.clone(), table.to_owned());
    let text = blocking(move || emulator.table_lines(&account, &table, limit)).await?;
    steered.emulator.settle().await?;
    lines(text.ok_or(missing)?)
}

async fn seed(steered: &Steered, asked: Asked, table: &str) -> Answer {
    let account = asked.account();
    let (text, _place) = asked.text(steered).await?;
    let (emulator, name, of) = (steered.emulator.clone(), table.to_owned(), account.clone());
    let entities = blocking(move || emulator.seed_lines(&of, &name, &text)).await??;
    json(&TableJson {
        account: &account,
        table,
        entities,
    })
}

async fn delete_table(steered: &Steered, asked: &Asked, table: &str) -> Answer {
    let account = asked.account();
    let missing = no_table(&account, table);
    let (emulator, table) = (steered.emulator.clone(), table.to_owned());
    if !blocking(move || emulator.delete_table(&account, &table)).await?? {
        return Err(missing);
    }
    nothing()
}

fn no_table(account: &str, table: &str) -> Refused {
    Refused::not_found(format_args!("table {table:?} of account {account:?} does not exist"))
}

async fn restore(steered: &Steered, asked: Asked) -> Answer {
    let (text, _place) = asked.text(steered).await?;
    let emulator = steered.emulator.clone();
    let restored = blocking(move || emulator.restore(&text.parse::<EmulatorSnapshot>()?));
    restored.await??;
    nothing()
}

/// Rejects a time after the end of the clock.
fn check_time(member: &str, time: DateTime) -> Result<(), Refused> {
    if time > LAST {
        let why = format!("{member}: the clock would show {time}, the limit is {LAST}");
        return Err(Refused::bad_request(why));
    }
    Ok(())
}

fn clock(steered: &Steered) -> Answer {
    json(&ClockJson {
        now: steered.emulator.clock().now(),
        system: DateTime::now(),
    })
}

fn requests(steered: &Steered, asked: &Asked) -> Answer {
    let follows = asked.parameter("follow");
    match follows {
        None | Some("false") => lines(steered.log.lines()),
        Some("" | "true") => {
            let lines = stream::unfold(steered.log.follow(), |mut follower| async {
                let lines = follower.next().await?;
                Some((lines, follower))
            });
            let frames = lines.map(|lines| Ok(Frame::data(Bytes::from(lines))));
            Ok(answer::with(
                StatusCode::OK,
                LINES,
                StreamBody::new(frames).boxed_unsync(),
            ))
        }
        Some(other) => Err(Refused::bad_request(format_args!(
            "follow: {other:?}, it must be true or false"
        ))),
    }
}

/// Runs blocking work on another thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refused> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, e))
}

impl Asked {
    fn of(method: Method, uri: &Uri, body: Incoming, place: Place) -> Result<Self, Refused> {
        let pairs = uri.query().unwrap_or_default().split('&');
        let parameters = pairs.filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        Ok(Self {
            // The server omits the body of its response.
            method: if method == Method::HEAD { Method::GET } else { method },
            path: uri.path().to_owned(),
            parameters: parameters.collect::<Result<_, Refused>>()?,
            body,
            place,
        })
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let pair = self.parameters.iter().find(|(given, _)| given == name)?;
        Some(&pair.1)
    }

    fn account(&self) -> String {
        self.parameter("account").unwrap_or(DEVELOPMENT_ACCOUNT).to_owned()
    }

    /// Rejects parameters that the route does not have.
    fn check_parameters(&self, known: &[&str]) -> Result<(), Refused> {
        let unknown = self.parameters.iter().find(|(name, _)| !known.contains(&name.as_str()));
        unknown.map_or(Ok(()), |(name, _)| {
            let (method, path, known) = (&self.method, &self.path, known.join(", "));
            Err(Refused::bad_request(format_args!(
                "{name}: not a parameter of {method} {path}, which has {}",
                if known.is_empty() { "none" } else { &known }
            )))
        })
    }

    /// Reads the body. Its memory counts until the permit is dropped.
    async fn text(self, steered: &Steered) -> Result<(String, SemaphorePermit<'_>), Refused> {
        let too_long = || {
            let why = format_args!("body: more than {MAX_BODY} bytes, the limit").to_string();
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, why)
        };
        let body = self.body;
        let announced = body.size_hint().exact().map_or(Ok(MAX_BODY), usize::try_from);
        let length = announced
            .ok()
            .filter(|length| *length <= MAX_BODY)
            .ok_or_else(too_long)?;
        let kib = u32::try_from(length.div_ceil(1 << 10)).unwrap_or(MAX_BODIES);
        let place = steered.bodies.acquire_many(kib).await;
        let place = place.map_err(|e| Refused::new(StatusCode::SERVICE_UNAVAILABLE, e))?;
        let body = tokio::time::timeout(TIMEOUT, Limited::new(body, MAX_BODY).collect());
        let body = self.place.receive(body).await.map_err(|_| {
            let why = format!("body: it did not arrive within {} s", TIMEOUT.as_secs());
            Refused::new(StatusCode::REQUEST_TIMEOUT, why)
        })?;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => too_long(),
            false => Refused::bad_request(format_args!("body: {error}")),
        })?;
        let text = String::from_utf8(Vec::from(body.to_bytes()));
        let text = text.map_err(|e| Refused::bad_request(format_args!("body: it is not UTF-8: {e}")))?;
        Ok((text, place))
    }

    async fn json<T: DeserializeOwned>(self, steered: &Steered) -> Result<T, Refused> {
        let (text, _place) = self.text(steered).await?;
        object(&text).map_err(|why| Refused::bad_request(format_args!("body: {why}")))
    }
}

fn decoded(text: &str) -> Result<String, Refused> {
    let text = percent_decode_str(text);
    let text = text.decode_utf8().map(std::borrow::Cow::into_owned);
    text.map_err(|_| Refused::bad_request("URL: it is not UTF-8"))
}
