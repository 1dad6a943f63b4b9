//! The signal to end a run early, and the file to name then.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

#[derive(Clone, Debug)]
pub(crate) struct Stop {
    sender: Arc<watch::Sender<bool>>,
    file: Arc<OnceLock<PathBuf>>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            sender: Arc::new(watch::Sender::new(false)),
            file: Arc::default(),
        }
    }
}

impl Stop {
    /// Ends the run.
    pub(crate) fn stop(&self) {
        self.sender.send_replace(true);
    }

    /// Waits for the end.
    pub(crate) async fn stopped(&self) {
        // The sender lives as long as `self`.
        let _ = self.sender.subscribe().wait_for(|is_stopped| *is_stopped).await;
    }

    /// Sets the file that names the tables.
    pub(crate) fn set_file(&self, file: &Path) {
        let _ = self.file.set(file.to_owned());
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.get().map(PathBuf::as_path)
    }
}
