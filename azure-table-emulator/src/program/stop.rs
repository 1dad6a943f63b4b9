//! The events that end the program: Ctrl-C; on Unix also SIGTERM, which service managers and containers send, and
//! SIGHUP, which a terminal sends when it is closed; on Windows Ctrl-Break, and the end of the console or of the
//! system. With `--stop-on-eof` the end of standard input is one too.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The signals that someone sends on purpose.
const SIGNALS: [&str; 2] = ["Ctrl-C", if cfg!(unix) { "SIGTERM" } else { "Ctrl-Break" }];

/// Receives these events one by one, from its creation on.
pub(crate) struct Ends(UnboundedReceiver<&'static str>);

/// Passes each signal on under a name.
macro_rules! pass_on {
    ($signal:expr, $name:expr, $ends:expr) => {
        let (mut signal, ends) = ($signal?, $ends.clone());
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                let _ = ends.send($name);
            }
        });
    };
}

impl Ends {
    pub(crate) fn listen(stop_on_eof: bool) -> io::Result<Self> {
        let (sender, ends) = unbounded_channel();
        listen(&sender)?;
        if stop_on_eof {
            // The thread does not delay the end of the process.
            std::thread::spawn(move || {
                let _ = io::copy(&mut io::stdin(), &mut io::sink());
                sender.send("end of standard input")
            });
        }
        Ok(Self(ends))
    }

    /// Waits for an end, and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        // The tasks that pass signals on never end.
        self.0.recv().await.unwrap_or_default()
    }

    /// Waits for one of `SIGNALS`. Other ends may follow them: systemd sends SIGHUP right after SIGTERM, and the
    /// process that holds the other end of standard input may end long after its own signal.
    pub(crate) async fn next_signal(&mut self) {
        while !SIGNALS.contains(&self.next().await) {}
    }
}

#[cfg(unix)]
fn listen(ends: &UnboundedSender<&'static str>) -> io::Result<()> {
    pass_on!(signal(SignalKind::interrupt()), SIGNALS[0], ends);
    pass_on!(signal(SignalKind::terminate()), SIGNALS[1], ends);
    if !is_hangup_ignored() {
        pass_on!(signal(SignalKind::hangup()), "SIGHUP", ends);
    }
    Ok(())
}

#[cfg(windows)]
fn listen(ends: &UnboundedSender<&'static str>) -> io::Result<()> {
    pass_on!(ctrl_c(), SIGNALS[0], ends);
    pass_on!(ctrl_break(), SIGNALS[1], ends);
    pass_on!(ctrl_close(), "end of the console", ends);
    pass_on!(ctrl_shutdown(), "shutdown of the system", ends);
    Ok(())
}

/// Returns `true` if the program is to outlive the terminal, as with `nohup`. Only Linux reports that; on other systems
/// the program ends.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is the first signal, the lowest bit.
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}
