//! The gate at which the requests of a run wait.
//!
//! Defines [`Gate`], and the transport of each client in front of it. The runtime calls [`Gate::at_rest`] when all
//! tasks are blocked. Then a [`Chooser`] chooses a waiting request, and the tasks run until all are blocked again.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use azure_table_core::protocol::profile::Profile;
use azure_table_core::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

use crate::address::Address;
use crate::explore::event::{Cause, Choice, Event, RequestId, RequestOutcome, Step, Waiting};
use crate::explore::footprint::Footprint;
use crate::explore::story::StoryLine;
use crate::fault::Fault;

/// The maximum number of requests in one run.
const MOST_REQUESTS: usize = 10_000;

/// Chooses the next step.
pub trait Chooser: Send {
    /// Returns the next step of a run after `events`, or the reason to end the run. At least one request waits.
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
    wakers: HashMap<RequestId, Waker>,
    /// The requests that were chosen but not notified yet, with the numbers of their events.
    chosen: HashMap<RequestId, usize>,
    sent: HashMap<Arc<str>, u32>,
    events: Vec<Event>,
    cancelled: Vec<Cancelled>,
    /// The lines of the story, if it is recorded.
    story: Option<Vec<StoryLine>>,
    cause: Cause,
    end: Option<End>,
    body: Option<Waker>,
    clock_is_chosen: bool,
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

    /// Chooses the next step. Called when all tasks are blocked.
    pub fn at_rest(&self) {
        let mut state = self.state();
        if state.end.is_some() {
            return;
        }
        if state.waiting.is_empty() {
            // The next timer fires, and its effects come after all previous events.
            state.cause = Cause::AllOf(state.events.len());
            return;
        }
        let next = match state.events.len() {
            MOST_REQUESTS.. => Err(End::TooLong),
            _ => {
                let mut chooser = self.chooser.lock().unwrap_or_else(PoisonError::into_inner);
                chooser.choose(&state.waiting, &state.events)
            }
        };
        let waker = match next {
            Ok(choice) => state.take(choice),
            Err(end) => {
                state.end = Some(end);
                state.body.take()
            }
        };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
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

    /// Returns the record of the run, and resets the gate.
    pub fn finish(&self) -> Ran {
        let mut state = self.state();
        // The waker holds the runtime, and the runtime holds the gate.
        state.body = None;
        Ran {
            events: std::mem::take(&mut state.events),
            cancelled: std::mem::take(&mut state.cancelled),
            story: state.story.take().unwrap_or_default(),
            end: state.end.take(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the request is chosen. Returns the number and the outcome of its event.
    async fn pass(&self, client: &Arc<str>, request: &Request<Bytes>) -> (usize, RequestOutcome) {
        let pass = {
            let mut state = self.state();
            Pass {
                gate: self,
                id: state.arrive(client, request),
                since: state.events.len(),
            }
        };
        let (event, outcome) = poll_fn(|cx| {
            let mut state = self.state();
            let Some(event) = state.chosen.remove(&pass.id) else {
                state.wakers.insert(pass.id.clone(), cx.waker().clone());
                return Poll::Pending;
            };
            Poll::Ready((event, state.events[event].choice.outcome))
        })
        .await;
        if let Some(story) = &mut self.state().story {
            story[event].set_request(request);
        }
        (event, outcome)
    }

    fn saw(&self, event: usize, outcome: RequestOutcome, response: &Result<Response<Bytes>, TransportError>) {
        if let Some(story) = self.state().story.as_mut().and_then(|story| story.get_mut(event)) {
            story.set_response(outcome, response);
        }
    }
}

impl State {
    fn arrive(&mut self, client: &Arc<str>, request: &Request<Bytes>) -> RequestId {
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
            cause: self.cause,
        });
        id
    }

    /// Records a choice. Returns the waker of the chosen request.
    fn take(&mut self, choice: Choice) -> Option<Waker> {
        let number = self.events.len();
        let last = self.events.last().and_then(Event::client);
        let could_go_on = last.is_some_and(|last| self.waiting.iter().any(|waiting| waiting.id.client == *last));
        let is_switch = could_go_on && last != choice.step.client();
        let mut place = 0;
        let (footprint, cause, waker) = match &choice.step {
            Step::Clock => {
                self.clock_is_chosen = true;
                (Arc::new(Footprint::nothing()), Cause::Start, self.body.take())
            }
            Step::Request(id) => {
                let at = self.waiting.iter().position(|waiting| waiting.id == *id)?;
                place = self.waiting[..at]
                    .iter()
                    .filter(|waiting| waiting.id.client == id.client)
                    .count();
                let taken = self.waiting.remove(at);
                self.chosen.insert(taken.id, number);
                let footprint = match choice.outcome {
                    RequestOutcome::RequestLost => Arc::new(Footprint::nothing()),
                    RequestOutcome::Delivered | RequestOutcome::ResponseLost => taken.footprint,
                };
                (footprint, taken.cause, self.wakers.remove(id))
            }
        };
        if let Some(story) = &mut self.story {
            story.push(StoryLine::of(&choice));
        }
        self.events.push(Event {
            choice,
            footprint,
            cause,
            place,
            is_switch,
        });
        self.cause = Cause::Event(number);
        waker
    }
}

/// A request at the gate. Dropping it, for example with its task, removes the request from the gate.
struct Pass<'g> {
    gate: &'g Gate,
    id: RequestId,
    /// The number of events before it.
    since: usize,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        let is_waiting = state.waiting.iter().any(|waiting| waiting.id == self.id);
        // An early end of a run drops the futures of all requests: they are not cancelled.
        if state.end.is_none() && (is_waiting || state.chosen.contains_key(&self.id)) {
            let (id, during) = (self.id.clone(), self.since..state.events.len());
            state.cancelled.push(Cancelled { id, during });
        }
        state.waiting.retain(|waiting| waiting.id != self.id);
        state.wakers.remove(&self.id);
        state.chosen.remove(&self.id);
    }
}

/// The transport of one client: the gate, and the service behind it.
pub struct GatedTransport {
    pub gate: Gate,
    pub client: Arc<str>,
    pub behind: Arc<dyn Transport>,
}

impl Transport for GatedTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let (event, outcome) = self.gate.pass(&self.client, &request).await;
            let response = match outcome {
                RequestOutcome::Delivered => self.behind.send(request).await,
                RequestOutcome::RequestLost => Fault::LoseRequest.happen(&*self.behind, request).await,
                RequestOutcome::ResponseLost => Fault::LoseResponse.happen(&*self.behind, request).await,
            };
            self.gate.saw(event, outcome, &response);
            response
        })
    }

    fn profile(&self) -> Option<Profile> {
        self.behind.profile()
    }

    fn opens_connections(&self) -> bool {
        self.behind.opens_connections()
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
