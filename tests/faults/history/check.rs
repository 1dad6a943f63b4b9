//! Checks that a table could have had a history: the search of Wing and Gong.
//!
//! Every write has an id, which its row holds until the next write. So a row's version is an id. Each call consists of
//! guards ("this row holds that id") and the ids that it sets if they pass. The search orders the calls of a history.
//! The order respects which call ended before another began, and each guard has the reported result.
//!
//! Source: Wing and Gong, "Testing and Verifying Concurrent Objects", 1993.

use std::collections::{BTreeSet, HashSet};

/// The id of the last write of a row; `None` if it is missing.
pub(crate) type Version = Option<u32>;

pub(crate) const ROWS: usize = 5;
pub(crate) type State = [Version; ROWS];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The guards passed, and the call set its ids; a read saw these.
    Done,
    /// A guard failed; nothing was set.
    Rejected,
    /// Applied after it began, or never.
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Positions in one order of all starts and ends.
    pub(crate) started: u64,
    pub(crate) ended: u64,
    pub(crate) guards: Vec<(usize, Version)>,
    pub(crate) sets: Vec<(usize, Version)>,
    pub(crate) outcome: Outcome,
}

impl Call {
    fn holds(&self, state: &State) -> bool {
        self.guards.iter().all(|(row, version)| state[*row] == *version)
    }

    /// Returns the state after it, or `None` if it cannot come next.
    fn apply(&self, state: &State) -> Option<State> {
        match (self.outcome, self.holds(state)) {
            (Outcome::Rejected, false) => Some(*state),
            (Outcome::Rejected, true) | (_, false) => None,
            (_, true) => {
                let mut after = *state;
                for (row, version) in &self.sets {
                    after[*row] = *version;
                }
                Some(after)
            }
        }
    }

    /// Another call relied on this write, or it is stored at the end.
    fn was_seen(&self, seen: &BTreeSet<u32>) -> bool {
        self.sets
            .iter()
            .any(|(_, version)| version.is_some_and(|id| seen.contains(&id)))
    }
}

/// Orders the calls, from no rows to `last`, or reports the error.
pub(crate) fn check(mut calls: Vec<Call>, last: State) -> Result<(), String> {
    // A call that was observed was applied, and so was what it relied on.
    let mut seen: BTreeSet<u32> = last.into_iter().flatten().collect();
    loop {
        let before = seen.len();
        for call in &mut calls {
            if call.outcome == Outcome::Unknown && call.was_seen(&seen) {
                // It may have been applied after it ended.
                (call.ended, call.outcome) = (u64::MAX, Outcome::Done);
            }
            if call.outcome == Outcome::Done {
                seen.extend(call.guards.iter().filter_map(|(_, version)| *version));
            }
        }
        if seen.len() == before {
            break;
        }
    }
    if let Some(call) = calls
        .iter()
        .find(|call| call.outcome == Outcome::Rejected && call.was_seen(&seen))
    {
        return Err(format!("it was refused, and what it wrote was seen: {call:?}"));
    }
    for call in calls.iter_mut().filter(|call| call.outcome == Outcome::Unknown) {
        call.ended = u64::MAX;
    }
    // A write that was never observed was not applied: only a call that observed it could overwrite it.
    calls.retain(|call| call.outcome != Outcome::Unknown || call.sets.iter().any(|(_, version)| version.is_none()));
    calls.sort_by_key(|call| call.started);
    let mut search = Search {
        calls,
        last,
        tried: HashSet::new(),
        most: 0,
    };
    match search.go(&mut Vec::new(), 0, [None; ROWS]) {
        true => Ok(()),
        false => {
            let (most, count) = (search.most, search.calls.len());
            let next = search.calls.iter().skip(most.saturating_sub(4)).take(12);
            let next = next.collect::<Vec<_>>();
            Err(format!(
                "no order of the {count} calls: at most {most} of them, then one of {next:#?}"
            ))
        }
    }
}

struct Search {
    calls: Vec<Call>,
    last: State,
    tried: HashSet<(usize, Vec<usize>, State)>,
    /// The largest number of calls that could be ordered.
    most: usize,
}

impl Search {
    /// All calls before `first` and all of `ahead` are ordered, and led to `state`.
    fn go(&mut self, ahead: &mut Vec<usize>, mut first: usize, state: State) -> bool {
        while let Some(place) = ahead.iter().position(|index| *index == first) {
            ahead.swap_remove(place);
            first += 1;
        }
        ahead.sort_unstable();
        self.most = self.most.max(first + ahead.len());
        let rest = || (first..self.calls.len()).filter(|index| !ahead.contains(index));
        let is_open = |index: &usize| self.calls[*index].outcome == Outcome::Unknown;
        if rest().all(|index| is_open(&index)) && state == self.last {
            return true;
        }
        if !self.tried.insert((first, ahead.clone(), state)) {
            return false;
        }
        // No call may follow one that began after it ended.
        let first_end = rest().map(|index| self.calls[index].ended).min().unwrap_or(u64::MAX);
        let next = rest().take_while(|index| self.calls[*index].started < first_end);
        let next: Vec<usize> = next.collect();
        next.into_iter().any(|index| {
            let Some(after) = self.calls[index].apply(&state) else {
                return false;
            };
            let mut ahead = ahead.clone();
            ahead.push(index);
            self.go(&mut ahead, first, after)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(span: (u64, u64), guard: Version, set: Option<Version>, outcome: Outcome) -> Call {
        Call {
            started: span.0,
            ended: span.1,
            guards: vec![(0, guard)],
            sets: set.into_iter().map(|version| (0, version)).collect(),
            outcome,
        }
    }

    fn last(version: Version) -> State {
        let mut state = [None; ROWS];
        state[0] = version;
        state
    }

    #[test]
    fn order_is_found_if_one_exists() {
        use Outcome::{Done, Rejected, Unknown};
        let insert = call((0, 1), None, Some(Some(1)), Done);
        let update = |span, id, outcome| call(span, Some(1), Some(Some(id)), outcome);
        let over = |span, guard, id| call(span, Some(guard), Some(Some(id)), Unknown);
        let read = |span, seen| call(span, Some(seen), None, Done);
        let delete = |span, outcome| call(span, Some(1), Some(None), outcome);
        let (once, missing) = (Some(1), None);
        for (name, calls, stored, is_possible) in [
            ("an insert", vec![], once, true),
            ("lost", vec![], missing, false),
            ("an update", vec![update((2, 3), 2, Done)], Some(2), true),
            (
                "a conflict",
                vec![update((2, 5), 2, Done), update((3, 4), 3, Rejected)],
                Some(2),
                true,
            ),
            (
                "one of two updates of a version is lost",
                vec![update((2, 5), 2, Done), update((3, 4), 3, Done)],
                Some(3),
                false,
            ),
            ("false conflict", vec![update((2, 3), 2, Rejected)], once, false),
            ("false denial", vec![update((2, 3), 2, Rejected)], Some(2), false),
            ("not applied", vec![update((2, 3), 2, Unknown)], once, true),
            ("applied", vec![update((2, 3), 2, Unknown)], Some(2), true),
            (
                "a stale read",
                vec![update((2, 3), 2, Done), read((4, 5), 1)],
                Some(2),
                false,
            ),
            (
                "it may take effect later",
                vec![update((2, 3), 2, Unknown), read((4, 5), 1)],
                Some(2),
                true,
            ),
            (
                "one in doubt was seen by another in doubt",
                vec![over((2, 3), 1, 2), over((4, 5), 2, 3)],
                Some(3),
                true,
            ),
            ("deleted", vec![delete((2, 3), Unknown)], missing, true),
            ("not deleted", vec![delete((2, 3), Unknown)], once, true),
            ("a false deletion", vec![delete((2, 3), Done)], once, false),
        ] {
            let calls = [vec![insert.clone()], calls].concat();
            let checked = check(calls, last(stored));
            let (is_ok, why) = (checked.is_ok(), checked.err().unwrap_or_default());
            assert_eq!(is_ok, is_possible, "{name}: {why}");
        }
    }
}
