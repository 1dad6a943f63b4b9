//! The gate at which the requests of a run wait.
//!
//! Defines [`Gate`], and the transport of each client in front of it. The runtime calls [`Gate::at_rest`] when all
//! tasks are blocked. Then a [`Chooser`] chooses a waiting request, the gate executes it, and the tasks run until all
//! are blocked again. As on a network, a request does not depend on the polls of its future, which only collects the
//! response. A write whose future is dropped, or whose connection breaks, remains in flight.

use std::collections::HashMap;
use std::fmt;
use std::future::{pending, poll_fn};
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use azure_table_wire::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

use crate::address::Address;
use crate::explore::event::{Cause, Choice, Event, RequestId, RequestOutcome, Step, Waiting, WaitingKind};
use crate::explore::footprint::Footprint;
use crate::explore::life::{Life, Processes};
use crate::explore::story::StoryLine;
use crate::fault::Fault;

/// The maximum number of requests in one run.
const MAX_REQUESTS: usize = 10_000;
/// The maximum number of polls of one request. The emulator has no I/O, and only yields during long scans.
const MAX_POLLS: usize = 1_000_000;

/// Chooses the next step.
pub trait Chooser: Send {
    /// Returns the next step of a run after `events`, or the reason to end the run. At least one request waits that is
    /// not late.
    fn choose(&mut self, waiting: &[Waiting], events: &[Event]) -> Result<Choice, End>;
}

/// The reason why a run ended before its body did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All possible continuations were run in another order.
    Pruned,
    /// The requests differ from the previous run's after the same choices, as described.
    Differs(String),
    /// The choices of a replay name a request that does not wait.
    NoSuchRequest(String),
    TooLong,
}

/// The gate of one run. Clones share it.
#[derive(Clone)]
pub struct Gate {
    chooser: Arc<Mutex<dyn Chooser>>,
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// The waiting requests, as they are executed.
    held: HashMap<RequestId, Held>,
    /// The responses that no future has collected yet.
    responses: HashMap<RequestId, TransportResult>,
    sent: HashMap<Arc<str>, u32>,
    processes: Processes,
    events: Vec<Event>,
    cancelled: Vec<Cancelled>,
    /// The number of writes that may arrive late, so far and before the last step.
    late_writes: usize,
    may_be_late: usize,
    /// The lines of the story, if it is recorded.
    story: Option<Vec<StoryLine>>,
    cause: Cause,
    end: Option<End>,
    body: Option<Waker>,
    clock_is_chosen: bool,
}

type TransportResult = Result<Response<Bytes>, TransportError>;

/// A request in flight.
struct Held {
    request: Request<Bytes>,
    behind: Arc<dyn Transport>,
    /// The waker of its future, unless that was dropped.
    waker: Option<Waker>,
    /// The life of the process that sent it, if a process did.
    life: Option<Arc<Life>>,
}

/// A request whose future was dropped before it was polled with the response.
#[derive(Clone, Debug)]
pub struct Cancelled {
    pub id: RequestId,
    /// The number of events before the request, and before the end of its future.
    pub during: Range<usize>,
}

/// The events of a run, and its end.
#[derive(Debug)]
pub struct Ran {
    pub events: Vec<Event>,
    pub cancelled: Vec<Cancelled>,
    /// The number of writes that may arrive late, before the last step.
    pub may_be_late: usize,
    pub story: Vec<StoryLine>,
    pub end: Option<End>,
}

impl Gate {
    pub fn new(chooser: Arc<Mutex<dyn Chooser>>, tells: bool) -> Self {
        let state = State {
            story: tells.then(Vec::new),
            ..State::default()
        };
        Self {
            chooser,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Chooses and executes the next step. Called when all tasks are blocked.
    pub fn at_rest(&self) {
        let mut state = self.state();
        if state.end.is_some() {
            return;
        }
        let number = state.events.len();
        if !state.waiting.iter().any(Waiting::is_request) {
            // The next timer fires, and its effects come after all previous events.
            state.cause = Cause::AllOf(number);
            state.processes.timer_fires(number);
            return;
        }
        let next = match number {
            MAX_REQUESTS.. => Err(End::TooLong),
            _ => {
                let mut chooser = self.chooser.lock().unwrap_or_else(PoisonError::into_inner);
                chooser.choose(&state.choosable(), &state.events)
            }
        };
        let waker = match next {
            Ok(choice) => state.take(choice),
            Err(end) => {
                state.end = Some(end);
                None
            }
        };
        // Wakes the body too, so that the run goes on even if nobody polls the future of the request any more.
        let wakers = [waker, state.body.take()];
        drop(state);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Returns the reason to end the run early, or registers the waker for it.
    pub fn poll_end(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        state.body = Some(cx.waker().clone());
        match state.end {
            Some(_) => Poll::Ready(()),
            None => Poll::Pending,
        }
    }

    /// Returns `true` once after each choice of the clock.
    pub fn takes_clock(&self) -> bool {
        std::mem::take(&mut self.state().clock_is_chosen)
    }

    /// Begins a life of a process. It may crash until the value is dropped.
    pub fn begin(&self, name: &Arc<str>, life: &Arc<Life>) -> Running<'_> {
        let (name, life) = (Arc::clone(name), Arc::clone(life));
        self.state().processes.begin(name, Arc::clone(&life));
        Running { gate: self, life }
    }

    /// Notes that a process has returned, and crashes no more.
    fn retire(&self, life: &Arc<Life>) {
        life.retire();
        let state = &mut *self.state();
        state.processes.end(life);
        for waiting in &mut state.waiting {
            let own = state.held.get(&waiting.id).and_then(|held| held.life.as_ref());
            waiting.is_of_process &= own.is_none_or(|own| !Arc::ptr_eq(own, life));
        }
    }

    /// Returns the record of the run, and resets the gate.
    pub fn finish(&self) -> Ran {
        // The wakers hold the runtime, and the runtime holds the gate.
        let state = std::mem::take(&mut *self.state());
        Ran {
            events: state.events,
            cancelled: state.cancelled,
            may_be_late: state.may_be_late,
            story: state.story.unwrap_or_default(),
            end: state.end,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the request is executed.
    async fn pass(&self, client: &Arc<str>, held: Held) -> TransportResult {
        // A spawned task outlives its process, but its requests no longer arrive.
        if held.life.as_ref().is_some_and(|life| life.is_over()) {
            return pending().await;
        }
        let pass = {
            let mut state = self.state();
            Pass {
                gate: self,
                id: state.arrive(client, held),
                since: state.events.len(),
            }
        };
        poll_fn(|cx| {
            let mut state = self.state();
            if let Some(held) = state.held.get_mut(&pass.id) {
                held.waker = Some(cx.waker().clone());
            }
            state.responses.remove(&pass.id).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl State {
    fn arrive(&mut self, client: &Arc<str>, held: Held) -> RequestId {
        let request = &held.request;
        let sent = self.sent.entry(Arc::clone(client)).or_default();
        let id = RequestId {
            client: Arc::clone(client),
            number: *sent,
        };
        *sent += 1;
        let address = Address::of(request.uri());
        let query = if address.query.is_empty() { "" } else { "?" };
        self.waiting.push(Waiting {
            id: id.clone(),
            line: format!("{} {}{query}{}", request.method(), address.path, address.query).into(),
            footprint: Arc::new(Footprint::of(request)),
            kind: WaitingKind::Request,
            is_of_process: held.life.as_ref().is_some_and(|life| life.can_crash()),
            cause: self.cause,
        });
        self.held.insert(id.clone(), held);
        id
    }

    /// Returns the steps that can be chosen: the waiting requests, and the crashes of processes without one.
    fn choosable(&self) -> Vec<Waiting> {
        let is_waiting = |life| self.in_flight(life).next().is_some();
        let idle = self.processes.idle(&self.events).filter(|(_, life)| !is_waiting(life));
        let deaths = idle.map(|(name, _)| Waiting {
            id: RequestId {
                client: Arc::clone(name),
                number: self.sent.get(name).copied().unwrap_or_default(),
            },
            line: "waits for a timer".into(),
            footprint: Arc::new(Footprint::nothing()),
            kind: WaitingKind::Death,
            is_of_process: true,
            cause: self.processes.last_timer(),
        });
        self.waiting.iter().cloned().chain(deaths).collect()
    }

    /// Returns the requests of a life that wait, except late ones.
    fn in_flight<'a>(&'a self, life: &'a Arc<Life>) -> impl Iterator<Item = &'a RequestId> {
        let ids = self
            .waiting
            .iter()
            .filter(|waiting| waiting.is_request())
            .map(|waiting| &waiting.id);
        let life_of = |id| self.held.get(id).and_then(|held| held.life.as_ref());
        ids.filter(move |id| life_of(id).is_some_and(|own| Arc::ptr_eq(own, life)))
    }

    /// Executes and records a choice. Returns the waker of the chosen request.
    fn take(&mut self, choice: Choice) -> Option<Waker> {
        let number = self.events.len();
        let last = self.events.last().and_then(Event::client);
        let could_go_on = self
            .waiting
            .iter()
            .any(|waiting| waiting.is_request() && last == Some(&waiting.id.client));
        let is_switch = could_go_on && last != choice.step.client();
        self.may_be_late = self.late_writes;
        let mut event = Event {
            choice,
            footprint: Arc::new(Footprint::nothing()),
            cause: Cause::Start,
            place: 0,
            is_switch,
        };
        let (story, mut crashed) = (self.story.as_mut(), None);
        let mut waker = match &event.choice.step {
            Step::Clock => {
                self.clock_is_chosen = true;
                self.processes.timer_fires(number + 1);
                story.into_iter().for_each(|story| story.push(StoryLine::clock()));
                None
            }
            Step::Death(id) => {
                story
                    .into_iter()
                    .for_each(|story| story.push(StoryLine::death(&id.client)));
                crashed = Some(Arc::clone(self.processes.life(&id.client)?));
                event.cause = self.processes.last_timer();
                None
            }
            step @ (Step::Request(id) | Step::Late(id)) => {
                let at = self.waiting.iter().position(|waiting| waiting.step() == *step)?;
                let (taken, outcome) = (self.waiting[at].clone(), event.choice.outcome);
                let held = self.held.get(id)?;
                let before = self.waiting[..at].iter();
                event.place = before
                    .filter(|other| other.id.client == id.client && other.kind == taken.kind)
                    .count();
                event.cause = taken.cause;
                if outcome.is_executed() {
                    event.footprint = Arc::clone(&taken.footprint);
                }
                let response = execute(held, outcome);
                if let Some(story) = story {
                    story.push(StoryLine::of(&event.choice, &held.request, &response));
                }
                crashed = held.life.clone().filter(|_| outcome.is_crash());
                let waker = match outcome {
                    RequestOutcome::Crash => None,
                    // The network may deliver it later.
                    RequestOutcome::RequestLost if taken.footprint.writes() => {
                        let waiting = &mut self.waiting[at];
                        (waiting.kind, waiting.cause) = (WaitingKind::Late, Cause::Event(number));
                        self.late_writes += 1;
                        self.held.get_mut(id)?.waker.take()
                    }
                    _ => {
                        self.waiting.remove(at);
                        self.held.remove(id)?.waker
                    }
                };
                if taken.is_request() && crashed.is_none() {
                    self.responses.insert(taken.id, response);
                }
                waker
            }
        };
        self.events.push(event);
        self.cause = Cause::Event(number);
        if let Some(life) = crashed {
            waker = self.crash(&life, number);
        }
        waker
    }

    /// Ends the life of a process in the event of this number. Returns the waker of the process.
    fn crash(&mut self, life: &Arc<Life>, number: usize) -> Option<Waker> {
        self.processes.end(life);
        for id in self.in_flight(life).cloned().collect::<Vec<_>>() {
            self.abandon(&id);
            let during = number..number + 1;
            self.cancelled.push(Cancelled { id, during });
        }
        life.end()
    }

    /// Leaves a waiting request without its future: a write may still arrive late, a read is removed.
    fn abandon(&mut self, id: &RequestId) {
        let is_meant = |waiting: &Waiting| waiting.id == *id && waiting.is_request();
        let Some(at) = self.waiting.iter().position(is_meant) else {
            return;
        };
        let waiting = &mut self.waiting[at];
        match self.held.get_mut(id).filter(|_| waiting.footprint.writes()) {
            Some(held) => {
                (waiting.kind, waiting.cause) = (WaitingKind::Late, self.cause);
                held.waker = None;
                self.late_writes += 1;
            }
            None => {
                self.waiting.remove(at);
                self.held.remove(id);
            }
        }
    }
}

/// A life that may crash, until this is dropped: its process has returned, or nobody waits for it any more.
#[derive(Debug)]
pub struct Running<'g> {
    gate: &'g Gate,
    life: Arc<Life>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.gate.retire(&self.life);
    }
}

/// Executes a request with this outcome.
fn execute(held: &Held, outcome: RequestOutcome) -> TransportResult {
    let (behind, request) = (&*held.behind, held.request.clone());
    let mut execution = pin!(async {
        match outcome {
            RequestOutcome::Delivered => behind.send(request).await,
            RequestOutcome::RequestLost | RequestOutcome::Crash => Fault::LoseRequest.happen(behind, request).await,
            RequestOutcome::ResponseLost | RequestOutcome::CrashAfter => {
                Fault::LoseResponse.happen(behind, request).await
            }
        }
    });
    for _ in 0..MAX_POLLS {
        if let Poll::Ready(response) = execution.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return response;
        }
    }
    Err(TransportError::new(
        Delivery::MaybeSent,
        io::Error::other("the service of an exploration must respond without waiting"),
    ))
}

/// The future of a request at the gate. After it is dropped, for example with its task, a waiting write may still
/// arrive, and a waiting read is removed from the gate.
struct Pass<'g> {
    gate: &'g Gate,
    id: RequestId,
    /// The number of events before it.
    since: usize,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let state = &mut *self.gate.state();
        let is_own = |waiting: &Waiting| waiting.id == self.id && waiting.is_request();
        let waits = state.waiting.iter().any(is_own);
        let response = state.responses.remove(&self.id);
        // An early end of a run drops the futures of all requests: they are not cancelled.
        if state.end.is_none() && (waits || response.is_some()) {
            let (id, during) = (self.id.clone(), self.since..state.events.len());
            state.cancelled.push(Cancelled { id, during });
        }
        state.abandon(&self.id);
    }
}

/// The transport of one client: the gate, and the service behind it.
pub struct GatedTransport {
    pub gate: Gate,
    pub client: Arc<str>,
    pub behind: Arc<dyn Transport>,
    /// The life of the process that this client belongs to, if it belongs to one.
    pub life: Option<Arc<Life>>,
}

impl Transport for GatedTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let held = Held {
            request,
            behind: Arc::clone(&self.behind),
            waker: None,
            life: self.life.clone(),
        };
        Box::pin(self.gate.pass(&self.client, held))
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&*self.behind)
    }
}

impl fmt::Debug for GatedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatedTransport")
            .field("client", &self.client)
            .field("behind", &self.behind)
            .finish_non_exhaustive()
    }
}
