//! A command of a script, and what it must do.

use std::path::PathBuf;

use azure_table::DynamicEntity;

use crate::claims::Failures;
use crate::counts::Counts;
use crate::exports::Exported;
use crate::program::{Ran, Run};
use crate::world::{Moment, Tables, World};

/// A check that only one command needs.
pub(crate) type Check = Box<dyn Fn(&World, &Moment, &Ran, &mut Failures)>;

/// The counts that may differ from those of an undisturbed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leeway {
    Exact,
    /// A row may be unchanged instead of written: a run before this one has written it.
    Unchanged,
    /// Rows may be missing: their write took them out of the selection.
    Fewer,
}

/// A command that is about to run.
pub(crate) struct Task {
    pub(crate) kind: &'static str,
    pub(crate) run: Run,
    pub(crate) is_json: bool,
    pub(crate) is_quiet: bool,
    /// The places that it reads and writes.
    pub(crate) places: Vec<usize>,
    /// The table that it writes: its place and its name.
    pub(crate) target: Option<(usize, String)>,
    /// The file that it reads.
    pub(crate) source: Option<PathBuf>,
    /// The file of its position, if it has one whose name is known.
    pub(crate) position: Option<PathBuf>,
    /// The folder of backups that it writes.
    pub(crate) backups: Option<PathBuf>,
    pub(crate) can_fail: bool,
    pub(crate) expected: Expected,
}

/// The end of an undisturbed run.
pub(crate) struct Expected {
    pub(crate) codes: Vec<i32>,
    pub(crate) tables: Vec<Tables>,
    /// The table that is written need not be created.
    pub(crate) may_lack_table: bool,
    pub(crate) counts: Option<Counts>,
    /// The leeway of the counts of a run that a stopped one precedes.
    pub(crate) leeway: Leeway,
    /// The counts may be printed for parts, whose sum is that of `counts`.
    pub(crate) has_parts: bool,
    /// Other versions of rows that the target has while the run is unfinished.
    pub(crate) versions: Vec<DynamicEntity>,
    /// The RowKeys of rows that must be named.
    pub(crate) named: Vec<String>,
    pub(crate) rejects: Option<PathBuf>,
    /// The files that are created or changed.
    pub(crate) changes: Vec<PathBuf>,
    pub(crate) exported: Option<Exported>,
    /// Texts of which the standard error must have one.
    pub(crate) messages: Vec<String>,
    pub(crate) checks: Vec<Check>,
}

impl Expected {
    /// A command that changes nothing.
    pub(crate) fn nothing(before: &Moment, codes: &[i32]) -> Self {
        Self {
            codes: codes.to_vec(),
            tables: before.tables.clone(),
            may_lack_table: false,
            counts: None,
            leeway: Leeway::Exact,
            has_parts: false,
            versions: Vec::new(),
            named: Vec::new(),
            rejects: None,
            changes: Vec::new(),
            exported: None,
            messages: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// A command with counts, which fails if rows are left.
    pub(crate) fn counted(before: &Moment, counts: Counts) -> Self {
        let counts = counts.with_read();
        let code = i32::from(counts.left() > 0);
        Self {
            counts: Some(counts),
            ..Self::nothing(before, &[code])
        }
    }

    /// Returns whether the command line must be rejected.
    pub(crate) fn is_refused(&self) -> bool {
        !self.codes.contains(&0) && self.counts.is_none()
    }
}

impl Task {
    pub(crate) fn new(kind: &'static str, expected: Expected) -> Self {
        Self {
            kind,
            run: Run::default(),
            is_json: false,
            is_quiet: false,
            places: Vec::new(),
            target: None,
            source: None,
            position: None,
            backups: None,
            can_fail: true,
            expected,
        }
    }

    /// Adds words to the command line.
    pub(crate) fn words<W: Into<std::ffi::OsString>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.run.arguments.extend(words.into_iter().map(Into::into));
    }
}
