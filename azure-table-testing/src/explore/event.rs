//! The requests of a run: waiting ones and chosen ones.
//!
//! A request is identified by its client and its number among that client's requests. Both are the same in all runs
//! that differ only in the order of requests that commute.

use std::fmt;
use std::sync::Arc;

use crate::explore::footprint::Footprint;

/// The name of the body's own client.
pub const MAIN: &str = "main";

/// A request of a run: the client's name and the number of the request among the client's requests, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    pub client: Arc<str>,
    pub number: u32,
}

/// The fate of a chosen request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestOutcome {
    Delivered,
    /// Its connection breaks before it reaches the service. A write may still arrive late.
    RequestLost,
    /// The service executes it, and its response is lost.
    ResponseLost,
    /// Its process crashes while it is in flight. A write may still arrive late.
    Crash,
    /// The service executes it, and its process crashes before it sees the response.
    CrashAfter,
}

impl RequestOutcome {
    pub fn is_fault(self) -> bool {
        matches!(self, Self::RequestLost | Self::ResponseLost)
    }

    pub fn is_crash(self) -> bool {
        matches!(self, Self::Crash | Self::CrashAfter)
    }

    /// Returns `true` if the service executes the request now.
    pub fn is_executed(self) -> bool {
        !matches!(self, Self::RequestLost | Self::Crash)
    }
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Request(RequestId),
    /// A write arrives whose future was dropped, or whose connection broke. No task sees it.
    Late(RequestId),
    /// A process crashes while it waits for a timer, before it sends this request.
    Death(RequestId),
    /// The clock advances while requests wait.
    Clock,
}

/// A step and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    pub step: Step,
    pub outcome: RequestOutcome,
}

impl Choice {
    pub fn clock() -> Self {
        Self {
            step: Step::Clock,
            outcome: RequestOutcome::Delivered,
        }
    }

    pub fn of(request: &Waiting, outcome: RequestOutcome) -> Self {
        Self {
            step: request.step(),
            outcome,
        }
    }
}

/// The events that had to happen before a request was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    #[default]
    Start,
    /// This event of the run: all tasks were blocked before and after it.
    Event(usize),
    /// A timer, which fires when all tasks are blocked: all events so far, which are this many.
    AllOf(usize),
}

/// A step that can be chosen: a request that waits at the gate, or the crash of a process that waits for a timer.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub id: RequestId,
    /// Method, path and query, without the account.
    pub line: Arc<str>,
    pub footprint: Arc<Footprint>,
    pub kind: WaitingKind,
    /// It belongs to a process, which may crash.
    pub is_of_process: bool,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingKind {
    Request,
    /// A write whose future was dropped, or whose connection broke. It need not arrive.
    Late,
    /// The crash of a process that waits for a timer. It need not happen.
    Death,
}

impl Waiting {
    /// Returns `true` if a task waits for its response.
    pub fn is_request(&self) -> bool {
        self.kind == WaitingKind::Request
    }

    /// Returns the step that executes the request.
    pub fn step(&self) -> Step {
        let id = self.id.clone();
        match self.kind {
            WaitingKind::Request => Step::Request(id),
            WaitingKind::Late => Step::Late(id),
            WaitingKind::Death => Step::Death(id),
        }
    }
}

impl PartialEq for Waiting {
    /// Compares everything except the cause: a request may wait longer in one run than in another.
    fn eq(&self, other: &Self) -> bool {
        let is_same = self.id == other.id && self.kind == other.kind;
        is_same && self.line == other.line && self.footprint == other.footprint
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id.client, self.line)
    }
}

/// A step that was taken.
#[derive(Clone, Debug)]
pub struct Event {
    pub choice: Choice,
    /// The rows that it touched in the service: none if the request was lost.
    pub footprint: Arc<Footprint>,
    pub cause: Cause,
    /// The position of the request among the waiting ones of its client, oldest first.
    pub place: usize,
    /// The task of the previous event could have continued.
    pub is_switch: bool,
}

impl Event {
    /// Returns the client whose task sees the step, if one does.
    pub fn client(&self) -> Option<&Arc<str>> {
        self.choice.step.client()
    }
}

impl Step {
    /// Returns the client whose task sees the step, if one does.
    pub fn client(&self) -> Option<&Arc<str>> {
        match self {
            Self::Request(id) | Self::Death(id) => Some(&id.client),
            Self::Late(_) | Self::Clock => None,
        }
    }
}
