//! Dispatch: the steps of a request through the service.
//!
//! Owns the order of checks, the table of resources and verbs, and the times of an emulator with a service model.
//! `operations.rs` has the effects of an operation, `access.rs` the permissions of the caller, `load.rs` the capacity.
//!
//! Not confirmed: the effect of a missing `x-ms-version` (the client's own version is assumed); that the header takes
//! precedence over the query's versions for a shared access signature; which of several faults of a request is
//! reported; the headers of throttling responses, and that a batch is rejected as a whole; that the responses for a
//! partition and for its server are the same; that Cosmos DB's always name a retry time (reports differ).
//!
//! Source: REST "Table service REST API", "Versioning for Azure Storage", "Common REST API error codes";
//! azure-sdk-for-net issues 13554 and 26960.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderValue;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};

use crate::emulator::access;
use crate::emulator::access::sas;
use crate::emulator::load::stamp::Stamp;
use crate::emulator::load::{Busy, Demand, Limit, Work};
use crate::emulator::operations::grant::Grant;
use crate::emulator::operations::{Call, Caller};
use crate::emulator::operations::{batch, cors, documents, entities, query, tables};
#[cfg(feature = "emulator-http")]
use crate::emulator::request::{ErrorForm, JsonForm};
use crate::emulator::request::{Request, Verb};
use crate::emulator::response::observer::Note;
use crate::emulator::response::{Answer, Trace};
#[cfg(feature = "emulator-http")]
use crate::emulator::rules::STORAGE;
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::rules::version::{self, ECHOES_CLIENT_REQUEST_ID};
use crate::emulator::rules::{MAX_BODY_BYTES, MAX_URL, Rules};
use crate::emulator::settings::Settings;
use crate::emulator::site::{self, Resource, Site, too_long};
use crate::emulator::store::{SharedStore, Store};
use crate::model::clock::{self, Instant};
use crate::model::datetime::DateTime;
use crate::model::guid::Guid;
use crate::protocol::http_request::X_MS_VERSION;

/// The maximum length of a client request id that is echoed.
///
/// Source: REST "Delete Entity", header `x-ms-client-request-id`.
const MAX_CLIENT_REQUEST_ID: usize = 1_024;

/// A service: its store, its settings, and its servers if a model is set.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) store: SharedStore,
    pub(crate) settings: Arc<Settings>,
    pub(crate) stamp: Option<Arc<Stamp>>,
}

impl Service {
    /// Responds to a request, immediately or when the servers have processed it. Failures are responses too.
    pub(crate) async fn answer(&self, request: http::Request<Bytes>) -> Response<Bytes> {
        match &self.stamp {
            None => self.respond(request, None).await.0,
            // Boxed to keep the future small without a model.
            Some(stamp) => Box::pin(self.answer_in_turn(stamp, request)).await,
        }
    }

    async fn answer_in_turn(&self, stamp: &Stamp, request: http::Request<Bytes>) -> Response<Bytes> {
        let (head, body) = request.into_parts();
        let demand = self.demand(&head, &body);
        let latency = stamp.latency(match &demand {
            Some(demand) => demand.work,
            None if head.method == Method::GET => Work::Read,
            None => Work::Write(0),
        });
        let request = http::Request::from_parts(head, body);
        pass(latency / 2).await;
        let admitted = demand.as_ref().map(|demand| stamp.admit(demand, Instant::now()));
        let (busy, back) = match admitted {
            None => (None, latency / 2),
            Some(Ok(done)) => {
                until(done).await;
                (None, latency / 2)
            }
            // A rejected request is not replicated.
            Some(Err(busy)) => (Some(busy), stamp.latency(Work::Read) / 2),
        };
        let (response, rows) = self.respond(request, busy.as_ref()).await;
        if let (Some(demand), 1..) = (&demand, rows) {
            until(stamp.read(demand, rows, Instant::now())).await;
        }
        pass(back).await;
        response
    }

    /// Responds to a request whose turn has come. With `busy` it responds with a rejection, if the request passes the
    /// front end. Also returns the number of rows that a query examined.
    async fn respond(&self, request: http::Request<Bytes>, busy: Option<&Busy>) -> (Response<Bytes>, u64) {
        let settings = &*self.settings;
        let (head, body) = request.into_parts();
        let mut trace = trace(&head.headers, head.uri.query(), settings.clock.now(), settings.rules());
        let length = site::length(&head.uri);
        if length > MAX_URL {
            return (unread(length), 0);
        }
        let request = read(&head, &body);
        if !settings.secondary_lag.is_zero() {
            self.store.write().catch_up(trace.time - settings.secondary_lag);
        }
        let (site, outcome) = match Site::of(&head.uri) {
            Ok(site) => {
                let site = site.under(settings);
                trace.rules = site.rules;
                let outcome = self.operate(&site, &head, &request, &trace, busy).await;
                (Some(site), outcome)
            }
            Err(refusal) => (None, Err(refusal)),
        };
        let site = site.filter(|site| site.rules.has_cors && head.method != Method::OPTIONS);
        let rules = site.map(|site| self.store.read().properties(site.replica()).cors.unwrap_or_default());
        // After the last access to the store, so that the response shows nothing that could still be lost.
        let outcome = self.store.settled().await.and(outcome);
        let answer = outcome.unwrap_or_else(|refusal| Answer::refusal(&refusal, request.error_form(), &trace));
        let looked_at = answer.rows;
        let mut response = answer.into_response(&trace);
        if let Some(rules) = rules {
            cors::add_headers(&rules, request.method, &head.headers, &mut response);
        }
        (response, looked_at)
    }

    /// Returns the work that a request asks of the servers behind the front end. Returns `None` if it does not get
    /// there, or is about tables or the service.
    fn demand(&self, head: &Parts, body: &[u8]) -> Option<Demand> {
        let settings = &*self.settings;
        let trace = trace(&head.headers, head.uri.query(), settings.clock.now(), settings.rules());
        let uri = Some(&head.uri).filter(|uri| site::length(uri) <= MAX_URL)?;
        let site = Site::of(uri).ok()?.under(settings);
        let request = read(head, body);
        let grant = enter(&self.store.read(), (&site, settings), head, &request, &trace).ok()?;
        let caller = Caller {
            site: &site,
            grant: &grant,
            settings,
            now: trace.time,
            version: &trace.version,
        };
        if site.resource(request.path).ok()? == Resource::Batch {
            return batch::demand(caller, &request).ok();
        }
        entities::demand(&Call::parse(caller, &request).ok()?).ok()
    }

    async fn operate(
        &self,
        site: &Site,
        head: &Parts,
        request: &Request<'_>,
        trace: &Trace,
        busy: Option<&Busy>,
    ) -> Result<Answer> {
        self.store.check()?;
        if site.rules.has_cors && head.method == Method::OPTIONS {
            let rules = self.store.read().properties(site.replica()).cors.unwrap_or_default();
            return cors::preflight(&rules, &head.headers);
        }
        let settings = &*self.settings;
        let grant = enter(&self.store.read(), (site, settings), head, request, trace)?;
        let caller = Caller {
            site,
            grant: &grant,
            settings,
            now: trace.time,
            version: &trace.version,
        };
        let is_batch = site.resource(request.path)? == Resource::Batch;
        if let Some(busy) = busy {
            return Ok(refused(busy, is_batch, request, trace));
        }
        if is_batch {
            if request.method != "POST" {
                return Err(Refusal::METHOD_NOT_ALLOWED);
            }
            return batch::run(&self.store, caller, request, trace).await;
        }
        execute(&self.store, &Call::parse(caller, request)?).await
    }

    /// Returns the response to a request whose body was not read.
    #[cfg(feature = "emulator-http")]
    pub(crate) fn refuse(&self, headers: &HeaderMap, refusal: &Refusal) -> Response<Bytes> {
        let trace = trace(headers, None, self.settings.clock.now(), &STORAGE);
        Answer::refusal(refusal, ErrorForm::Json(JsonForm::default()), &trace).into_response(&trace)
    }
}

async fn until(done: Instant) {
    pass(done.saturating_duration_since(Instant::now())).await;
}

/// A zero time skips the wait, even for the timer's next tick.
async fn pass(time: Duration) {
    if !time.is_zero() {
        clock::sleep(time).await;
    }
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

/// Returns the response to a request whose URL is too long, which the server in front of the service sends.
fn unread(length: usize) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::URI_TOO_LONG;
    response.extensions_mut().insert(Note::because(too_long(length)));
    response
}

/// Performs the checks of the front end, before it asks a server. Returns the permissions of the request.
fn enter(
    store: &Store,
    (site, settings): (&Site, &Settings),
    head: &Parts,
    request: &Request<'_>,
    trace: &Trace,
) -> Result<Grant> {
    if site.rules.checks_version && !version::is_taken(&trace.version, settings.has_strict_versions) {
        return Err(Refusal::INVALID_HEADER_VALUE);
    }
    if !site.rules.has_service_operations && request.is_xml() {
        return Err(Refusal::NOT_SUPPORTED);
    }
    let grant = access::check(site, settings, head, &trace.version, (store, trace.time))?;
    if request.body.len() > MAX_BODY_BYTES {
        return Err(Refusal::BODY_TOO_LARGE);
    }
    if site.is_secondary && request.method != "GET" && !site.rules.writes_at_secondary {
        return Err(Refusal::WRITE_TO_SECONDARY);
    }
    Ok(grant)
}

/// Returns the response for exceeded capacity. Storage names the limit only in the text, and no retry time.
fn refused(busy: &Busy, is_batch: bool, request: &Request<'_>, trace: &Trace) -> Answer {
    let rules = trace.rules;
    let refusal = match busy.limit {
        Limit::Account => &rules.account_busy,
        Limit::Server => &rules.server_busy,
    };
    let form = request.error_form();
    let Some(header) = rules.retry_after else {
        return Answer::refusal(refusal, form, trace);
    };
    let wait = busy.wait.as_millis().max(1).to_string();
    let refused = |refusal: &Refusal| Answer {
        more: vec![(header, wait)],
        ..Answer::refusal(refusal, form, trace)
    };
    if is_batch {
        batch::refused(refused(&rules.at_index(refusal.clone(), 0)), rules)
    } else {
        refused(refusal)
    }
}

/// Executes a call. The store is locked only for the work in it, and never across an `await`.
async fn execute(store: &SharedStore, call: &Call<'_>) -> Result<Answer> {
    match (&call.resource, call.verb) {
        (Resource::Tables, Verb::Get) => tables::list(store, call).await,
        (Resource::Tables, Verb::Post) => tables::create(&mut store.write(), call),
        (Resource::Table(table), Verb::Get) => tables::get(&store.read(), call, table),
        (Resource::Table(table), Verb::Delete) => tables::delete(&mut store.write(), call, table),
        (Resource::Policies(table), Verb::Get) => documents::policies(&store.read(), call, table),
        (Resource::Policies(table), Verb::Put) => documents::set_policies(&mut store.write(), call, table),
        (Resource::Entities(table), Verb::Get) => query::page(store, call, table).await,
        (Resource::Entity(table, id), Verb::Get) => entities::get(&store.read(), call, table, id),
        (Resource::Entities(_) | Resource::Entity(..), _) => entities::write(store, call),
        (Resource::Properties, Verb::Get) => Ok(documents::properties(&store.read(), call)),
        (Resource::Properties, Verb::Put) => documents::set_properties(&mut store.write(), call),
        (Resource::Statistics, Verb::Get) => documents::statistics(call),
        (Resource::DelegationKey, Verb::Post) => documents::user_delegation_key(call),
        (Resource::TablesBelow(table), _) => Err(tables::list_below(&store.read(), call, table)),
        (Resource::WrongKeys(table), _) => Err(tables::wrong_keys(&store.read(), call, table)),
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

/// Returns the version of a request with a shared access signature, from its query: `api-version`, else `sv`.
///
/// Source: REST "Versioning for Azure Storage".
fn version_of_signature(query: Option<&str>) -> Option<String> {
    let sas = sas::of(query)?;
    let asked = ["api-version", "sv"].map(|name| sas.get(name));
    asked.into_iter().find(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the trace of a request, which its response repeats.
fn trace(headers: &HeaderMap, query: Option<&str>, now: DateTime, rules: &'static Rules) -> Trace {
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
    Trace {
        id: Guid::random(),
        time: now,
        version,
        client_request_id,
        rules,
    }
}
