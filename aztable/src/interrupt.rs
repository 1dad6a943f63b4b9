//! Ctrl-C and SIGTERM: a long command stops at its next position.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// Tells a command to stop after the first signal. The second one ends the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for signals. Call it in a tokio runtime.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        let flag = Arc::clone(&interrupt.0);
        tokio::spawn(async move {
            if signal().await {
                eprintln!("\nstopping at the next position; a second signal stops at once");
                flag.store(true, Ordering::Relaxed);
            }
            if signal().await {
                std::process::exit(Failure::INTERRUPTED.into());
            }
        });
        interrupt
    }

    /// Returns whether a signal has come.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Waits for a signal. Returns `false` if signals cannot be received.
async fn signal() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return tokio::signal::ctrl_c().await.is_ok();
        };
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted.is_ok(),
            terminated = terminate.recv() => terminated.is_some(),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await.is_ok()
}
