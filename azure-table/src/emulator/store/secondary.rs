//! The second region: a copy of all accounts that follows the first one from behind.
//!
//! Owns what was changed and is not there yet. What an effect does to an account is `store.rs`, the same for both regions.
//! Without a lag there is no copy: both regions are one.

use std::collections::VecDeque;

use crate::emulator::store::{Accounts, Effect};
use crate::model::datetime::DateTime;

/// The copy, and the effects on their way to it, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Secondary {
    pub(crate) accounts: Accounts,
    on_the_way: VecDeque<(DateTime, String, Effect)>,
}

impl Secondary {
    /// A copy of what there is.
    pub(crate) fn of(accounts: &Accounts) -> Self {
        Self {
            accounts: accounts.clone(),
            on_the_way: VecDeque::new(),
        }
    }

    /// What happened in the first region at `time`.
    pub(crate) fn send(&mut self, time: DateTime, account: &str, effect: Effect) {
        self.on_the_way.push_back((time, account.to_owned(), effect));
    }

    /// Makes what happened until `time`, that included.
    pub(crate) fn catch_up(&mut self, time: DateTime) {
        while self.on_the_way.front().is_some_and(|(happened, ..)| *happened <= time) {
            if let Some((_, account, effect)) = self.on_the_way.pop_front() {
                self.accounts.entry(account).or_default().make(effect);
            }
        }
    }
}
