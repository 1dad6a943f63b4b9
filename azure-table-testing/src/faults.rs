//! The transport that injects faults.
//!
//! Contains the active rules, their counts, and the log. The effect of a fault is in `fault.rs`, its conditions in
//! `fault_rule.rs`.
//!
//! Faults are rules at the transport, below the retry loop, so a test sees the effects of the network. Users, the fault
//! matrix and the soak test share one kit. Only the first rule that chooses a request acts; two faults on one request
//! need two wrappers. A service with a wrong clock is another transport, `Fault::RouteTo`.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::transport::injected_fault::InjectedFault;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

use crate::fault::Fault;
use crate::fault_rule::FaultRule;

/// The maximum length of the log. Beyond it the oldest requests are dropped.
const MAX_RECORDS: usize = 1_024;

/// A [`Transport`] that injects faults by rules, in front of another one. Feature `test-util`.
///
/// Rules are checked in the order in which they were added. The first rule that chooses a request acts on it. Later
/// rules do not see the request. For two faults on one request, wrap `Faults` in `Faults`. Clones share rules and log.
///
/// The same seed, rules and order of requests produce the same faults.
///
/// ```
/// use std::time::Duration;
/// use azure_table::operation::OperationKind;
/// use azure_table::testing::{Fault, Faults};
/// use azure_table::{DynamicEntity, Emulator, ErrorKind, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let faults = Faults::new(Emulator::new());
/// let table = TableServiceClient::from_transport(faults.clone()).dynamic_table("Blogs")?;
/// table.create_table().await?;
///
/// let hang = faults.add(Fault::HangRequest);
/// let row = DynamicEntity::new("Channel9", "1");
/// let error = table.insert(&row).timeout(Duration::from_millis(20)).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InDoubt);
/// assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Timeout);
///
/// hang.disable();
/// table.insert(&row).await?;
/// let kinds: Vec<OperationKind> = faults.log().iter().filter_map(|record| record.kind()).collect();
/// assert_eq!(kinds, [OperationKind::CreateTable, OperationKind::Insert, OperationKind::Insert]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Faults {
    behind: Arc<dyn Transport>,
    seed: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    rules: Vec<Standing>,
    /// The number of rules ever added, so that a new rule never repeats the draws of another, removed or not.
    added: u64,
    requests: u64,
    log: VecDeque<FaultRecord>,
}

/// An active rule.
struct Standing {
    rule: FaultRule,
    random: fastrand::Rng,
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Counters {
    is_enabled: AtomicBool,
    matched: AtomicU64,
    hits: AtomicU64,
}

impl Faults {
    /// Creates a wrapper without rules: every request passes through to `transport`.
    pub fn new(transport: impl Transport) -> Self {
        Self::with_seed(transport, 0)
    }

    /// Creates a wrapper without rules, with a seed for the random draws of its rules.
    pub fn with_seed(transport: impl Transport, seed: u64) -> Self {
        Self {
            behind: Arc::new(transport),
            seed,
            state: Arc::default(),
        }
    }

    /// Adds a rule after the existing ones: a [`FaultRule`], or a [`Fault`] for every request.
    ///
    /// The returned handle counts the rule's hits and switches it off and on. It may be dropped.
    pub fn add(&self, rule: impl Into<FaultRule>) -> AddedRule {
        let counters = Arc::new(Counters {
            is_enabled: AtomicBool::new(true),
            matched: AtomicU64::new(0),
            hits: AtomicU64::new(0),
        });
        let mut state = self.state();
        // Each rule has its own generator, so that another rule does not change the draws of the others. The generator
        // mixes its seed: similar seeds yield different draws.
        let mut seeds = fastrand::Rng::with_seed(self.seed);
        let seed = seeds.u64(..).wrapping_add(state.added);
        state.added += 1;
        state.rules.push(Standing {
            rule: rule.into(),
            random: fastrand::Rng::with_seed(seed),
            counters: Arc::clone(&counters),
        });
        AddedRule(counters)
    }

    /// Removes a rule. It has no effect if the rule is already removed.
    pub fn remove(&self, rule: &AddedRule) {
        let is_other = |standing: &Standing| !Arc::ptr_eq(&standing.counters, &rule.0);
        self.state().rules.retain(is_other);
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.state().rules.clear();
    }

    /// Returns the number of requests, including those that passed through.
    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// Returns the last 1,024 requests in the order of their arrival, with the fault of each.
    pub fn log(&self) -> Vec<FaultRecord> {
        self.state().log.iter().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses the fault of a request, counts the request and logs it.
    fn decide(&self, request: &Request<Bytes>) -> Option<Fault> {
        let inbound = Inbound::of(request);
        let (kind, table) = (inbound.kind(), inbound.table());
        let id = request.headers().get("x-ms-client-request-id");
        let mut state = self.state();
        let mut chosen = state
            .rules
            .iter_mut()
            .filter(|standing| standing.counters.is_enabled.load(Ordering::Relaxed))
            .filter(|standing| standing.rule.fits(kind, table.as_deref()));
        let fault = chosen.find_map(|standing| standing.chooses().then(|| standing.rule.fault.clone()));
        state.requests += 1;
        if state.log.len() == MAX_RECORDS {
            state.log.pop_front();
        }
        let record = FaultRecord {
            number: state.requests,
            kind,
            table,
            client_request_id: id.and_then(|id| id.to_str().ok()).map(str::to_owned),
            fault: fault.clone(),
        };
        state.log.push_back(record);
        fault
    }
}

impl Standing {
    /// Counts a matching request, and decides whether the fault affects it.
    fn chooses(&mut self) -> bool {
        // The lock of the state is held here; the atomics serve readers without the lock.
        let count = self.counters.matched.fetch_add(1, Ordering::Relaxed) + 1;
        let hits = self.counters.hits.load(Ordering::Relaxed);
        let is_chosen = self.rule.chooses(count, hits, &mut self.random);
        if is_chosen {
            self.counters.hits.store(hits + 1, Ordering::Relaxed);
        }
        is_chosen
    }
}

impl Transport for Faults {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            match self.decide(&request) {
                None => self.behind.send(request).await,
                Some(fault) => {
                    let mut response = fault.happen(&*self.behind, request).await?;
                    response.extensions_mut().insert(InjectedFault(fault.name()));
                    Ok(response)
                }
            }
        })
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&*self.behind)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let rules: Vec<(&FaultRule, &Counters)> = state.rules.iter().map(|it| (&it.rule, &*it.counters)).collect();
        f.debug_struct("Faults")
            .field("behind", &self.behind)
            .field("seed", &self.seed)
            .field("requests", &state.requests)
            .field("rules", &rules)
            .finish_non_exhaustive()
    }
}

/// A handle to an active rule: reads its counts and switches it off and on. Clones share the rule.
#[derive(Clone, Debug)]
pub struct AddedRule(Arc<Counters>);

impl AddedRule {
    /// Returns the number of requests that the fault affected.
    pub fn hits(&self) -> u64 {
        self.0.hits.load(Ordering::Relaxed)
    }

    /// Returns the number of requests that matched its kinds and its table while it was enabled, hit or not.
    pub fn matched(&self) -> u64 {
        self.0.matched.load(Ordering::Relaxed)
    }

    /// Enables the rule again. Its counts continue.
    pub fn enable(&self) {
        self.0.is_enabled.store(true, Ordering::Relaxed);
    }

    /// Disables the rule: every request passes through it uncounted.
    pub fn disable(&self) {
        self.0.is_enabled.store(false, Ordering::Relaxed);
    }
}

/// One request as [`Faults`](crate::Faults) saw it, and its fault.
///
/// It contains neither the URL nor headers, because they may contain signatures.
#[derive(Clone, Debug)]
pub struct FaultRecord {
    pub(crate) number: u64,
    pub(crate) kind: Option<OperationKind>,
    pub(crate) table: Option<String>,
    pub(crate) client_request_id: Option<String>,
    pub(crate) fault: Option<Fault>,
}

impl FaultRecord {
    /// Returns the position among all requests, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the operation, or `None` if the client has no such operation. A ping counts as a list of tables.
    pub fn kind(&self) -> Option<OperationKind> {
        self.kind
    }

    /// Returns the table of the request; for a batch, the table of its first operation.
    pub fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// Returns the client request ID: the same for all attempts of a call, as in [`Error::client_request_id`].
    ///
    /// [`Error::client_request_id`]: azure_table_wire::error::Error::client_request_id
    pub fn client_request_id(&self) -> Option<&str> {
        self.client_request_id.as_deref()
    }

    /// Returns the fault of the request, or `None` if it passed through.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}
