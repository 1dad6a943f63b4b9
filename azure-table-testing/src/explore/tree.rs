//! The tree of choices, walked depth first.
//!
//! Defines [`Tree`]: one node for each step of the run, with the steps that remain to be tried there. A run follows the
//! existing nodes and adds further ones. Orders that differ only in steps that commute are run once: a node gets
//! another step only for a race (`races.rs`), and a step that was tried sleeps until a step follows that it does not
//! commute with.

use std::sync::Arc;

use crate::explore::event::{Cause, Choice, Event, RequestOutcome, Step, Waiting, WaitingKind};
use crate::explore::footprint::Footprint;
use crate::explore::gate::{Chooser, End, Ran};
use crate::explore::races::{self, Dependence};

/// The remaining faults, late writes and jumps of the clock of one run.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// The maximum number of faults.
    pub faults: usize,
    /// The maximum number of late writes.
    pub late: usize,
    /// The maximum number of crashes of processes.
    pub crashes: usize,
    /// The maximum number of steps of the clock.
    pub clock: usize,
}

impl Allowance {
    /// Returns the remaining allowance after a choice.
    pub fn after(self, choice: &Choice) -> Self {
        Self {
            faults: self.faults - usize::from(choice.outcome.is_fault()),
            late: self.late - usize::from(matches!(choice.step, Step::Late(_))),
            crashes: self.crashes - usize::from(choice.outcome.is_crash()),
            clock: self.clock - usize::from(choice.step == Step::Clock),
        }
    }

    /// Returns the possible outcomes of a request in reverse: the last one is tried first.
    pub fn outcomes(self, request: &Waiting) -> Vec<RequestOutcome> {
        if request.kind == WaitingKind::Death {
            return vec![RequestOutcome::Crash; self.crashes.min(1)];
        }
        // A late write that is lost is never chosen. For a read, losing the response has the same effect as losing the
        // request. A crash between two requests has the same effect as one while the later of them is in flight.
        let writes = request.footprint.writes();
        let (may_fail, may_crash) = (
            request.is_request() && self.faults > 0,
            request.is_request() && self.crashes > 0 && request.is_of_process,
        );
        let outcomes = [
            (RequestOutcome::CrashAfter, may_crash && writes),
            (RequestOutcome::Crash, may_crash),
            (RequestOutcome::ResponseLost, may_fail && writes),
            (RequestOutcome::RequestLost, may_fail),
            (RequestOutcome::Delivered, request.is_request() || self.late > 0),
        ];
        let possible = outcomes.into_iter().filter(|(_, is_possible)| *is_possible);
        possible.map(|(outcome, _)| outcome).collect()
    }
}

/// The tree of an exploration.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    dependence: Dependence,
    allowance: Allowance,
}

#[derive(Debug)]
struct Node {
    waiting: Vec<Waiting>,
    /// Steps to be tried here, some of them tried already.
    wanted: Vec<Step>,
    /// Steps that need not be tried: they were tried here, or their continuations were run from an earlier node.
    asleep: Vec<(Step, Arc<Footprint>)>,
    chosen: Choice,
    /// The other outcomes of the chosen step, the next one last.
    outcomes: Vec<RequestOutcome>,
    /// The remaining allowance before the step.
    left: Allowance,
}

impl Tree {
    pub fn new(dependence: Dependence, allowance: Allowance) -> Self {
        Self {
            nodes: Vec::new(),
            dependence,
            allowance,
        }
    }

    /// Moves to the next run, after this one. Returns `false` after the last.
    pub fn advance(&mut self, ran: &Ran) -> bool {
        for reversal in races::reversals(ran, &self.dependence) {
            if let Some(node) = self.nodes.get_mut(reversal.at) {
                node.want(&reversal.initials);
            }
        }
        // A cancelled request may be no event, but it could have been one before the step that cancelled it.
        for cancelled in &ran.cancelled {
            let step = Step::Request(cancelled.id.clone());
            let last = cancelled.during.end.checked_sub(1);
            let node = last.and_then(|last| self.nodes.get_mut(last));
            if let Some(node) = node.filter(|node| node.waiting.iter().any(|waiting| is(&step, waiting))) {
                node.want(&[step]);
            }
        }
        while let Some(node) = self.nodes.last_mut() {
            if node.turn() {
                return true;
            }
            self.nodes.pop();
        }
        false
    }

    /// Returns the steps that sleep after the last event, and the remaining allowance.
    fn heritage(&self, waiting: &[Waiting], events: &[Event]) -> (Vec<(Step, Arc<Footprint>)>, Allowance) {
        let (Some(node), Some(event)) = (self.nodes.last(), events.last()) else {
            return (Vec::new(), self.allowance);
        };
        let left = node.left.after(&node.chosen);
        if let Step::Late(_) | Step::Death(_) = event.choice.step {
            // A run may end before an equal order in which the write arrives or the process crashes later.
            return (Vec::new(), left);
        }
        // A crash before a timer has fired is another one than a crash after it.
        let has_fired = waiting
            .iter()
            .any(|waiting| waiting.cause == Cause::AllOf(events.len()));
        let sleeps = |(step, footprint): &&(Step, Arc<Footprint>)| {
            let is_other = has_fired && matches!(step, Step::Death(_));
            let taken = (&event.choice.step, &*event.footprint);
            !is_other && !self.dependence.holds(taken, (step, footprint))
        };
        let asleep = node.asleep.iter().filter(sleeps).cloned().collect();
        (asleep, left)
    }
}

impl Chooser for Tree {
    fn choose(&mut self, waiting: &[Waiting], events: &[Event]) -> Result<Choice, End> {
        if let Some(node) = self.nodes.get(events.len()) {
            return match difference(&node.waiting, waiting) {
                None => Ok(node.chosen.clone()),
                Some(difference) => Err(End::Differs(difference)),
            };
        }
        let (asleep, left) = self.heritage(waiting, events);
        let is_awake = |waiting: &&Waiting| !asleep.iter().any(|(step, _)| is(step, waiting));
        // The same task continues, for few switches.
        let last = events.last().and_then(Event::client);
        let awake = waiting.iter().filter(is_awake);
        let (awake, optional): (Vec<_>, Vec<_>) = awake.partition(|waiting| waiting.is_request());
        let first = awake.iter().find(|waiting| last == Some(&waiting.id.client));
        let first = first.or_else(|| awake.first()).copied();
        // A late write need not arrive, and a process need not crash, so no race of a run without it shows that it
        // could. It is tried first, and sleeps then until a step follows that it does not commute with.
        let optional = optional
            .into_iter()
            .filter(|waiting| !left.outcomes(waiting).is_empty());
        let mut wanted: Vec<Step> = optional.chain(first).map(Waiting::step).collect();
        // The clock commutes with no step, so it never sleeps here.
        if left.clock > 0 {
            wanted.push(Step::Clock);
        }
        let Some(step) = wanted.first().cloned() else {
            return Err(End::Pruned);
        };
        let mut node = Node {
            waiting: waiting.to_vec(),
            wanted,
            asleep,
            chosen: Choice::clock(),
            outcomes: Vec::new(),
            left,
        };
        node.choose(step);
        let choice = node.chosen.clone();
        self.nodes.push(node);
        Ok(choice)
    }
}

impl Node {
    /// Chooses a step, with all its possible outcomes.
    fn choose(&mut self, step: Step) {
        let request = self.waiting.iter().find(|waiting| is(&step, waiting));
        self.outcomes = request.map_or_else(Vec::new, |request| self.left.outcomes(request));
        let outcome = self.outcomes.pop().unwrap_or(RequestOutcome::Delivered);
        self.chosen = Choice { step, outcome };
    }

    /// Marks one of these steps to be tried, unless one is already.
    fn want(&mut self, initials: &[Step]) {
        let is_known = |step: &Step| self.wanted.contains(step) || self.asleep.iter().any(|(other, _)| other == step);
        if initials.iter().any(is_known) {
            return;
        }
        let waits = |step: &&Step| self.waiting.iter().any(|waiting| is(step, waiting));
        match initials.iter().find(waits) {
            Some(step) => self.wanted.push(step.clone()),
            // None of them waits here: any waiting request may lead to it.
            None => {
                let all = self.waiting.iter().filter(|waiting| waiting.is_request());
                let all = all.map(Waiting::step);
                let others: Vec<Step> = all.filter(|step| !self.wanted.contains(step)).collect();
                self.wanted.extend(others);
            }
        }
    }

    /// Chooses the next untried step. Returns `false` if all were tried.
    fn turn(&mut self) -> bool {
        if let Some(outcome) = self.outcomes.pop() {
            self.chosen.outcome = outcome;
            return true;
        }
        let tried = self.chosen.step.clone();
        let footprint = self.waiting.iter().find(|waiting| is(&tried, waiting));
        let footprint = footprint.map_or_else(|| Arc::new(Footprint::nothing()), |it| Arc::clone(&it.footprint));
        self.asleep.push((tried, footprint));
        let is_awake = |step: &&Step| !self.asleep.iter().any(|(other, _)| other == *step);
        match self.wanted.iter().find(is_awake).cloned() {
            Some(step) => {
                self.choose(step);
                true
            }
            None => false,
        }
    }
}

fn is(step: &Step, waiting: &Waiting) -> bool {
    *step == waiting.step()
}

/// Describes the difference between the requests that waited in an earlier run and those that wait now.
fn difference(earlier: &[Waiting], now: &[Waiting]) -> Option<String> {
    let lacks = earlier.iter().find(|waiting| !now.contains(waiting));
    let is_new = now.iter().find(|waiting| !earlier.contains(waiting));
    match (lacks, is_new) {
        (None, None) => None,
        (Some(lacks), Some(is_new)) => Some(format!("`{lacks}` waited before, and now `{is_new}`")),
        (Some(lacks), None) => Some(format!("`{lacks}` waited before, and now it does not")),
        (None, Some(is_new)) => Some(format!("`{is_new}` waits, and did not before")),
    }
}
