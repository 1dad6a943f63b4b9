//! Ctrl-C and SIGTERM: a long command stops at its next position, any other at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Tells a command to stop after the first signal. The second one ends the process.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    stops: watch::Receiver<bool>,
    /// The command stops at a position of its own.
    is_long: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for signals. Call it in a tokio runtime.
    pub(crate) fn listen(terminal: Terminal) -> Self {
        let (sender, stops) = watch::channel(false);
        let is_long = Arc::<AtomicBool>::default();
        let of_task = Arc::clone(&is_long);
        tokio::spawn(async move {
            if !signal().await {
                return sender.closed().await;
            }
            if of_task.load(Ordering::Relaxed) {
                terminal.note("stopping at the next position; a second signal stops at once");
                sender.send_replace(true);
                signal().await;
            }
            std::process::exit(Failure::INTERRUPTED.into());
        });
        Self { stops, is_long }
    }

    /// Lets the command run to its next position after a signal.
    pub(crate) fn wait_for_position(&self) {
        self.is_long.store(true, Ordering::Relaxed);
    }

    /// Returns whether a signal has come.
    pub(crate) fn is_set(&self) -> bool {
        *self.stops.borrow()
    }

    /// Waits for a signal.
    pub(crate) async fn set(mut self) {
        // An error would mean that signals end the process at once.
        let _ = self.stops.wait_for(|stops| *stops).await;
    }
}

/// Waits for a signal. Returns `false` if signals cannot be received.
async fn signal() -> bool {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        return tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted.is_ok(),
            terminated = terminate.recv() => terminated.is_some(),
        };
    }
    tokio::signal::ctrl_c().await.is_ok()
}
