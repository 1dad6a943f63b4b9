//! The signals that stop the program: Ctrl-C, and on Unix also SIGTERM, which service managers and containers send, and
//! SIGHUP, which a terminal sends when it is closed. With `--stop-on-eof` the end of standard input counts as one.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

const HANGUP: &str = "SIGHUP";
const EOF: &str = "end of standard input";
/// The ends of what started the program. They may follow a signal, as systemd sends SIGHUP right after SIGTERM, so only
/// the first call of `next` returns them.
pub(crate) const ENDS_OF_STARTER: [&str; 2] = [HANGUP, EOF];

/// The signals received since its creation, one by one.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
    /// `None` if it is ignored, as with `nohup`, or after a signal.
    #[cfg(unix)]
    hangup: Option<Signal>,
    /// `None` if standard input stops nothing, or after a signal.
    eof: Option<oneshot::Receiver<()>>,
}

/// Reads standard input to its end, on a thread that does not delay the end of the process.
fn eof() -> oneshot::Receiver<()> {
    let (ending, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        ending.send(())
    });
    ended
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen(stop_on_eof: bool) -> io::Result<Self> {
        let hangup = (!is_hangup_ignored()).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.transpose()?,
            eof: stop_on_eof.then(eof),
        })
    }

    /// Waits for a signal, and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        let Self {
            interrupt,
            terminate,
            hangup,
            eof,
        } = self;
        let signal = tokio::select! {
            _ = interrupt.recv() => "Ctrl-C",
            _ = terminate.recv() => "SIGTERM",
            Some(()) = async { hangup.as_mut()?.recv().await } => HANGUP,
            Some(_) = async { Some(eof.as_mut()?.await) } => EOF,
        };
        (*hangup, *eof) = (None, None);
        signal
    }
}

/// Returns `true` if the program is to outlive the terminal. Only Linux reports that; on other systems the program
/// ends.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is the first signal, the lowest bit.
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen(stop_on_eof: bool) -> io::Result<Self> {
        Ok(Self {
            eof: stop_on_eof.then(eof),
        })
    }

    /// Waits for a signal, and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        let eof = &mut self.eof;
        let signal = tokio::select! {
            // After an error the signal ends the process by itself.
            Ok(()) = tokio::signal::ctrl_c() => "Ctrl-C",
            Some(_) = async { Some(eof.as_mut()?.await) } => EOF,
            else => std::future::pending().await,
        };
        *eof = None;
        signal
    }
}
