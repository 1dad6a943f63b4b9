//! The promises that hold in every case, whatever the client retries.

use std::collections::BTreeSet;
use std::time::Duration;

use azure_table::service::Creation;
use azure_table::telemetry::{Attempt, Location};
use azure_table::testing::FaultRecord;
use azure_table::{Deletion, ETag, Error, ErrorKind, LocationMode};
use http::Method;

use super::bulk_promises::{check_each, check_selected};
use super::model::{State, Write};
use super::operation::{Change, Claim, Entry, Origin, Parts, Promise, Read, Reported, View};
use super::options::{Options, Sent, TIMEOUT};

/// The maximum of attempts per call: four, and two more with a renewed credential.
pub(crate) const MAX_ATTEMPTS: u32 = 6;
pub(crate) const MAX_ATTEMPTS_WITHOUT_RETRIES: u32 = 3;
/// The imprecision of timers.
const LATENESS: Duration = Duration::from_millis(10);
/// The time of a bulk: its batches in sequence, and its wait for a service that throttles.
const TIME_OF_BULK: Duration = Duration::from_secs(600);
/// The time for which a bulk holds back the next write of a row after a lost request.
const HELD_BACK: Duration = Duration::from_secs(180);

/// A broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// A success, but the state is not that after the operation.
    SuccessIsNotTrue,
    /// An error that says "not applied" for a write that was.
    DenialIsNotTrue,
    /// The state is neither that before nor that after.
    Torn,
    /// "Exists", "missing" or "changed" for a row or table for which it is false.
    FalseConflict,
    /// The ETag of a write is not the stored one.
    WrongVersion,
    /// The result of a read is not what is stored.
    WrongRead,
    /// Applied more than once.
    Twice,
    /// The call took longer than its timeout.
    Late,
    /// More attempts than the policy allows.
    TooManyAttempts,
    /// The recorded attempts are not those that were sent.
    WrongStory,
    /// A request without an option of client, table or call, or with one that is overridden.
    WrongHeaders,
    /// It failed without a fault.
    FailsWithoutFault,
    /// The kind of an error says "in doubt" for a write that is not, or does not say it for one that is.
    WrongKind,
    /// A write, or a read that belongs to one, left the primary.
    WrongLocation,
}

/// All observations of a case.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) promise: &'a Promise,
    pub(crate) reported: &'a Reported,
    pub(crate) before: &'a State,
    pub(crate) after: &'a State,
    /// The state of the secondary, if it may be read.
    pub(crate) secondary: Option<&'a State>,
    pub(crate) location: LocationMode,
    /// Writes that the service applied.
    pub(crate) applied: u64,
    /// The requests as the faults received them.
    pub(crate) log: &'a [FaultRecord],
    pub(crate) sent: &'a [Sent],
    /// The recorded attempts of the call.
    pub(crate) attempts: &'a [Attempt],
    pub(crate) elapsed: Duration,
    pub(crate) options: &'a Options,
    /// A write may be applied after the call, and once more than the call needs.
    pub(crate) is_late: bool,
}

impl Case<'_> {
    /// Returns the first broken promise.
    pub(crate) fn check(&self, entry: &Entry) -> Result<(), Broken> {
        if !self.names_doubt() {
            return Err(Broken::WrongKind);
        }
        match self.promise {
            Promise::Change(change) => self.check_change(change)?,
            Promise::Read(read) => self.check_read(read)?,
            Promise::Each(writes) => check_each(self, writes)?,
            Promise::Selected(wanted) => check_selected(self, wanted)?,
            Promise::Steps(states) => self.check_steps(states)?,
        }
        if !self.fails_for_a_reason() {
            return Err(Broken::FailsWithoutFault);
        }
        self.check_requests()?;
        self.check_effort(entry)
    }

    /// Checks that the kind of each error is `InDoubt` exactly if the write may have been applied.
    fn names_doubt(&self) -> bool {
        match self.reported {
            Reported::Each(claims) => !claims.iter().any(|claim| matches!(claim, Claim::OfWrongKind)),
            Reported::Selected(report) => report.names_doubt && report.ended.iter().all(names_doubt),
            _ => self.error().is_none_or(names_doubt),
        }
    }

    /// Checks that a fault or the state of the service explains each failure.
    fn fails_for_a_reason(&self) -> bool {
        let has_faults = self.log.iter().any(|record| record.fault().is_some());
        let may_be = |kind: ErrorKind| match kind {
            ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::InvalidResponse => false,
            kind => has_faults || is_verdict(kind),
        };
        match self.reported {
            Reported::Each(claims) => claims.iter().all(|claim| match claim {
                Claim::Applied(_) | Claim::RejectedWithOthers => true,
                Claim::Rejected(kind) => may_be(*kind),
                Claim::InDoubt | Claim::NotAttempted => has_faults,
                Claim::OfWrongKind => false,
            }),
            Reported::Selected(report) => {
                let failed = report.failures.iter().map(|(_, kind)| *kind);
                let mut kinds = failed.chain(report.ended.as_ref().map(last_kind));
                kinds.all(may_be) && (report.in_doubt.is_empty() || has_faults)
            }
            _ => self.error().is_none_or(|error| may_be(last_kind(error))),
        }
    }

    fn check_change(&self, change: &Change) -> Result<(), Broken> {
        let is_before = self.before.is(self.after, self.before);
        match (&change.after, self.reported) {
            (Ok(expected), Reported::Failed(error)) => match error.may_have_applied() {
                false if !is_before || self.applied > 0 => Err(Broken::DenialIsNotTrue),
                false if is_verdict(error.kind()) => Err(Broken::FalseConflict),
                true if !is_before && !expected.is(self.after, self.before) => Err(Broken::Torn),
                _ => self.check_repeats(change),
            },
            (Ok(expected), success) => {
                if !expected.is(self.after, self.before) {
                    return Err(Broken::SuccessIsNotTrue);
                }
                self.check_success(change, success)?;
                self.check_repeats(change)
            }
            (Err(_), _) if !is_before || self.applied > 0 => Err(Broken::Torn),
            (Err(verdict), Reported::Failed(error)) => match error.kind() {
                kind if is_verdict(kind) && kind != *verdict => Err(Broken::FalseConflict),
                _ => Ok(()),
            },
            (Err(_), _) => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn check_success(&self, change: &Change, reported: &Reported) -> Result<(), Broken> {
        match reported {
            Reported::Done if change.writes.is_empty() => Ok(()),
            Reported::Written(etags) => self.check_versions(change, etags),
            Reported::Created(Creation::Existed) if !change.existed => Err(Broken::FalseConflict),
            Reported::Created(Creation::Created) if change.existed => Err(Broken::SuccessIsNotTrue),
            Reported::Deleted(Deletion::WasMissing) if change.existed => Err(Broken::FalseConflict),
            Reported::Deleted(Deletion::Deleted) if !change.existed => Err(Broken::SuccessIsNotTrue),
            // After an attempt in doubt it is unknown whose table it is, or who removed it or a row.
            Reported::Created(Creation::InDoubt) | Reported::Deleted(Deletion::InDoubt) if self.own() == 1 => {
                Err(Broken::SuccessIsNotTrue)
            }
            Reported::Created(_) | Reported::Deleted(_) => Ok(()),
            _ => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn check_versions(&self, change: &Change, etags: &[Option<ETag>]) -> Result<(), Broken> {
        let rows = change.writes.iter().map(|write| self.after.rows.get(write.row()));
        let stored = rows.map(|row| row.and_then(|row| row.etag.as_ref()));
        let is_right = |((write, stored), reported): ((&Write, Option<&ETag>), &Option<ETag>)| {
            let is_repeated = self.is_late && change.is_repeatable;
            is_repeated || stored == reported.as_ref() || self.may_withhold_etag(write, reported.as_ref())
        };
        let is_complete = etags.len() == change.writes.len();
        let mut versions = change.writes.iter().zip(stored).zip(etags);
        (is_complete && versions.all(is_right))
            .then_some(())
            .ok_or(Broken::WrongVersion)
    }

    /// A merge keeps other properties. If it is read back, they may be of a later write, so its ETag matches no row.
    /// The reads before the first write read nothing back.
    fn may_withhold_etag(&self, write: &Write, reported: Option<&ETag>) -> bool {
        let is_merge = matches!(write, Write::Merge(..) | Write::InsertOrMerge(_) | Write::Patch(..));
        let is_of_no_row = reported.is_none_or(|etag| etag.as_str().contains("2000-01-01"));
        let mut since_write = self.sent.iter().skip_while(|sent| sent.reads);
        is_merge && is_of_no_row && since_write.any(|sent| sent.reads)
    }

    fn check_repeats(&self, change: &Change) -> Result<(), Broken> {
        let most = if change.is_repeatable { self.own() } else { 1 };
        (self.applied <= most as u64).then_some(()).ok_or(Broken::Twice)
    }

    /// A failure leaves any of the states. If it denies the last step, it does not leave that state.
    fn check_steps(&self, states: &[State]) -> Result<(), Broken> {
        let is_at = |state: &State| state.is(self.after, self.before);
        let Some(last) = states.last() else {
            return Err(Broken::Torn);
        };
        match self.reported {
            Reported::Done if is_at(last) => Ok(()),
            // The deletion arrived once more.
            Reported::Done if self.is_late && states.iter().any(is_at) => Ok(()),
            Reported::Failed(_) if !states.iter().any(is_at) => Err(Broken::Torn),
            Reported::Failed(e) if !e.may_have_applied() && is_at(last) && !is_at(self.before) => {
                Err(Broken::DenialIsNotTrue)
            }
            Reported::Failed(_) => Ok(()),
            _ => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn check_read(&self, read: &Read) -> Result<(), Broken> {
        let primary = std::slice::from_ref(self.before);
        let states: Vec<&State> = match (read.origin, self.location) {
            (Origin::Any, LocationMode::SecondaryOnly) => self.secondary.into_iter().collect(),
            (Origin::Any, mode) if mode != LocationMode::PrimaryOnly => primary.iter().chain(self.secondary).collect(),
            _ => primary.iter().collect(),
        };
        let is_true = match self.reported {
            Reported::Failed(error) => !error.may_have_applied() && !is_verdict(error.kind()),
            Reported::Seen(seen) => is_seen(read, seen, &states),
            _ => false,
        };
        if is_true && self.applied == 0 && self.before == self.after {
            Ok(())
        } else {
            Err(Broken::WrongRead)
        }
    }

    /// Requests carry all options once, the record has all of them, and only plain reads leave the primary.
    fn check_requests(&self) -> Result<(), Broken> {
        let origin = match self.promise {
            Promise::Read(read) => read.origin,
            _ => Origin::Primary,
        };
        for sent in self.sent {
            self.options.check(sent)?;
            let may_be_there = if sent.is_secondary {
                sent.method == Method::GET && origin != Origin::Primary
            } else {
                origin != Origin::Secondary
            };
            let is_of_mode = match (origin, self.location) {
                (Origin::Any, LocationMode::PrimaryOnly) => !sent.is_secondary,
                (Origin::Any, LocationMode::SecondaryOnly) => sent.is_secondary,
                _ => true,
            };
            if !may_be_there || !is_of_mode {
                return Err(Broken::WrongLocation);
            }
        }
        Ok(())
    }

    fn check_effort(&self, entry: &Entry) -> Result<(), Broken> {
        let calls = if entry.times_each { entry.calls } else { 1 };
        let time = match (entry.within, entry.is_paced) {
            (Some(time), _) => time + LATENESS,
            (None, true) => TIME_OF_BULK + HELD_BACK * self.repeated_rows(),
            (None, false) => (TIMEOUT + LATENESS) * calls,
        };
        if self.elapsed > time {
            return Err(Broken::Late);
        }
        self.check_story(entry)?;
        // At each attempt, the primary follows a secondary that finds nothing.
        let at_both = match self.promise {
            Promise::Read(Read {
                origin: Origin::Any, ..
            }) if !matches!(self.location, LocationMode::PrimaryOnly | LocationMode::SecondaryOnly) => 2,
            _ => 1,
        };
        let most = self.options.max_attempts * at_both;
        // The error of a call that creates its table has the attempts before and after the creation.
        let most_of_error = if entry.runs_twice { 2 * most } else { most };
        if let Some(error) = self.error()
            && (error.attempts() > most_of_error || error.attempts() as usize > self.attempts.len())
        {
            return Err(Broken::TooManyAttempts);
        }
        let most = (most * entry.calls) as usize;
        // The client may read back after each attempt, each row by a call of its own.
        let rows = match &self.promise {
            Promise::Change(change) => change.writes.len().max(1),
            _ => 1,
        };
        let is_too_much = self.own() > most || self.sent.len() > most * (1 + rows * MAX_ATTEMPTS as usize);
        if is_too_much && !entry.is_paced {
            Err(Broken::TooManyAttempts)
        } else {
            Ok(())
        }
    }

    /// Returns the number of writes of a bulk that follow one on the same row.
    fn repeated_rows(&self) -> u32 {
        let Promise::Each(writes) = self.promise else { return 0 };
        let rows: BTreeSet<_> = writes.iter().map(Write::row).collect();
        (writes.len() - rows.len()) as u32
    }

    fn check_story(&self, entry: &Entry) -> Result<(), Broken> {
        let mut reported: Vec<_> = self
            .attempts
            .iter()
            .map(|attempt| (attempt.location() == Location::Secondary, attempt.client_request_id()))
            .collect();
        let mut sent: Vec<_> = self.sent.iter().map(|sent| (sent.is_secondary, sent.id())).collect();
        reported.sort_unstable();
        sent.sort_unstable();
        let is_whole = match entry.is_concurrent {
            // Requests that were in flight at its end have no end.
            true => reported.iter().all(|attempt| sent.contains(attempt)) && reported.len() <= sent.len(),
            false => reported == sent,
        };
        is_whole.then_some(()).ok_or(Broken::WrongStory)
    }

    fn error(&self) -> Option<&Error> {
        match self.reported {
            Reported::Failed(error) => Some(error),
            Reported::Selected(report) => report.ended.as_ref(),
            _ => None,
        }
    }

    /// Returns the requests of the operation itself: for a write, those that may change something.
    pub(crate) fn own(&self) -> usize {
        match self.promise {
            Promise::Read(_) => self.sent.len(),
            _ => self.sent.iter().filter(|sent| sent.method != Method::GET).count(),
        }
    }
}

/// Returns `true` if the kind of the error is `InDoubt` exactly if the write may have been applied. The last failure is
/// visible only on request then.
pub(crate) fn names_doubt(error: &Error) -> bool {
    let is_in_doubt = error.may_have_applied();
    let shows_failure = error.status().is_some() || error.code().is_some() || error.service_message().is_some();
    let last = error.last_failure();
    let is_right = |last: &Error| !last.may_have_applied() && last.kind() != ErrorKind::InDoubt;
    (error.kind() == ErrorKind::InDoubt) == is_in_doubt
        && last.is_some() == is_in_doubt
        && last.as_ref().is_none_or(is_right)
        && !(is_in_doubt && shows_failure)
}

/// Returns the kind of the last failure.
fn last_kind(error: &Error) -> ErrorKind {
    error.last_failure().as_ref().unwrap_or(error).kind()
}

pub(crate) fn is_verdict(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::TableNotFound | ErrorKind::ConditionNotMet
    )
}

/// Checks that a view is one of these states, or of parts of them.
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
