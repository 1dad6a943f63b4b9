//! The progress of a run: a line at each tenth, which a terminal and a log show alike.

use std::io::Write;

pub(crate) struct Progress<'w> {
    log: &'w mut (dyn Write + Send),
    /// The functions, facts and probes of the run.
    all: usize,
    done: usize,
    estimate: u64,
}

impl<'w> Progress<'w> {
    pub(crate) fn new(log: &'w mut (dyn Write + Send), all: usize, estimate: u64) -> Self {
        Self {
            log,
            all,
            done: 0,
            estimate,
        }
    }

    /// Counts a function, fact or probe, and prints a line if it completes a tenth.
    pub(crate) fn step(&mut self, requests: u64) {
        self.done += 1;
        let tenth = |done: usize| (done * 10).checked_div(self.all);
        if tenth(self.done) == tenth(self.done - 1) {
            return;
        }
        let percent = self.done * 100 / self.all.max(1);
        let (done, all, estimate) = (self.done, self.all, self.estimate);
        // A closed pipe must not stop the run.
        let _ = writeln!(
            self.log,
            "table-parity: {percent:>3} %, {done} of {all} tests, {requests} of about {estimate} requests"
        );
    }
}
