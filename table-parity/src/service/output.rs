//! The streams of the program, its exit code, and its question.

use std::io::{self, Write};

use crate::service::mask::Mask;
use crate::service::stop::Stop;

/// The end of the program, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    NoDifference = 0,
    Difference = 1,
    Usage = 2,
    NotFinished = 3,
}

impl Exit {
    /// Returns the end of a run, or of one that could not start.
    pub(crate) fn of<T>(ran: &Result<(Self, T), String>) -> Self {
        ran.as_ref().map_or(Self::Usage, |(exit, _)| *exit)
    }
}

/// The streams of the program.
pub(crate) struct Streams<'w> {
    /// The report.
    pub(crate) out: &'w mut dyn Write,
    /// The progress.
    pub(crate) log: &'w mut (dyn Write + Send),
}

/// The output. The mask applies to every line.
pub(crate) struct Output<'w> {
    write: &'w mut dyn Write,
    mask: Mask,
}

impl<'w> Output<'w> {
    pub(crate) fn new(write: &'w mut dyn Write, mask: Mask) -> Self {
        Self { write, mask }
    }

    pub(crate) fn line(&mut self, text: &str) {
        // A closed pipe must not stop the cleanup.
        let _ = writeln!(self.write, "{}", self.mask.hide(text));
        let _ = self.write.flush();
    }
}

/// Asks on the terminal. Fails unless the answer is yes.
pub(crate) async fn confirmed(output: &mut Output<'_>, stop: &Stop) -> Result<(), String> {
    output.line("start? [y/N]");
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = tokio::select! {
        () = stop.stopped() => return Err("not started: stopped by a signal".to_owned()),
        line = line => line.map_err(|e| e.to_string())?.unwrap_or_default(),
    };
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        "" if !line.ends_with('\n') => {
            let why = "not started: standard input has no answer; --yes starts without the question";
            Err(why.to_owned())
        }
        _ => Err("not started".to_owned()),
    }
}
