//! The counts that a command prints at its end.

use serde_json::Value;

/// The names of the counts, in the order in which they are printed.
const NAMES: [&str; 9] = [
    "read",
    "written",
    "unchanged",
    "superseded",
    "deleted",
    "kept",
    "rejected",
    "in doubt",
    "not attempted",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) unchanged: u64,
    pub(crate) superseded: u64,
    pub(crate) deleted: u64,
    pub(crate) kept: u64,
    pub(crate) rejected: u64,
    pub(crate) in_doubt: u64,
    pub(crate) not_attempted: u64,
}

impl Counts {
    fn fields(&mut self) -> [&mut u64; 9] {
        [
            &mut self.read,
            &mut self.written,
            &mut self.unchanged,
            &mut self.superseded,
            &mut self.deleted,
            &mut self.kept,
            &mut self.rejected,
            &mut self.in_doubt,
            &mut self.not_attempted,
        ]
    }

    /// Returns the number of rows that have an outcome: `read`, always.
    pub(crate) fn sum(&self) -> u64 {
        self.written + self.unchanged + self.superseded + self.deleted + self.kept + self.left()
    }

    /// Returns the number of rows that make the exit code 1.
    pub(crate) fn left(&self) -> u64 {
        self.rejected + self.in_doubt + self.not_attempted
    }

    /// Sets `read` to the sum of the others.
    pub(crate) fn with_read(mut self) -> Self {
        self.read = self.sum();
        self
    }

    /// Adds the counts of another part.
    pub(crate) fn add(&mut self, mut other: Self) {
        for (one, other) in self.fields().into_iter().zip(other.fields()) {
            *one += *other;
        }
    }

    /// Reads a line such as `12 read, 1,000 written`, also with an error behind it.
    fn of_line(line: &str) -> Option<Self> {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        let line = line.split_once(": ").map_or(line, |(counts, _)| counts);
        let line = line.split_once(';').map_or(line, |(counts, _)| counts);
        let mut counts = Self::default();
        for (place, part) in line.split(", ").enumerate() {
            let (number, name) = part.split_once(' ')?;
            let number = number.replace(',', "").parse().ok()?;
            let index = NAMES.iter().position(|known| *known == name)?;
            if (place == 0) != (index == 0) {
                return None;
            }
            *counts.fields()[index] = number;
        }
        Some(counts)
    }

    fn of_event(event: &Value) -> Option<Self> {
        let mut counts = Self::default();
        for (field, name) in counts.fields().into_iter().zip(NAMES) {
            match event.get(name.replace(' ', "_")) {
                Some(number) => *field = number.as_u64()?,
                None if name == "read" => return None,
                None => {}
            }
        }
        Some(counts)
    }

    /// Returns all counts that a run has printed to its standard error.
    pub(crate) fn printed(error: &str, is_json: bool) -> Vec<Self> {
        let of_line = |line: &str| match is_json {
            false => Self::of_line(line),
            true => {
                let event: Value = serde_json::from_str(line).ok()?;
                (event["event"] == "end").then(|| Self::of_event(&event))?
            }
        };
        error.lines().filter_map(of_line).collect()
    }
}

/// Returns whether the error of a failed run has its form: the last line begins with the counts, and of JSON events, the
/// one of the end has all members.
pub(crate) fn has_form(error: &str, is_json: bool) -> bool {
    match is_json {
        true => {
            let events = error
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut ends = events.filter(|event| event["event"] == "end");
            ends.any(|end| NAMES.iter().all(|name| end.get(name.replace(' ', "_")).is_some()))
        }
        false => {
            let mut errors = error.lines().filter(|line| line.starts_with("error: "));
            errors
                .next_back()
                .is_some_and(|line| Counts::of_line(line).is_some() && line.contains(": "))
        }
    }
}
