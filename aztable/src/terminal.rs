//! Notes, plans, questions and progress of a command, for a person or a program.
//!
//! Results go to the standard output, everything else to the standard error. With `--json` both are JSON lines.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use azure_table::telemetry::CostMeter;
use clap::Args;
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::failure::{Done, Failure, Rejection, usage};

/// The interval between lines of progress where no terminal shows a bar.
const LINE_INTERVAL: Duration = Duration::from_secs(60);
/// The interval between events of progress.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Terminal {
    /// No progress and no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Results and events as JSON lines, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Run without a question, as scripts need it
    #[arg(long, short, global = true)]
    pub(crate) yes: bool,
}

impl Terminal {
    /// Prints a line about the command.
    pub(crate) fn note(&self, text: &str) {
        match (self.quiet, self.json) {
            (true, _) => {}
            (false, true) => self.event("note", &json!({ "text": text })),
            (false, false) => say(text),
        }
    }

    /// Prints a row that is left, with the reason.
    pub(crate) fn rejected(&self, (row, why): &Rejection) {
        self.note(&format!("rejected {:.200}: {why:.1000}", row.to_string()));
    }

    /// Prints an event for programs: `{"event": name, …}`.
    pub(crate) fn event(&self, name: &str, members: &Value) {
        if self.json {
            let mut event = members.clone();
            event["event"] = name.into();
            say(event);
        }
    }

    /// Prints a line of results.
    ///
    /// # Errors
    /// The standard output is closed.
    pub(crate) fn result(&self, line: impl std::fmt::Display) -> Done<()> {
        Ok(writeln!(io::stdout(), "{line}")?)
    }

    /// Prints a result in one of its forms.
    ///
    /// # Errors
    /// The standard output is closed.
    pub(crate) fn either(&self, json: Value, text: impl std::fmt::Display) -> Done<()> {
        self.result(if self.json { json.to_string() } else { text.to_string() })
    }

    /// Prints what a command is about to write, and asks whether to go on.
    ///
    /// # Errors
    /// The answer is no, or no person can answer and `--yes` is absent.
    pub(crate) fn confirm(&self, plan: &str) -> Done<()> {
        match (self.quiet && self.yes, self.json) {
            (true, _) => {}
            (false, true) => self.event("plan", &json!({ "text": plan })),
            (false, false) => say(plan),
        }
        if self.yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            usage!("nothing was written: add --yes to run this plan");
        }
        let _ = write!(io::stderr(), "go on? [y/N] ");
        let mut reply = String::new();
        io::stdin().lock().read_line(&mut reply)?;
        match reply.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::new("nothing was written")),
        }
    }

    /// Starts to show the progress of a command, of `total` rows if that is known.
    pub(crate) fn progress(&self, total: Option<Total>, meter: &CostMeter) -> Progress {
        let style = |template| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = match total {
            _ if self.quiet || self.json || !io::stderr().is_terminal() => ProgressBar::hidden(),
            Some(_) => ProgressBar::new(0).with_style(style("{bar:30} {msg}, {eta} left")),
            None => ProgressBar::new_spinner().with_style(style("{spinner} {msg}")),
        };
        Progress {
            terminal: *self,
            bar,
            total,
            meter: meter.clone(),
            last: Instant::now(),
            first: None,
        }
    }
}

/// Prints a line to the standard error. If that is closed, nobody reads it.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Returns a text in which control characters are escaped: stored text must not control the terminal.
pub(crate) fn escaped(text: &str) -> String {
    let escape = |c: char| match c.is_control() {
        true => c.escape_default().collect(),
        false => c.to_string(),
    };
    text.chars().map(escape).collect::<String>()
}

/// Returns a number with its noun: `1 row`, `2,000 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", HumanCount(count))
}

/// The number of rows that a command moves. An import estimates it while it reads.
pub(crate) type Total = Arc<AtomicU64>;

/// The progress of a command. Its end is that of the value.
pub(crate) struct Progress {
    terminal: Terminal,
    bar: ProgressBar,
    total: Option<Total>,
    meter: CostMeter,
    last: Instant,
    /// The rows before the start, if the command resumes: they do not count for the rate.
    first: Option<u64>,
}

impl Progress {
    /// Shows the number of rows so far.
    pub(crate) fn set(&mut self, rows: u64) {
        self.first.get_or_insert(rows);
        self.bar.set_position(rows);
        let interval = match (self.terminal.json, self.bar.is_hidden()) {
            (true, _) => EVENT_INTERVAL,
            (false, true) => LINE_INTERVAL,
            (false, false) => Duration::from_millis(100),
        };
        if self.last.elapsed() >= interval {
            self.last = Instant::now();
            self.show();
        }
    }

    fn show(&self) {
        let rows = self.bar.position();
        let seconds = self.bar.elapsed().as_secs_f64().max(0.001);
        let rate = rows.saturating_sub(self.first.unwrap_or_default()) as f64 / seconds;
        let cost = self.meter.total();
        let total = self.total.as_ref().map(|total| total.load(Ordering::Relaxed));
        let percent = total.map(|total| rows * 100 / total.max(1));
        if self.terminal.json && !self.terminal.quiet {
            let members = json!({
                "rows": rows, "rows_per_second": rate.round(), "requests": cost.requests, "throttled": cost.throttled,
                "bytes_sent": cost.bytes_sent, "bytes_received": cost.bytes_received, "percent": percent,
            });
            return self.terminal.event("progress", &members);
        }
        let share = percent.map_or_else(String::new, |percent| format!("{percent} %, "));
        let throttled = match cost.throttled {
            0 => String::new(),
            throttled => format!(", {throttled} throttled"),
        };
        let [rows, rate, requests] = [rows, rate as u64, cost.requests].map(HumanCount);
        let bytes = HumanBytes(cost.bytes_sent + cost.bytes_received);
        let text = format!("{share}{rows} rows, {rate} rows/s, {bytes} transferred, {requests} requests{throttled}");
        let elapsed = HumanDuration(self.bar.elapsed());
        self.bar.set_length(total.unwrap_or_default());
        match self.bar.is_hidden() {
            true => self.terminal.note(&format!("{elapsed} {text}")),
            false => self.bar.set_message(text),
        }
    }
}

/// Programs receive the last numbers, too.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal.json && self.first.is_some() {
            self.show();
        }
        self.bar.finish_and_clear();
    }
}
