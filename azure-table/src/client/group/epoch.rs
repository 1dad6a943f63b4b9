//! The writes that a flush waits for.
//!
//! Each write holds the epoch in which it was accepted, until it has its result and is no longer pending. A flush ends
//! the current epoch, and waits until nobody holds it or an earlier one.

use std::mem;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

/// A span between two flushes. It is dropped by the last write that holds it.
#[derive(Debug)]
pub(super) struct Epoch(watch::Sender<()>);

impl Epoch {
    fn begin() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(())))
    }
}

#[derive(Debug)]
pub(super) struct Epochs {
    current: Arc<Epoch>,
    earlier: Vec<Weak<Epoch>>,
}

impl Epochs {
    pub(super) fn new() -> Self {
        Self {
            current: Epoch::begin(),
            earlier: Vec::new(),
        }
    }

    pub(super) fn current(&self) -> Arc<Epoch> {
        Arc::clone(&self.current)
    }

    /// Ends the current epoch. Returns the ends of all epochs so far.
    pub(super) fn end(&mut self) -> EpochEnds {
        let current = mem::replace(&mut self.current, Epoch::begin());
        self.earlier.retain(|epoch| epoch.strong_count() > 0);
        self.earlier.push(Arc::downgrade(&current));
        let epochs = self.earlier.iter().filter_map(Weak::upgrade);
        EpochEnds(epochs.map(|epoch| epoch.0.subscribe()).collect())
    }
}

pub(super) struct EpochEnds(Vec<watch::Receiver<()>>);

impl EpochEnds {
    /// Waits until nobody holds one of the epochs.
    pub(super) async fn wait(self) {
        for mut end in self.0 {
            // Nothing is ever sent: it fails when the epoch is dropped.
            while end.changed().await.is_ok() {}
        }
    }
}
