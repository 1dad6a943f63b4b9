//! The operation of a request: a call, a write of one entity, or a batch.
//!
//! Maps resources and verbs to operations. `service.rs` passes a request through its stages.

use azure_table_wire::request::inbound::batch::Batch;
use azure_table_wire::request::inbound::target::{Target, TargetFault};
use azure_table_wire::request::inbound::{Headers, Inbound, Verb};

use crate::load::{Busy, Demand};
use crate::operations::batch::{self, BatchCalls};
use crate::operations::{Caller, OperationCall};
use crate::operations::{cors, documents, entities, query, tables};
use crate::response::format::ErrorForm;
use crate::response::{OperationResponse, Trace};
use crate::rules::service_error::{Result, ServiceError};
use crate::store::account::Replica;
use crate::store::{Change, SharedStore};

/// A parsed operation, ready for the store.
pub(crate) enum Operation<'a> {
    /// `OPTIONS` for any resource, whether it exists or not.
    Preflight(Replica<'a>, &'a Headers<'a>),
    OperationCall(OperationCall<'a>),
    Write(OperationCall<'a>, Result<Change<'a>>),
    Batch(BatchCalls<'a>),
}

impl<'a> Operation<'a> {
    pub(crate) fn parse(
        caller: &'a Caller<'a>,
        request: &'a Inbound<'a>,
        batch: Option<&'a Batch<'a>>,
    ) -> Result<Self> {
        if caller.is_preflight() {
            return Ok(Self::Preflight(caller.site.replica(), &request.headers));
        }
        match &request.target {
            Ok(Target::Batch) => return Ok(Self::Batch(BatchCalls::parse(caller, request, batch))),
            // Reported before a fault of the method.
            Err(fault) if *fault != TargetFault::Component => return Err((*fault).into()),
            Ok(_) | Err(_) => {}
        }
        request.verb?;
        if !caller.site.takes_merge() && matches!(request.method, "MERGE" | "PATCH") {
            return Err(ServiceError::METHOD_NOT_ALLOWED);
        }
        let call = OperationCall::parse(caller, request)?;
        Ok(match (call.target, call.verb) {
            (Target::Entities(_) | Target::Entity(..), Verb::Post | Verb::Put | Verb::Merge | Verb::Delete) => {
                let change = entities::change(&call);
                Self::Write(call, change)
            }
            _ => Self::OperationCall(call),
        })
    }

    /// Returns the work of the servers behind the front end. Returns `None` for an operation on tables or the service.
    pub(crate) fn demand(&self) -> Option<Demand> {
        match self {
            Self::Preflight(..) => None,
            Self::OperationCall(call) => entities::demand(call, None),
            Self::Write(call, change) => entities::demand(call, change.as_ref().ok()),
            Self::Batch(calls) => calls.demand(),
        }
    }

    /// Executes the operation. The store is locked only for the work in it, and never across an `await`.
    pub(crate) async fn execute(self, store: &SharedStore, trace: &Trace) -> Result<OperationResponse> {
        match self {
            Self::Preflight(replica, headers) => {
                let rules = store.read().properties(replica).cors.unwrap_or_default();
                cors::preflight(&rules, headers)
            }
            Self::OperationCall(call) => execute(store, &call, trace).await,
            Self::Write(call, change) => entities::write(store, &call, change, trace),
            Self::Batch(calls) => calls.execute(store, trace).await,
        }
    }

    /// Returns the response for exceeded capacity. Storage names the limit only in the text. Neither service names a
    /// time to wait.
    pub(crate) fn throttled(&self, busy: Busy, request: &Inbound<'_>, trace: &Trace) -> OperationResponse {
        let rules = trace.rules;
        let service_error = match busy {
            Busy::Account => &rules.account_busy,
            Busy::Server => &rules.server_busy,
        };
        let throttled = |error: &ServiceError| OperationResponse::service_error(error, ErrorForm::of(request), trace);
        if rules.throttles_in_part && matches!(self, Self::Batch(_)) {
            batch::with_only_part(throttled(&rules.at_index(service_error.clone(), 0, 1)), rules)
        } else {
            throttled(service_error)
        }
    }
}

async fn execute(store: &SharedStore, call: &OperationCall<'_>, trace: &Trace) -> Result<OperationResponse> {
    match (call.target, call.verb) {
        (Target::Tables, Verb::Get) => tables::list(store, call).await,
        (Target::Tables, Verb::Post) => tables::create(&mut store.write(), call, trace),
        (Target::Table(table), Verb::Get) => tables::get(&store.read(), call, table),
        (Target::Table(table), Verb::Delete) => tables::delete(&mut store.write(), call, table, trace),
        (Target::Policies(table), Verb::Get) => documents::policies(&store.read(), call, table),
        (Target::Policies(table), Verb::Put) => documents::set_policies(&mut store.write(), call, table, trace),
        (Target::Entities(table), Verb::Get) => query::page(store, call, table).await,
        (Target::Entity(table, id), Verb::Get) => entities::get(&store.read(), call, table, id),
        (Target::Properties, Verb::Get) => Ok(documents::properties(&store.read(), call)),
        (Target::Properties, Verb::Put) => documents::set_properties(&mut store.write(), call, trace),
        (Target::Statistics, Verb::Get) => documents::statistics(call, trace),
        (Target::DelegationKey, Verb::Post) => documents::user_delegation_key(call, trace),
        (Target::TablesBelow(table), _) => Err(tables::list_below(&store.read(), call, table)),
        (Target::WrongKeys(table), _) => Err(tables::wrong_keys(&store.read(), call, table)),
        (Target::Service, _) => Err(ServiceError::NOT_IMPLEMENTED),
        _ => Err(ServiceError::METHOD_NOT_ALLOWED),
    }
}
