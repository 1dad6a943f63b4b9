//! The result of an exploration.
//!
//! Defines [`Exploration`], and [`FailedSchedule`] with its story.

use std::fmt;
use std::time::Duration;

/// The result of `explore`: counts, and the first order in which the body failed.
///
/// `Display` prints it: one line, and after a failure its message, its story and how to replay it.
///
/// The search runs all orders without faults, then with up to one fault, and so on, and likewise with late writes and
/// crashes. It also starts over if a run shows that requests do not commute. The counts are from the last pass.
#[derive(Clone, Debug, Default)]
pub struct Exploration {
    pub(crate) schedules: u64,
    pub(crate) pruned: u64,
    pub(crate) requests: u64,
    pub(crate) crashes: u64,
    pub(crate) late_writes: u64,
    pub(crate) elapsed: Duration,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) failure: Option<Box<FailedSchedule>>,
}

impl Exploration {
    /// Returns the number of orders that were run to completion.
    ///
    /// Orders that differ only in requests that commute count as one.
    pub fn schedules(&self) -> u64 {
        self.schedules
    }

    /// Returns the number of runs that were stopped early because all their continuations were run in another order.
    pub fn pruned(&self) -> u64 {
        self.pruned
    }

    /// Returns the number of requests in the runs of the last pass.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Returns the number of crashes in the runs of the last pass.
    pub fn crashes(&self) -> u64 {
        self.crashes
    }

    /// Returns the number of writes that arrived late in the runs of the last pass.
    pub fn late_writes(&self) -> u64 {
        self.late_writes
    }

    /// Returns the duration of the exploration.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns `true` if every order was run, with the jumps of the clock in their given order, and the body never
    /// failed.
    ///
    /// With `late(0)` it is `false` if a run dropped a write that could have arrived late.
    ///
    /// With `isolated`, this proves nothing for a body that infers the order of writes to different rows from their
    /// ETags. The guide `explorations` lists all limits.
    pub fn is_proof(&self) -> bool {
        self.stop_reason.is_none() && self.failure.is_none()
    }

    /// Returns the reason why not every order was run, or `None` if every order was run, or one failed.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason
    }

    /// Returns the failed order with the fewest faults and crashes, and among those the one with the fewest switches
    /// between tasks.
    ///
    /// If the search for fewer switches takes more than 5,000 runs or 5 seconds, the order may have more of them.
    pub fn failure(&self) -> Option<&FailedSchedule> {
        self.failure.as_deref()
    }
}

impl fmt::Display for Exploration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(failure) = &self.failure {
            writeln!(f, "{failure}")?;
        }
        let (schedules, pruned) = (self.schedules, self.pruned);
        write!(
            f,
            "{schedules} schedules run to their end, {pruned} pruned, {} requests, ",
            self.requests
        )?;
        for (count, of) in [(self.crashes, "crashes"), (self.late_writes, "late writes")] {
            if count > 0 {
                write!(f, "{count} {of}, ")?;
            }
        }
        write!(f, "{} ms", self.elapsed.as_millis())?;
        match (self.stop_reason, &self.failure) {
            (Some(reason), _) => write!(f, "; {reason}"),
            (None, None) => f.write_str("; all orders seen"),
            (None, Some(_)) => Ok(()),
        }
    }
}

/// The reason why an [`Exploration`] did not run every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The maximum number of runs.
    Schedules(u64),
    /// The maximum time.
    Time(Duration),
    /// One schedule was replayed.
    Replay,
    /// A run dropped the future of a write, which could have arrived late without `late(0)`.
    NoLateWrites,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schedules(runs) => write!(f, "stopped after {runs} runs: not all orders were seen"),
            Self::Time(time) => write!(f, "stopped after {time:?}: not all orders were seen"),
            Self::Replay => f.write_str("one schedule replayed"),
            Self::NoLateWrites => f.write_str("a dropped write never arrived late: not all orders were seen"),
        }
    }
}

/// An order of requests in which the body failed.
///
/// `Display` prints the message, the story, and how to replay the order.
#[derive(Clone, Debug)]
pub struct FailedSchedule {
    pub(crate) message: String,
    pub(crate) story: String,
    pub(crate) schedule: String,
    pub(crate) faults: usize,
    pub(crate) crashes: usize,
    pub(crate) options: String,
}

impl FailedSchedule {
    /// Returns the message of the body's panic, or its error.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the order as a story: for each request a line with its task, the request, and the outcome that the task
    /// saw.
    pub fn story(&self) -> &str {
        &self.story
    }

    /// Returns the text for replaying the order: `#[azure_table::test(explore(replay = "…"))]`.
    pub fn schedule(&self) -> &str {
        &self.schedule
    }

    /// Returns the number of requests and responses that are lost in this order.
    pub fn faults(&self) -> usize {
        self.faults
    }

    /// Returns the number of crashes in this order.
    pub fn crashes(&self) -> usize {
        self.crashes
    }
}

impl fmt::Display for FailedSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if !self.story.is_empty() {
            writeln!(f, "\nin this order:\n{}", self.story)?;
        }
        write!(f, "replay: explore({}replay = {:?})", self.options, self.schedule)
    }
}
