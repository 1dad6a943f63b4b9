//! The service: the stages of a request, each once.
//!
//! | stage | value | files |
//! |---|---|---|
//! | head | [`Trace`] | `head.rs` |
//! | site | `Site` | `site.rs` |
//! | caller | `Caller` | `access.rs` |
//! | operation | [`Operation`] | `operations` |
//! | store | `Change` | `store.rs` |
//! | response | [`OperationResponse`] | `response.rs` |
//!
//! With a service model the operation waits for its turn (`load/stamp.rs`) before it reaches the store. The caller is
//! authorized on arrival, with the stored access policies of that time. Timestamps show the time of the turn.
//!
//! Not confirmed: which of several faults of a request is reported; the headers of Storage's throttling responses, and
//! that it rejects a batch as a whole; that the responses for a partition and for its server are the same.
//!
//! Source: REST "Table service REST API", "Common REST API error codes"; azure-sdk-for-net issues 13554 and 26960.

use std::sync::Arc;

use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::request::inbound::target::Paths;
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;
use http::{Method, Response};

use crate::access;
use crate::head;
use crate::load::Busy;
use crate::load::stamp::{ServerTurn, Stamp};
use crate::operations::cors;
use crate::operations::operation::Operation;
use crate::request::continuation;
use crate::response::format::ErrorForm;
use crate::response::observer::SenderRejected;
use crate::response::{OperationResponse, Trace};
use crate::rules::service_error::Result;
use crate::settings::Settings;
use crate::settings::adverse::{Adverse, Choices, Failure, Fate};
use crate::site;
use crate::store::SharedStore;
use crate::store::site::Site;

/// A service: its store, its settings, and its servers if a model is set.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) store: SharedStore,
    pub(crate) settings: Arc<Settings>,
    pub(crate) stamp: Option<Arc<Stamp>>,
}

impl Service {
    /// Responds to a request, immediately or when the servers have processed it. Failures are responses too.
    ///
    /// Returns the fate of the response too, which an adverse service decides.
    pub(crate) async fn serve(&self, request: http::Request<Bytes>) -> (Response<Bytes>, Fate) {
        let settings = &*self.settings;
        let (head, body) = request.into_parts();
        if let Some(response) = head::fault(&head.uri) {
            if let Some(turn) = self.turn(None, &head.method).await {
                turn.end(0).await;
            }
            return (response, Fate::Served);
        }
        let mut trace = head::trace(&head.headers, head.uri.query(), settings);
        let mut site = site::of(&head, settings, trace.time);
        trace.rules = settings.rules_at(head.uri.host());
        let mut fate = Fate::Served;
        if let (Some(adverse), Ok(site)) = (&settings.adverse, &mut site) {
            let query = continuation::with_places(head.uri.query().unwrap_or_default(), site.rules);
            let mut request = Inbound::at(site.paths(), (&head.method, &head.uri), &head.headers, &body);
            request.query = &query;
            let choices = self.choose(adverse, &request, site, trace.time);
            site.choose(choices, settings);
            fate = choices.fate;
        }
        if fate == Fate::Closed {
            return (Response::new(Bytes::new()), fate);
        }
        let paths = site.as_ref().map_or(Paths::default(), Site::paths);
        let request = Inbound::at(paths, (&head.method, &head.uri), &head.headers, &body);
        self.catch_up(trace.time);
        let caller = match &site {
            Ok(site) => access::enter((site, settings), &head, &request, &trace, &self.store.read()),
            Err(service_error) => Err(service_error.clone()),
        };
        let batch = caller.is_ok().then(|| request.batch()).flatten();
        let operation = match &caller {
            Ok(caller) => Operation::parse(caller, &request, batch.as_ref()),
            Err(service_error) => Err(service_error.clone()),
        };
        let turn = self.turn(operation.as_ref().ok(), &head.method).await;
        if turn.is_some() {
            trace.time = settings.clock.now();
            self.catch_up(trace.time);
        }
        let busy = turn.as_ref().and_then(|turn| turn.busy);
        let outcome = self.execute(operation, (busy, fate), &request, &trace).await;
        let outcome = outcome.map_err(|service_error| match &site {
            Ok(site) if service_error.why.is_none() => site.explained(service_error, head.uri.path()),
            _ => service_error,
        });
        let (mut response, rows) = self.respond(outcome, site.as_ref().ok(), &request, &trace).await;
        if caller.is_err() {
            response.extensions_mut().insert(SenderRejected);
        }
        if let Some(turn) = turn {
            Box::pin(turn.end(rows)).await;
        }
        (response, fate)
    }

    /// Returns the choices of an adverse service.
    fn choose(&self, adverse: &Adverse, request: &Inbound<'_>, site: &Site, now: DateTime) -> Choices {
        let table = request.table().unwrap_or_default();
        let is_deleted = self.store.read().is_leaving(site.replica(), &table, now);
        adverse.choose(request, site.rules, is_deleted)
    }

    /// Waits for the turn of a request, if a model is set.
    async fn turn(&self, operation: Option<&Operation<'_>>, method: &Method) -> Option<ServerTurn<'_>> {
        let stamp = self.stamp.as_ref()?;
        let demand = operation.and_then(Operation::demand);
        // Boxed to keep the future small without a model.
        Some(Box::pin(ServerTurn::wait(stamp, demand, method)).await)
    }

    /// Brings the secondary to the state that it shows at `now`.
    fn catch_up(&self, now: DateTime) {
        let lag = self.settings.secondary_lag;
        if !lag.is_zero() {
            self.store.write().catch_up(now, lag);
        }
    }

    async fn execute(
        &self,
        operation: Result<Operation<'_>>,
        (busy, fate): (Option<Busy>, Fate),
        request: &Inbound<'_>,
        trace: &Trace,
    ) -> Result<OperationResponse> {
        self.store.check()?;
        let (busy, failure) = match fate {
            Fate::Failed {
                failure: Failure::Throttled,
                ..
            } => (Some(Busy::Server), None),
            Fate::Failed { failure, is_applied } if !is_applied => return Err(failure.error()),
            Fate::Failed { failure, .. } => (busy, Some(failure)),
            _ => (busy, None),
        };
        let response = match busy {
            None => operation?.execute(&self.store, trace).await,
            Some(busy) => Ok(operation?.throttled(busy, request, trace)),
        };
        match failure {
            Some(failure) => Err(failure.error()),
            None => response,
        }
    }

    /// Returns the response, and the number of rows that a query examined.
    async fn respond(
        &self,
        outcome: Result<OperationResponse>,
        site: Option<&Site>,
        request: &Inbound<'_>,
        trace: &Trace,
    ) -> (Response<Bytes>, u64) {
        let site = site.filter(|site| site.rules.has_service_operations && request.method != "OPTIONS");
        let rules = site.map(|site| self.store.read().properties(site.replica()).cors.unwrap_or_default());
        // Waits after the last access to the store, so that the response shows nothing that could still be lost.
        let outcome = self.store.settled().await.and(outcome);
        let outcome = outcome.unwrap_or_else(|service_error| {
            OperationResponse::service_error(&service_error, ErrorForm::of(request), trace)
        });
        let rows = outcome.rows;
        let mut response = outcome.into_response(trace);
        if let Some(rules) = rules {
            cors::add_headers(&rules, request, &mut response);
        }
        (response, rows)
    }
}
