//! The way of a request through the service: who asks, what is asked, the answer.
//!
//! Owns the order of checks and the table of resources and verbs. Each operation has its own file.
//! Not confirmed: what a missing `x-ms-version` does (the client's own version is assumed), that beside a shared access
//! signature the header goes before the query's versions, which of several faults of a request is named.
//!
//! Source: REST "Table service REST API", "Versioning for Azure Storage".

use bytes::Bytes;
use http::header::HeaderValue;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};

use crate::codec::json::write::MAX_BODY_BYTES;
use crate::emulator::address::{self, MAX_URL, Resource, Site, too_long};
use crate::emulator::answer::{Answer, Trace};
use crate::emulator::call::{Call, Caller, ErrorForm, Request, Verb};
use crate::emulator::grant::Grant;
use crate::emulator::load::{Busy, Demand};
use crate::emulator::observer::Note;
#[cfg(feature = "emulator-http")]
use crate::emulator::options::Level;
use crate::emulator::refusal::{Refusal, Result};
use crate::emulator::store::Store;
use crate::emulator::{
    Emulator, Settings, auth, batch, cors, cosmos, delegation, entities, policies, properties, query, sas, tables,
};
use crate::model::datetime::DateTime;
use crate::model::guid::Guid;
use crate::protocol::http_request::X_MS_VERSION;
use crate::protocol::profile::Profile;

/// The versions of the protocol that are taken: those of the storage services, from the first with JSON on, whether they changed
/// something about tables or not. Unknown ones are refused, as seen.
///
/// Source: REST "Versioning for Azure Storage"; Azurite's list (3.35) up to 2025-11-05; the later ones are those of the storage
/// SDKs of 2026.
pub(crate) const VERSIONS: [&str; 43] = [
    "2013-08-15",
    "2014-02-14",
    "2015-02-21",
    "2015-04-05",
    "2015-07-08",
    "2015-12-11",
    "2016-05-31",
    "2017-04-17",
    "2017-07-29",
    "2017-11-09",
    "2018-03-28",
    "2018-11-09",
    "2019-02-02",
    "2019-07-07",
    "2019-10-10",
    "2019-12-12",
    "2020-02-10",
    "2020-04-08",
    "2020-06-12",
    "2020-08-04",
    "2020-10-02",
    "2020-12-06",
    "2021-02-12",
    "2021-04-10",
    "2021-06-08",
    "2021-08-06",
    "2021-10-04",
    "2021-12-02",
    "2022-11-02",
    "2023-01-03",
    "2023-08-03",
    "2023-11-03",
    "2024-02-04",
    "2024-05-04",
    "2024-08-04",
    "2024-11-04",
    "2025-01-05",
    "2025-05-05",
    "2025-07-05",
    "2025-11-05",
    "2026-02-06",
    "2026-04-06",
    "2026-06-06",
];
/// From this version on a caller's own id is given back unasked.
const ECHOES_CLIENT_REQUEST_ID: &str = "2019-02-02";
/// The longest id that is given back.
///
/// Source: REST "Delete Entity", header `x-ms-client-request-id`.
const MAX_CLIENT_REQUEST_ID: usize = 1_024;

/// Answers a request at once. Never fails: what is wrong is said in the answer.
pub(crate) async fn answer(emulator: &Emulator, request: http::Request<Bytes>) -> Response<Bytes> {
    respond(emulator, request, None).await.0
}

/// Answers a request that has its turn, or, if it is let in, that there is no room for it. With the answer comes how many rows
/// a query looked at.
pub(crate) async fn respond(
    emulator: &Emulator,
    request: http::Request<Bytes>,
    busy: Option<&Busy>,
) -> (Response<Bytes>, u64) {
    let settings = &*emulator.settings;
    let (head, body) = request.into_parts();
    let mut trace = Trace::of(&head.headers, head.uri.query(), settings.clock.now());
    trace.profile = settings.profile;
    let length = address::length(&head.uri);
    if length > MAX_URL {
        return (unread(length), 0);
    }
    let request = read(&head, &body);
    if !settings.secondary_lag.is_zero() {
        emulator.store_mut().catch_up(trace.time - settings.secondary_lag);
    }
    let (site, outcome) = match Site::of(&head.uri) {
        Ok(site) => {
            let site = site.under(settings);
            trace.profile = site.profile;
            let outcome = operate(emulator, &site, &head, &request, &trace, busy).await;
            (Some(site), outcome)
        }
        Err(refusal) => (None, Err(refusal)),
    };
    let answer = outcome.unwrap_or_else(|refusal| Answer::refusal(&refusal, request.error_form(), &trace));
    let rows = answer.rows;
    let mut response = answer.into_response(&trace);
    let storage = site.filter(|site| site.profile == Profile::Storage && head.method != Method::OPTIONS);
    if let Some(site) = storage {
        let rules = emulator.store().properties(&site).cors.unwrap_or_default();
        cors::add_headers(&rules, request.method, &head.headers, &mut response);
    }
    (response, rows)
}

/// What a request asks of the servers behind the front end; `None` where it does not get there, or is about tables or the service.
pub(crate) fn demand(emulator: &Emulator, head: &Parts, body: &[u8]) -> Option<Demand> {
    let settings = &*emulator.settings;
    let trace = Trace::of(&head.headers, head.uri.query(), settings.clock.now());
    let uri = Some(&head.uri).filter(|uri| address::length(uri) <= MAX_URL)?;
    let site = Site::of(uri).ok()?.under(settings);
    let request = read(head, body);
    let grant = enter(&emulator.store(), (&site, settings), head, &request, &trace).ok()?;
    let caller = Caller {
        site: &site,
        grant: &grant,
        settings,
        now: trace.time,
        version: &trace.version,
    };
    Demand::of(caller, &request).ok()
}

fn read<'a>(head: &'a Parts, body: &'a [u8]) -> Request<'a> {
    Request {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        headers: &head.headers,
        body,
    }
}

/// The answer to a request whose URL is too long. It is not the service's: the server before it gives it.
fn unread(length: usize) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::URI_TOO_LONG;
    response.extensions_mut().insert(Note::because(too_long(length)));
    response
}

/// The answer to a request whose body is not even read.
#[cfg(feature = "emulator-http")]
pub(crate) fn refuse(emulator: &Emulator, headers: &HeaderMap, refusal: &Refusal) -> Response<Bytes> {
    let trace = Trace::of(headers, None, emulator.settings.clock.now());
    Answer::refusal(refusal, ErrorForm::Json(Level::Minimal, None), &trace).into_response(&trace)
}

async fn operate(
    emulator: &Emulator,
    site: &Site,
    head: &Parts,
    request: &Request<'_>,
    trace: &Trace,
    busy: Option<&Busy>,
) -> Result<Answer> {
    if site.profile == Profile::Storage && head.method == Method::OPTIONS {
        let rules = emulator.store().properties(site).cors.unwrap_or_default();
        return cors::preflight(&rules, &head.headers);
    }
    let settings = &*emulator.settings;
    let grant = enter(&emulator.store(), (site, settings), head, request, trace)?;
    let caller = Caller {
        site,
        grant: &grant,
        settings,
        now: trace.time,
        version: &trace.version,
    };
    let is_batch = site.resource(request.path)? == Resource::Batch;
    if let Some(busy) = busy {
        return Ok(busy.answer(is_batch, request, trace));
    }
    if is_batch {
        if request.method != "POST" {
            return Err(Refusal::METHOD_NOT_ALLOWED);
        }
        return batch::run(emulator, caller, request, trace).await;
    }
    execute(emulator, &Call::parse(caller, request)?).await
}

/// What the front end looks at before it asks a server.
fn enter(
    store: &Store,
    (site, settings): (&Site, &Settings),
    head: &Parts,
    request: &Request<'_>,
    trace: &Trace,
) -> Result<Grant> {
    match site.profile {
        Profile::Storage => check_version(&trace.version)?,
        // There the version means nothing, and the service says nothing about itself.
        Profile::Cosmos if matches!(request.error_form(), ErrorForm::Xml) => return Err(cosmos::not_supported()),
        Profile::Cosmos => {}
    }
    let grant = auth::check(site, settings, head, &trace.version, (store, trace.time))?;
    if request.body.len() > MAX_BODY_BYTES {
        return Err(Refusal::BODY_TOO_LARGE);
    }
    if site.is_secondary && request.method != "GET" {
        return Err(Refusal::WRITE_TO_SECONDARY);
    }
    Ok(grant)
}

/// The store is locked for what is done in it alone, and by nobody across an `await`.
async fn execute(emulator: &Emulator, call: &Call<'_>) -> Result<Answer> {
    match (&call.resource, call.verb) {
        (Resource::Tables, Verb::Get) => tables::list(emulator, call).await,
        (Resource::Tables, Verb::Post) => tables::create(&mut emulator.store_mut(), call),
        (Resource::Table(table), Verb::Get) => tables::get(&emulator.store(), call, table),
        (Resource::Table(table), Verb::Delete) => tables::delete(&mut emulator.store_mut(), call, table),
        (Resource::Policies(table), Verb::Get) => policies::get(&emulator.store(), call, table),
        (Resource::Policies(table), Verb::Put) => policies::set(&mut emulator.store_mut(), call, table),
        (Resource::Entities(table), Verb::Get) => query::page(emulator, call, table).await,
        (Resource::Entity(table, id), Verb::Get) => entities::get(&emulator.store(), call, table, id),
        (Resource::Entities(_) | Resource::Entity(..), _) => entities::write(emulator, call),
        (Resource::Properties, Verb::Get) => Ok(properties::get(&emulator.store(), call)),
        (Resource::Properties, Verb::Put) => properties::set(&mut emulator.store_mut(), call),
        (Resource::Statistics, Verb::Get) => properties::statistics(call),
        (Resource::DelegationKey, Verb::Post) => delegation::give(call),
        (Resource::Service, _) => Err(Refusal::NOT_IMPLEMENTED),
        (
            Resource::Batch
            | Resource::Tables
            | Resource::Table(_)
            | Resource::Policies(_)
            | Resource::Properties
            | Resource::Statistics
            | Resource::DelegationKey,
            _,
        ) => Err(Refusal::METHOD_NOT_ALLOWED),
    }
}

fn check_version(version: &str) -> Result<()> {
    // They are in the order of their dates, which is that of their text.
    if VERSIONS.binary_search(&version).is_ok() {
        Ok(())
    } else {
        Err(Refusal::INVALID_HEADER_VALUE)
    }
}

/// The version that the query of a request with a shared access signature asks for: `api-version`, else `sv`.
///
/// Source: REST "Versioning for Azure Storage".
fn version_of_signature(query: Option<&str>) -> Option<String> {
    let sas = sas::of(query)?;
    let asked = ["api-version", "sv"].map(|name| sas.get(name));
    asked.into_iter().find(|text| !text.is_empty()).map(str::to_owned)
}

impl Trace {
    fn of(headers: &HeaderMap, query: Option<&str>, now: DateTime) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let version = text("x-ms-version")
            .map(str::to_owned)
            .or_else(|| version_of_signature(query))
            .unwrap_or_else(|| X_MS_VERSION.to_owned());
        let is_wanted = version.as_str() >= ECHOES_CLIENT_REQUEST_ID
            || text("x-ms-return-client-request-id").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let is_echoed = |value: &&HeaderValue| {
            value.len() <= MAX_CLIENT_REQUEST_ID && value.as_bytes().iter().all(u8::is_ascii_graphic)
        };
        let client_request_id = headers
            .get("x-ms-client-request-id")
            .filter(|_| is_wanted)
            .filter(is_echoed)
            .cloned();
        Self {
            id: Guid::random(),
            time: now,
            version,
            client_request_id,
            profile: Profile::Storage,
        }
    }
}
