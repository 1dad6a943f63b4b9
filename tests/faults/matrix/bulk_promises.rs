//! The promises of bulk writes, row by row.

use std::collections::BTreeMap;

use azure_table::ErrorKind;

use super::check::{Broken, Case, is_verdict};
use super::model::{State, Write};
use super::operation::{Claim, Report, Reported, Wanted};

/// Checks writes that each have an outcome. Applied ones are stored unless overwritten, rejected ones are not, and
/// those in doubt may be.
pub(crate) fn check_each(case: &Case<'_>, writes: &[Write]) -> Result<(), Broken> {
    let Reported::Each(claims) = case.reported else {
        return Err(Broken::SuccessIsNotTrue);
    };
    if claims.len() != writes.len() {
        return Err(Broken::SuccessIsNotTrue);
    }
    let mut rows = BTreeMap::<&str, Vec<(&Write, &Claim)>>::new();
    for (write, claim) in writes.iter().zip(claims) {
        rows.entry(write.row()).or_default().push((write, claim));
    }
    for (row, writes) in &rows {
        check_row(case, row, writes)?;
    }
    let is_named = |row: &&String| rows.contains_key(row.as_str());
    let others = |state: &State| {
        let rows = state.rows.iter().filter(|(row, _)| !is_named(row));
        rows.map(|(row, stored)| (row.clone(), stored.clone()))
            .collect::<Vec<_>>()
    };
    (others(case.before) == others(case.after))
        .then_some(())
        .ok_or(Broken::Torn)
}

/// Returns the writes of one row, which keep their order.
fn check_row(case: &Case<'_>, row: &str, writes: &[(&Write, &Claim)]) -> Result<(), Broken> {
    let (before, after) = (case.before.only(row), case.after.only(row));
    let mut possible = vec![before.clone()];
    let mut etag = None;
    for (write, claim) in writes {
        let written = |state: &State| {
            let mut state = state.clone();
            state.write(write).map(|()| state)
        };
        match claim {
            Claim::Applied(own) => {
                let is_gone_already = matches!(write, Write::Delete(..)) && case.own() > 1;
                possible = possible
                    .iter()
                    .filter_map(|state| match written(state) {
                        Ok(written) => Some(written),
                        Err(ErrorKind::NotFound) if is_gone_already => Some(state.clone()),
                        Err(_) => None,
                    })
                    .collect();
                if possible.is_empty() {
                    return Err(Broken::SuccessIsNotTrue);
                }
                etag = own.as_ref();
            }
            Claim::Rejected(kind) => {
                let is_true = |state: &State| match written(state) {
                    Ok(_) => !is_verdict(*kind),
                    Err(verdict) => !is_verdict(*kind) || verdict == *kind,
                };
                if !possible.iter().any(is_true) {
                    return Err(Broken::FalseConflict);
                }
            }
            Claim::InDoubt => {
                let written: Vec<State> = possible.iter().filter_map(|state| written(state).ok()).collect();
                possible.extend(written);
                etag = None;
            }
            Claim::RejectedWithOthers | Claim::NotAttempted | Claim::OfWrongKind => {}
        }
    }
    if case.is_late && written_once_more(&before, writes, &after) {
        return Ok(());
    }
    if !possible.iter().any(|state| state.is(&after, &before)) {
        let is_denied = writes
            .iter()
            .all(|(_, claim)| !matches!(claim, Claim::Applied(_) | Claim::InDoubt));
        return Err(if is_denied {
            Broken::DenialIsNotTrue
        } else {
            Broken::SuccessIsNotTrue
        });
    }
    let stored = after.rows.get(row).and_then(|stored| stored.etag.as_ref());
    let is_version = etag.is_none_or(|etag| stored == Some(etag));
    is_version.then_some(()).ok_or(Broken::WrongVersion)
}

/// Returns `true` if the row is as a write left it that arrived after the next ones.
fn written_once_more(before: &State, writes: &[(&Write, &Claim)], after: &State) -> bool {
    let mut states = vec![before.clone()];
    for (write, _) in writes {
        let mut written = states.clone();
        written.retain_mut(|state| state.write(write).is_ok());
        states.extend(written);
    }
    let again = writes.iter().flat_map(|(write, _)| {
        states.iter().filter_map(|state| {
            let mut state = state.clone();
            state.write(write).is_ok().then_some(state)
        })
    });
    writes
        .iter()
        .any(|(_, claim)| matches!(claim, Claim::Applied(_) | Claim::InDoubt))
        && again.into_iter().any(|state| state.is(after, before))
}

/// Checks writes by query: each row is as before or as intended, and the report counts them.
pub(crate) fn check_selected(case: &Case<'_>, wanted: &[(String, Wanted)]) -> Result<(), Broken> {
    let Reported::Selected(report) = case.reported else {
        return Err(Broken::SuccessIsNotTrue);
    };
    let (before, after) = (&case.before.rows, &case.after.rows);
    let is_wanted = |row: &String| wanted.iter().any(|(name, _)| name == row);
    if after.keys().any(|row| !before.contains_key(row)) {
        return Err(Broken::Torn);
    }
    if before
        .iter()
        .any(|(row, stored)| !is_wanted(row) && after.get(row) != Some(stored))
    {
        return Err(Broken::Torn);
    }
    let mut changed = 0;
    for (row, wanted) in wanted {
        let (was, is) = (&before[row], after.get(row));
        let is_done = match (wanted, is) {
            (Wanted::Unchanged, _) => false,
            (Wanted::Gone, is) => is.is_none(),
            (Wanted::Is(a, b), Some(is)) => (is.a, is.b) == (*a, *b) && is.etag != was.etag,
            (Wanted::Is(..), None) => false,
        };
        if !is_done && is != Some(was) {
            return Err(Broken::Torn);
        }
        let is_in_doubt = report.in_doubt.contains(row);
        let failed = report.failures.iter().find(|(name, _)| name == row);
        if is_done && failed.is_some() {
            return Err(Broken::DenialIsNotTrue);
        }
        if failed.is_some_and(|(_, kind)| is_verdict(*kind)) {
            return Err(Broken::FalseConflict);
        }
        let is_left = !is_done && !is_in_doubt && failed.is_none() && *wanted != Wanted::Unchanged;
        if is_left && report.ended.is_none() {
            return Err(Broken::SuccessIsNotTrue);
        }
        changed += usize::from(is_done);
    }
    check_counts(report, wanted, changed)
}

fn check_counts(report: &Report, wanted: &[(String, Wanted)], changed: usize) -> Result<(), Broken> {
    let is_delete = wanted.iter().all(|(_, wanted)| *wanted == Wanted::Gone);
    // A delete whose response was lost finds nothing.
    let of_own = if is_delete { report.gone } else { 0 };
    if report.gone > of_own {
        return Err(Broken::FalseConflict);
    }
    if report.applied > changed {
        return Err(Broken::SuccessIsNotTrue);
    }
    if changed > report.applied + report.in_doubt.len() + of_own {
        return Err(Broken::DenialIsNotTrue);
    }
    let reported = report.applied + report.unchanged + report.gone + report.failures.len() + report.in_doubt.len();
    let is_whole = reported == wanted.len() || (report.ended.is_some() && reported < wanted.len());
    is_whole.then_some(()).ok_or(Broken::SuccessIsNotTrue)
}
