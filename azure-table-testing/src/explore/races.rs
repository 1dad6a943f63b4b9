//! The races of a run: pairs of steps that could also have happened in the other order.
//!
//! Defines [`Dependence`], the rule for which two steps commute. Two steps that commute lead to the same state in
//! either order, so one order stands for both. That holds only if their tasks share nothing but the service. The test
//! declares that with `isolated`, and each task has its own client. Otherwise no two steps commute, and every order is
//! run. Writes to two rows do not commute either if a run reads the Timestamps of both, or on Cosmos DB.
//!
//! Computes the happens-before order of a run's events, and the points to backtrack to, as in source sets.
//!
//! Source: Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order reduction", POPL 2014, section 5.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::explore::dated_rows::DatedRows;
use crate::explore::event::{Cause, Event, MAIN, Step};
use crate::explore::footprint::Footprint;
use crate::explore::gate::Ran;

/// The dependence rule of one exploration.
#[derive(Clone, Debug)]
pub struct Dependence {
    pub is_isolated: bool,
    /// The rows that show the order of their writes to the program.
    pub dated: Arc<DatedRows>,
    /// The clients of tasks that cancel each other: the end of one also depends on the requests of the others.
    pub cancelling: Arc<BTreeSet<Arc<str>>>,
}

impl Dependence {
    /// Returns `true` if the order of the two steps matters.
    pub fn holds(&self, a: (&Step, &Footprint), b: (&Step, &Footprint)) -> bool {
        let is_ordered = match (a.0, b.0) {
            // The clock advances for all tasks.
            (Step::Clock, _) | (_, Step::Clock) => true,
            (Step::Request(first) | Step::Death(first), Step::Request(second) | Step::Death(second)) => {
                self.orders(&first.client, &second.client)
            }
            // A late write meets others in the service alone, those of its own client too.
            (Step::Late(_), _) | (_, Step::Late(_)) => !self.is_isolated,
        };
        let is_dated = |footprint: &Footprint| footprint.writes_one_of(&self.dated);
        is_ordered || a.1.conflicts(b.1) || is_dated(a.1) && is_dated(b.1)
    }

    /// Returns `true` if no two requests of these clients commute.
    pub fn orders(&self, first: &Arc<str>, second: &Arc<str>) -> bool {
        // The body starts the tasks and waits for them: its own requests are ordered with all others.
        let is_ordered = !self.is_isolated || first == second || &**first == MAIN || &**second == MAIN;
        is_ordered || self.cancelling.contains(first) && self.cancelling.contains(second)
    }
}

/// A point of a run at which one of these other steps is to be tried.
#[derive(Debug)]
pub struct Reversal {
    /// The number of the event before which another step is tried.
    pub at: usize,
    pub initials: Vec<Step>,
}

/// Returns the points at which the races of a run are reversed.
pub fn reversals(ran: &Ran, dependence: &Dependence) -> Vec<Reversal> {
    let events = &ran.events[..];
    let mut before = Order::default();
    let mut reversals = Vec::new();
    for (later, event) in events.iter().enumerate() {
        let direct = direct(events, later, dependence);
        before.add(&direct);
        for &earlier in &direct {
            if !is_cause(event.cause, earlier) && !before.has_between(earlier, later, &direct) {
                reversals.push(before.reversal(earlier, later, events));
            }
        }
    }
    // A task that ends may cancel another, which shows only if the other has a request left. A pruned run has no ends.
    let ends = (0..events.len()).filter(|&event| ran.end.is_none() && is_end(events, event));
    let ends: Vec<usize> = ends.collect();
    for (number, &later) in ends.iter().enumerate() {
        let unordered = ends[..number].iter().filter(|&&earlier| !before.is(earlier, later));
        reversals.extend(unordered.map(|&earlier| before.reversal(earlier, later, events)));
    }
    reversals
}

/// Returns `true` for the last event of its client.
fn is_end(events: &[Event], event: usize) -> bool {
    let client = events[event].client();
    client.is_some() && events[event + 1..].iter().all(|later| later.client() != client)
}

/// Returns the events that come before `later` in every order: its cause, and those that it does not commute with.
fn direct(events: &[Event], later: usize, dependence: &Dependence) -> Vec<usize> {
    let event = &events[later];
    let is_before = |earlier: &usize| {
        let other = &events[*earlier];
        is_cause(event.cause, *earlier)
            || dependence.holds(
                (&other.choice.step, &other.footprint),
                (&event.choice.step, &event.footprint),
            )
    };
    (0..later).filter(is_before).collect()
}

fn is_cause(cause: Cause, earlier: usize) -> bool {
    match cause {
        Cause::Start => false,
        Cause::Event(event) => earlier == event,
        Cause::AllOf(count) => earlier < count,
    }
}

/// The happens-before order: for each event a bit set of the events before it.
#[derive(Debug, Default)]
struct Order(Vec<Vec<u64>>);

impl Order {
    /// Adds an event directly after these.
    fn add(&mut self, direct: &[usize]) {
        let mut before = vec![0; self.0.len() / 64 + 1];
        for &earlier in direct {
            for (own, other) in before.iter_mut().zip(&self.0[earlier]) {
                *own |= other;
            }
            before[earlier / 64] |= 1 << (earlier % 64);
        }
        self.0.push(before);
    }

    /// Returns `true` if `earlier` comes before `later` in every order.
    fn is(&self, earlier: usize, later: usize) -> bool {
        let before = self.0[later].get(earlier / 64).copied().unwrap_or_default();
        before >> (earlier % 64) & 1 == 1
    }

    /// Returns the reversal of two events: before the earlier one, an event that leads to the later one.
    fn reversal(&self, earlier: usize, later: usize, events: &[Event]) -> Reversal {
        // The events that do not depend on the earlier event, then the later one.
        let mut others: Vec<usize> = (earlier + 1..later).filter(|&other| !self.is(earlier, other)).collect();
        others.push(later);
        let is_initial = |&&one: &&usize| !others.iter().any(|&other| other < one && self.is(other, one));
        let initials = others.iter().filter(is_initial);
        Reversal {
            at: earlier,
            initials: initials.map(|&one| events[one].choice.step.clone()).collect(),
        }
    }

    /// Returns `true` if an event lies between the two in every order. `direct` are those directly before `later`.
    fn has_between(&self, earlier: usize, later: usize, direct: &[usize]) -> bool {
        direct
            .iter()
            .any(|&between| between < later && between > earlier && self.is(earlier, between))
    }
}
