//! The claims that every script is held against.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Each row of the source is in the target with its values, or it is named.
    RowsArrive,
    /// A rejected row is named on the standard error or in the file of rejected rows.
    RejectedRowsAreNamed,
    /// A row of the target whose key the source has is never deleted.
    NoWrongDelete,
    /// Tables that no argument names keep their rows.
    OtherTables,
    /// Files that no argument names keep their bytes.
    OtherFiles,
    /// A command that has ended leaves no file of its own behind.
    NoLeftovers,
    /// The file has the rows of the table.
    Exported,
    /// The printed counts are true.
    Counts,
    /// The counts have their place and form.
    CountsForm,
    /// A resumed command ends as an uninterrupted one.
    Resume,
    /// No secret is printed or stored.
    Secrets,
    /// The exit code has its meaning.
    ExitCode,
    /// The program neither panics nor hangs.
    Panic,
    /// The error or the plan says what it must.
    Message,
}

impl Claim {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RowsArrive => "rows-arrive",
            Self::RejectedRowsAreNamed => "rejected-rows-are-named",
            Self::NoWrongDelete => "no-wrong-delete",
            Self::OtherTables => "other-tables",
            Self::OtherFiles => "other-files",
            Self::NoLeftovers => "no-leftovers",
            Self::Exported => "exported",
            Self::Counts => "counts",
            Self::CountsForm => "counts-form",
            Self::Resume => "resume",
            Self::Secrets => "secrets",
            Self::ExitCode => "exit-code",
            Self::Panic => "panic",
            Self::Message => "message",
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The claims that a script has broken, and how.
#[derive(Default)]
pub(crate) struct Failures(pub(crate) Vec<(Claim, String)>);

impl Failures {
    pub(crate) fn add(&mut self, claim: Claim, text: impl Into<String>) {
        self.0.push((claim, text.into()));
    }

    /// Reports a claim unless `holds`.
    pub(crate) fn check(&mut self, holds: bool, claim: Claim, text: impl FnOnce() -> String) {
        if !holds {
            self.add(claim, text());
        }
    }
}
