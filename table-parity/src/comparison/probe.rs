//! Probes: requests whose responses decide a line of `unknowns.md`.
//!
//! Contains the values of their tables (`probes`).

use crate::fact::On;
use crate::step::Step;

/// The requests for one line of `unknowns.md`. A line may have several probes.
pub(crate) struct Probe {
    pub(crate) line: Line,
    pub(crate) on: On,
    pub(crate) needs: Needs,
    /// A header of the response that decides too. The others are only reported.
    pub(crate) header: Option<&'static str>,
    /// The bodies of the responses decide too. Status, code and message always do.
    pub(crate) body: bool,
    /// Tables that the requests may create although their names cannot begin with the prefix.
    pub(crate) free: &'static [&'static str],
    pub(crate) steps: &'static [Step],
}

/// A line: a row of the table by its two cells, or an item of the list with an empty second part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line(pub(crate) &'static str, pub(crate) &'static str);

/// The requirement of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// The account key: it signs, or the operation accepts nothing else.
    Key,
    /// The key and `--change-properties`.
    Properties,
}

impl Probe {
    pub(crate) const fn of(line: Line, steps: &'static [Step]) -> Self {
        Self {
            line,
            on: On::Both,
            needs: Needs::Nothing,
            header: None,
            body: false,
            free: &[],
            steps,
        }
    }

    pub(crate) const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }

    pub(crate) const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    pub(crate) const fn header(mut self, name: &'static str) -> Self {
        self.header = Some(name);
        self
    }

    pub(crate) const fn body(mut self) -> Self {
        self.body = true;
        self
    }

    pub(crate) const fn free(mut self, names: &'static [&'static str]) -> Self {
        self.free = names;
        self
    }
}
