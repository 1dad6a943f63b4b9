//! The writes that a flush waits for.
//!
//! Each write holds the epoch in which it was accepted until it is no longer pending. A flush ends the current epoch,
//! and waits until no write holds it or an earlier one.

use std::mem;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

/// A span between two flushes. It is dropped by the last write that holds it.
pub(super) type Epoch = watch::Sender<()>;

#[derive(Debug, Default)]
pub(super) struct Epochs {
    pub(super) current: Arc<Epoch>,
    earlier: Vec<Weak<Epoch>>,
}

impl Epochs {
    /// Ends the current epoch. The future waits until no write holds it or an earlier one.
    pub(super) fn end(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let current = mem::take(&mut self.current);
        self.earlier.retain(|epoch| epoch.strong_count() > 0);
        self.earlier.push(Arc::downgrade(&current));
        let epochs = self.earlier.iter().filter_map(Weak::upgrade);
        let ends: Vec<_> = epochs.map(|epoch| epoch.subscribe()).collect();
        async move {
            for mut end in ends {
                // Nothing is ever sent: receiving fails when the epoch is dropped.
                while end.changed().await.is_ok() {}
            }
        }
    }
}
