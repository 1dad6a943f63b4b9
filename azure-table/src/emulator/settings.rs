//! What an emulator is set to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::emulator::clock::EmulatorClock;
use crate::emulator::load::Stamp;
use crate::emulator::page_ends::PageEnds;
use crate::emulator::response::observer::Observe;
use crate::emulator::rules::{Rules, STORAGE};
use crate::protocol::signature::SigningKey;

/// What the `with_…` methods set.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) accounts: BTreeMap<String, Account>,
    /// The tokens of Entra ID that are good.
    pub(crate) tokens: BTreeSet<String>,
    pub(crate) page_size: usize,
    pub(crate) page_ends: PageEnds,
    pub(crate) clock: EmulatorClock,
    /// For how long a deleted table's name is not free.
    pub(crate) deletion_time: Duration,
    pub(crate) secondary_lag: Duration,
    /// The rules at every address; `None` where the address tells.
    pub(crate) rules: Option<&'static Rules>,
    /// What takes time and has limits, if anything does.
    pub(crate) stamp: Option<Arc<Stamp>>,
    /// Who is shown what was asked.
    pub(crate) observer: Option<Observe>,
}

impl Settings {
    /// The rules at an address that tells nothing.
    pub(crate) fn rules(&self) -> &'static Rules {
        self.rules.unwrap_or(&STORAGE)
    }

    pub(crate) fn key(&self, account: &str) -> Option<&SigningKey> {
        self.accounts.get(account).map(|account| &account.key)
    }
}

#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) key: SigningKey,
    /// Needed for connection strings.
    #[cfg(feature = "emulator-http")]
    pub(crate) key_text: String,
}
