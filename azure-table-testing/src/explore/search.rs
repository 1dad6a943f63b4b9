//! One exploration: runs until every order was tried, a bound is reached, or one fails.
//!
//! The search runs every order without faults, then with up to one fault, and so on, and likewise with late writes and
//! crashes. So the first failure has the fewest of them. A walk starts over when a run reads Timestamps, because they
//! show the order of writes, and when a task cancels a request of another. The caller executes the runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::exploration::{Exploration, FailedSchedule, StopReason};
use crate::explore::dated_rows::DatedRows;
use crate::explore::event::{Event, Step};
use crate::explore::gate::{Chooser, End, Ran};
use crate::explore::races::Dependence;
use crate::explore::schedule::{Replayed, Schedule};
use crate::explore::story::{Story, StoryLine};
use crate::explore::switches::FewSwitches;
use crate::explore::tree::{Allowance, Tree};

/// The maximum number of runs, and the maximum time, for shortening a failed run.
const MAX_TO_SHORTEN: u64 = 5_000;
const TIME_TO_SHORTEN: Duration = Duration::from_secs(5);

/// The bounds of a search.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub dependence: Dependence,
    pub allowance: Allowance,
    pub max_schedules: u64,
    pub max_time: Duration,
    /// The options of `explore` that a replay needs, such as `isolated, adverse = 1, `.
    pub options: String,
}

/// A run and its result.
#[derive(Debug)]
pub struct Finished {
    pub ran: Ran,
    /// The reason why the body failed, if it did.
    pub failure: Option<String>,
    /// The rows whose Timestamps the run read.
    pub dated: DatedRows,
}

/// Executes runs.
pub trait Runner {
    /// Runs the body with these choices, and records its story if `tells` is set.
    fn run(&mut self, chooser: Arc<Mutex<dyn Chooser>>, tells: bool) -> Finished;
}

/// Runs every order within the bounds.
pub fn search(runner: &mut impl Runner, mut bounds: Bounds) -> Exploration {
    let started = Instant::now();
    let most = bounds.allowance;
    let mut allowance = Allowance {
        faults: 0,
        late: 0,
        crashes: 0,
        ..most
    };
    loop {
        // Each walk runs all orders of the previous ones again, so only the last walk counts.
        let mut found = Exploration::default();
        match walk(runner, &bounds, allowance, started, &mut found) {
            Walked::FoundDependence(found) => bounds.dependence = found,
            Walked::All { may_be_late } if may_be_late > allowance.late && allowance.late < most.late => {
                allowance.late += 1;
            }
            ended => {
                if let (Walked::All { .. }, Some(next)) = (&ended, next(allowance, most)) {
                    allowance = next;
                    continue;
                }
                if let Walked::All { may_be_late: 1.. } = ended
                    && most.late == 0
                {
                    found.stop_reason = Some(StopReason::NoLateWrites);
                }
                found.elapsed = started.elapsed();
                return found;
            }
        }
    }
}

/// Returns the next numbers of faults and crashes: in the order of their sum, and with the fewest crashes first.
fn next(now: Allowance, most: Allowance) -> Option<Allowance> {
    let sum = now.faults + now.crashes;
    let all =
        (0..=most.faults).flat_map(|faults| (0..=most.crashes).map(move |crashes| (faults + crashes, crashes, faults)));
    let next = all
        .filter(|&(total, crashes, _)| (total, crashes) > (sum, now.crashes))
        .min()?;
    let (_, crashes, faults) = next;
    Some(Allowance { faults, crashes, ..now })
}

/// Runs one schedule.
pub fn replay(runner: &mut impl Runner, bounds: &Bounds, schedule: Schedule) -> Exploration {
    let started = Instant::now();
    let failed = tell(runner, bounds, schedule);
    Exploration {
        schedules: 1,
        failure: failed.map(Box::new),
        stop_reason: Some(StopReason::Replay),
        elapsed: started.elapsed(),
        ..Exploration::default()
    }
}

/// The end of a walk.
enum Walked {
    /// Every order was run.
    All {
        /// The maximum number of writes of a run that may arrive late.
        may_be_late: usize,
    },
    /// A run failed, or a bound was reached.
    Stopped,
    /// A run showed that requests do not commute that commute in this walk.
    FoundDependence(Dependence),
}

fn walk(
    runner: &mut impl Runner,
    bounds: &Bounds,
    allowance: Allowance,
    started: Instant,
    found: &mut Exploration,
) -> Walked {
    let tree = Arc::new(Mutex::new(Tree::new(bounds.dependence.clone(), allowance)));
    let mut may_be_late = 0;
    loop {
        let finished = runner.run(Arc::clone(&tree) as Arc<Mutex<dyn Chooser>>, false);
        may_be_late = may_be_late.max(finished.ran.may_be_late);
        let events = &finished.ran.events;
        let count = |is_counted: fn(&Event) -> bool| events.iter().filter(|event| is_counted(event)).count() as u64;
        found.requests += count(|event| matches!(event.choice.step, Step::Request(_) | Step::Late(_)));
        found.crashes += count(|event| event.choice.outcome.is_crash());
        found.late_writes += count(|event| matches!(event.choice.step, Step::Late(_)));
        let failure = match finished.ran.end {
            Some(End::Pruned) => {
                found.pruned += 1;
                None
            }
            _ => {
                found.schedules += 1;
                failure_of(&finished)
            }
        };
        if let Some(why) = failure {
            found.failure = Some(Box::new(failed(runner, bounds, allowance, &finished, why)));
            return Walked::Stopped;
        }
        if let Some(found) = learned(&bounds.dependence, &finished) {
            return Walked::FoundDependence(found);
        }
        if !tree
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .advance(&finished.ran)
        {
            return Walked::All { may_be_late };
        }
        found.stop_reason = match () {
            () if found.schedules + found.pruned >= bounds.max_schedules => {
                Some(StopReason::Schedules(bounds.max_schedules))
            }
            () if started.elapsed() >= bounds.max_time => Some(StopReason::Time(bounds.max_time)),
            () => continue,
        };
        return Walked::Stopped;
    }
}

/// Returns the rule with the rows whose Timestamps this run read and the tasks that it cancelled, if they are new.
fn learned(dependence: &Dependence, finished: &Finished) -> Option<Dependence> {
    if !dependence.is_isolated {
        // Without `isolated` no requests commute, so a run shows nothing new.
        return None;
    }
    let mut dated = DatedRows::clone(&dependence.dated);
    let mut is_new = dated.extend(finished.dated.clone());
    if finished
        .ran
        .events
        .iter()
        .any(|event| event.footprint.compares_timestamps())
    {
        is_new |= dated.extend(DatedRows::any());
    }
    let mut cancelling = BTreeSet::clone(&dependence.cancelling);
    for cancelled in &finished.ran.cancelled {
        // Any of the events since the request may have cancelled it.
        let events = &finished.ran.events[cancelled.during.clone()];
        for by in events.iter().filter_map(Event::client) {
            if !dependence.orders(by, &cancelled.id.client) {
                cancelling.extend([Arc::clone(by), Arc::clone(&cancelled.id.client)]);
                is_new = true;
            }
        }
    }
    is_new.then(|| Dependence {
        dated: Arc::new(dated),
        cancelling: Arc::new(cancelling),
        ..*dependence
    })
}

fn failure_of(finished: &Finished) -> Option<String> {
    match &finished.ran.end {
        None | Some(End::Pruned) => finished.failure.clone(),
        Some(End::Differs(what)) => Some(format!(
            "the body is not deterministic: after the same choices, {what}. Take times and random numbers from the \
             service or from a seed, and share no state between runs"
        )),
        Some(End::NoSuchRequest(what)) => Some(format!("the replay does not fit the body: {what}")),
        Some(End::TooLong) => Some("the run did not end within 10,000 requests".to_owned()),
    }
}

/// Shortens a failed run, and records its story.
fn failed(
    runner: &mut impl Runner,
    bounds: &Bounds,
    allowance: Allowance,
    found: &Finished,
    why: String,
) -> FailedSchedule {
    let events = &found.ran.events;
    let shortest = match found.ran.end {
        // A run that is not deterministic cannot be shortened.
        Some(_) => None,
        None => {
            let switches = events.iter().filter(|event| event.is_switch).count();
            shortest(runner, allowance, switches)
        }
    };
    let mut schedules = shortest.into_iter().chain([Schedule::of(events)]);
    let failed = schedules.find_map(|schedule| tell(runner, bounds, schedule));
    failed.unwrap_or_else(|| {
        let why = match found.ran.end {
            Some(_) => why,
            None => format!("{why}\nThe same choices did not fail again: the body is not deterministic"),
        };
        failed_schedule(why, &[], events, bounds)
    })
}

/// Returns the failed run with the fewest switches, if one has fewer than `switches`.
fn shortest(runner: &mut impl Runner, allowance: Allowance, switches: usize) -> Option<Schedule> {
    let started = Instant::now();
    let mut runs = 0;
    for most in 0..switches {
        let few = Arc::new(Mutex::new(FewSwitches::new(allowance, most)));
        loop {
            let finished = runner.run(Arc::clone(&few) as Arc<Mutex<dyn Chooser>>, false);
            if finished.ran.end.is_none() && finished.failure.is_some() {
                return Some(Schedule::of(&finished.ran.events));
            }
            runs += 1;
            if runs >= MAX_TO_SHORTEN || started.elapsed() >= TIME_TO_SHORTEN {
                return None;
            }
            if !few.lock().unwrap_or_else(PoisonError::into_inner).advance() {
                break;
            }
        }
    }
    None
}

/// Runs a schedule and records its story. Returns `None` if it does not fail.
fn tell(runner: &mut impl Runner, bounds: &Bounds, schedule: Schedule) -> Option<FailedSchedule> {
    let finished = runner.run(Arc::new(Mutex::new(Replayed(schedule))), true);
    let (why, Ran { story, events, .. }) = (failure_of(&finished)?, &finished.ran);
    Some(failed_schedule(why, story, events, bounds))
}

fn failed_schedule(message: String, story: &[StoryLine], events: &[Event], bounds: &Bounds) -> FailedSchedule {
    FailedSchedule {
        message,
        story: Story(story).to_string(),
        schedule: Schedule::of(events).to_string(),
        faults: events.iter().filter(|event| event.choice.outcome.is_fault()).count(),
        crashes: events.iter().filter(|event| event.choice.outcome.is_crash()).count(),
        options: bounds.options.clone(),
    }
}
