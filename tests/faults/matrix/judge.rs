//! The promises that hold of every case, whatever the client repeats.

use std::time::Duration;

use azure_table::service::{Creation, Deletion};
use azure_table::telemetry::{Attempt, Location};
use azure_table::testing::FaultRecord;
use azure_table::{ETag, Error, ErrorKind, LocationMode};
use http::Method;

use super::many::{judge_each, judge_selected};
use super::model::State;
use super::operation::{Change, Claim, Entry, Origin, Parts, Promise, Read, Said, View};
use super::options::{Options, Sent, TIMEOUT};

/// Attempts of one call at most: four, and two more with another credential.
pub(crate) const MOST_ATTEMPTS: u32 = 6;
pub(crate) const MOST_ATTEMPTS_WITHOUT_RETRIES: u32 = 3;
/// What timers add.
const LATENESS: Duration = Duration::from_millis(10);
/// The time of a bulk: its batches, one after the other, and its patience with a service that throttles.
const TIME_OF_BULK: Duration = Duration::from_secs(600);

/// A promise that was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// A success, but the state is not the one after the operation.
    SuccessIsNotTrue,
    /// An error that says "not applied" of a write that was.
    DenialIsNotTrue,
    /// The state is neither the one before nor the one after.
    Torn,
    /// "Exists", "missing" or "changed" about a row or table that was not so.
    FalseConflict,
    /// The ETag of a write is not the stored one.
    WrongVersion,
    /// What was read is not what is stored.
    WrongRead,
    /// Applied more than once.
    Twice,
    /// It took longer than the call had.
    Late,
    /// More attempts than the policy has.
    TooManyAttempts,
    /// The story of the call is not what was sent.
    WrongStory,
    /// A request without an option of client, table or call, or with one that is overridden.
    WrongHeaders,
    /// Nothing went wrong, and it failed.
    FailsWithoutFault,
    /// A write, or a read that is part of one, left the primary.
    WrongLocation,
}

/// All that is known of a case.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) promise: &'a Promise,
    pub(crate) said: &'a Said,
    pub(crate) before: &'a State,
    pub(crate) after: &'a State,
    /// The state of the secondary, where it may be read.
    pub(crate) secondary: Option<&'a State>,
    pub(crate) location: LocationMode,
    /// Writes that the service applied.
    pub(crate) applied: u64,
    /// The requests as the faults saw them.
    pub(crate) log: &'a [FaultRecord],
    pub(crate) sent: &'a [Sent],
    /// The attempts in the story of the call.
    pub(crate) told: &'a [Attempt],
    pub(crate) elapsed: Duration,
    pub(crate) options: &'a Options,
}

impl Case<'_> {
    /// The first promise that was not kept.
    pub(crate) fn judge(&self, entry: &Entry) -> Result<(), Broken> {
        match self.promise {
            Promise::Change(change) => self.judge_change(change)?,
            Promise::Read(read) => self.judge_read(read)?,
            Promise::Each(writes) => judge_each(self, writes)?,
            Promise::Selected(wanted) => judge_selected(self, wanted)?,
            Promise::Steps(states) => self.judge_steps(states)?,
        }
        if !self.fails_for_a_reason() {
            return Err(Broken::FailsWithoutFault);
        }
        self.judge_requests()?;
        self.judge_effort(entry)
    }

    /// Whether each failure is one that a fault or the state of the service brings about.
    fn fails_for_a_reason(&self) -> bool {
        let has_faults = self.log.iter().any(|record| record.fault().is_some());
        let may_be = |kind: ErrorKind| match kind {
            ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::InvalidResponse => false,
            kind => has_faults || is_verdict(kind),
        };
        match self.said {
            Said::Each(claims) => claims.iter().all(|claim| match claim {
                Claim::Applied(_) | Claim::RejectedWithOthers => true,
                Claim::Rejected(kind) => may_be(*kind),
                Claim::InDoubt | Claim::NotTried => has_faults,
            }),
            Said::Selected(report) => {
                let failed = report.failures.iter().map(|(_, kind)| *kind);
                let mut kinds = failed.chain(report.ended.as_ref().map(Error::kind));
                kinds.all(may_be) && (report.in_doubt.is_empty() || has_faults)
            }
            _ => self.error().is_none_or(|error| may_be(error.kind())),
        }
    }

    fn judge_change(&self, change: &Change) -> Result<(), Broken> {
        let is_before = self.before.is(self.after, self.before);
        match (&change.after, self.said) {
            (Ok(expected), Said::Failed(error)) => match error.may_have_applied() {
                false if !is_before || self.applied > 0 => Err(Broken::DenialIsNotTrue),
                false if is_verdict(error.kind()) => Err(Broken::FalseConflict),
                true if !is_before && !expected.is(self.after, self.before) => Err(Broken::Torn),
                _ => self.judge_repeats(change),
            },
            (Ok(expected), success) => {
                if !expected.is(self.after, self.before) {
                    return Err(Broken::SuccessIsNotTrue);
                }
                self.judge_success(change, success)?;
                self.judge_repeats(change)
            }
            (Err(_), _) if !is_before || self.applied > 0 => Err(Broken::Torn),
            (Err(verdict), Said::Failed(error)) => match error.kind() {
                kind if is_verdict(kind) && kind != *verdict => Err(Broken::FalseConflict),
                _ => Ok(()),
            },
            (Err(_), _) => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn judge_success(&self, change: &Change, said: &Said) -> Result<(), Broken> {
        match said {
            Said::Done if change.writes.is_empty() => Ok(()),
            Said::Written(etags) => self.judge_versions(change, etags),
            Said::Created(Creation::Existed) if !change.existed => Err(Broken::FalseConflict),
            Said::Created(Creation::Created) if change.existed => Err(Broken::SuccessIsNotTrue),
            Said::Deleted(Deletion::WasMissing) if change.existed => Err(Broken::FalseConflict),
            Said::Deleted(Deletion::Deleted) if !change.existed => Err(Broken::SuccessIsNotTrue),
            // After an attempt in doubt nobody can tell whose table it is, or who removed it or a row.
            Said::Created(Creation::InDoubt) | Said::Deleted(Deletion::InDoubt) if self.own() == 1 => {
                Err(Broken::SuccessIsNotTrue)
            }
            Said::Created(_) | Said::Deleted(_) => Ok(()),
            _ => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn judge_versions(&self, change: &Change, etags: &[Option<ETag>]) -> Result<(), Broken> {
        let rows = change.writes.iter().map(|write| self.after.rows.get(write.row()));
        let stored = rows.map(|row| row.and_then(|row| row.etag.as_ref()));
        let told = etags.iter().map(Option::as_ref);
        stored.eq(told).then_some(()).ok_or(Broken::WrongVersion)
    }

    fn judge_repeats(&self, change: &Change) -> Result<(), Broken> {
        let most = if change.is_repeatable { self.own() } else { 1 };
        (self.applied <= most as u64).then_some(()).ok_or(Broken::Twice)
    }

    /// A failure leaves any of the states; one that denies the last step does not leave that.
    fn judge_steps(&self, states: &[State]) -> Result<(), Broken> {
        let is_at = |state: &State| state.is(self.after, self.before);
        let Some(last) = states.last() else {
            return Err(Broken::Torn);
        };
        match self.said {
            Said::Done if is_at(last) => Ok(()),
            Said::Failed(_) if !states.iter().any(is_at) => Err(Broken::Torn),
            Said::Failed(e) if !e.may_have_applied() && is_at(last) && !is_at(self.before) => {
                Err(Broken::DenialIsNotTrue)
            }
            Said::Failed(_) => Ok(()),
            _ => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn judge_read(&self, read: &Read) -> Result<(), Broken> {
        let primary = std::slice::from_ref(self.before);
        let states: Vec<&State> = match (read.origin, self.location) {
            (Origin::Any, mode) if mode != LocationMode::PrimaryOnly => primary.iter().chain(self.secondary).collect(),
            _ => primary.iter().collect(),
        };
        let is_true = match self.said {
            Said::Failed(error) => !error.may_have_applied() && !is_verdict(error.kind()),
            Said::Seen(seen) => is_seen(read, seen, &states),
            _ => false,
        };
        match is_true && self.applied == 0 && self.before == self.after {
            true => Ok(()),
            false => Err(Broken::WrongRead),
        }
    }

    /// Requests carry all options once, the story has all of them, and only plain reads leave the primary.
    fn judge_requests(&self) -> Result<(), Broken> {
        let origin = match self.promise {
            Promise::Read(read) => read.origin,
            _ => Origin::Primary,
        };
        for sent in self.sent {
            self.options.judge(sent)?;
            let may_be_there = match sent.is_secondary {
                true => sent.method == Method::GET && origin != Origin::Primary,
                false => origin != Origin::Secondary,
            };
            let is_of_mode = origin != Origin::Any || !sent.is_secondary || self.location != LocationMode::PrimaryOnly;
            if !may_be_there || !is_of_mode {
                return Err(Broken::WrongLocation);
            }
        }
        Ok(())
    }

    fn judge_effort(&self, entry: &Entry) -> Result<(), Broken> {
        let calls = if entry.times_each { entry.calls } else { 1 };
        let time = match (entry.within, entry.is_paced) {
            (Some(time), _) => time + LATENESS,
            (None, true) => TIME_OF_BULK,
            (None, false) => (TIMEOUT + LATENESS) * calls,
        };
        if self.elapsed > time {
            return Err(Broken::Late);
        }
        self.judge_story(entry)?;
        // A secondary that finds nothing is followed by the primary, at each attempt.
        let at_both = match self.promise {
            Promise::Read(Read {
                origin: Origin::Any, ..
            }) if self.location != LocationMode::PrimaryOnly => 2,
            _ => 1,
        };
        let most = self.options.most_attempts * at_both;
        if let Some(error) = self.error()
            && (error.attempts() > most || error.attempts() as usize > self.told.len())
        {
            return Err(Broken::TooManyAttempts);
        }
        let most = (most * entry.calls) as usize;
        // What became of an attempt may be asked after each, by a call of its own.
        let is_too_much = self.own() > most || self.sent.len() > most * (1 + MOST_ATTEMPTS as usize);
        match is_too_much && !entry.is_paced {
            true => Err(Broken::TooManyAttempts),
            false => Ok(()),
        }
    }

    fn judge_story(&self, entry: &Entry) -> Result<(), Broken> {
        let mut told: Vec<_> = self
            .told
            .iter()
            .map(|attempt| (attempt.location() == Location::Secondary, attempt.client_request_id()))
            .collect();
        let mut sent: Vec<_> = self.sent.iter().map(|sent| (sent.is_secondary, sent.id())).collect();
        told.sort_unstable();
        sent.sort_unstable();
        let is_whole = match entry.is_concurrent {
            // Those that were in flight at its end have no end.
            true => told.iter().all(|attempt| sent.contains(attempt)) && told.len() <= sent.len(),
            false => told == sent,
        };
        is_whole.then_some(()).ok_or(Broken::WrongStory)
    }

    fn error(&self) -> Option<&Error> {
        match self.said {
            Said::Failed(error) => Some(error),
            Said::Selected(report) => report.ended.as_ref(),
            _ => None,
        }
    }

    /// Requests that are the operation's own: of a write, those that may change something.
    pub(crate) fn own(&self) -> usize {
        match self.promise {
            Promise::Read(_) => self.sent.len(),
            _ => self.sent.iter().filter(|sent| sent.method != Method::GET).count(),
        }
    }
}

pub(crate) fn is_verdict(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet
    )
}

/// Whether a view is one of these states, or of parts of them.
fn is_seen(read: &Read, seen: &View, states: &[&State]) -> bool {
    let views = || states.iter().map(|state| (read.view)(state));
    match read.parts {
        Parts::One => views().any(|view| view == *seen),
        Parts::Elements => {
            let views: Vec<View> = views().collect();
            let is_in = |(at, element): (usize, &String)| views.iter().any(|view| view.get(at) == Some(element));
            views.iter().all(|view| view.len() == seen.len()) && seen.iter().enumerate().all(is_in)
        }
        Parts::Partitions => states.iter().any(|first| {
            let mut mixed = states.iter().map(|second| first.with_other_partition_of(second));
            mixed.any(|state| (read.view)(&state) == *seen)
        }),
    }
}
