//! What is said to a request for which there is no room.
//!
//! Storage answers 503 `ServerBusy`, which names the limit in its text alone and no time to wait; Cosmos DB 429 with the
//! milliseconds to wait, for a batch inside of its answer.
//! Not confirmed: the headers of these answers; that Cosmos DB's always say how long to wait (reports differ).
//!
//! Source: REST "Common REST API error codes"; azure-sdk-for-net issues 13554 and 26960.

use std::time::Duration;

use crate::emulator::answer::{Answer, Trace};
use crate::emulator::batch;
use crate::emulator::call::Request;
use crate::emulator::cosmos;
use crate::emulator::refusal::Refusal;
use crate::protocol::profile::Profile;

/// What had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Account,
    /// A partition, or the server of its range.
    Server,
}

/// A refusal for want of room, and after what time there may be some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    pub(crate) limit: Limit,
    pub(crate) wait: Duration,
}

impl Busy {
    pub(crate) fn account(wait: Duration) -> Self {
        let limit = Limit::Account;
        Self { limit, wait }
    }

    pub(crate) fn server(wait: Duration) -> Self {
        let limit = Limit::Server;
        Self { limit, wait }
    }

    fn refusal(self, profile: Profile) -> Refusal {
        match (profile, self.limit) {
            (Profile::Storage, Limit::Account) => Refusal::ACCOUNT_BUSY,
            (Profile::Storage, Limit::Server) => Refusal::SERVER_BUSY,
            (Profile::Cosmos, _) => cosmos::too_many_requests(),
        }
    }

    /// What a request is answered.
    pub(crate) fn answer(self, is_batch: bool, request: &Request<'_>, trace: &Trace) -> Answer {
        let refusal = self.refusal(trace.profile);
        let form = request.error_form();
        if trace.profile == Profile::Storage {
            return Answer::refusal(&refusal, form, trace);
        }
        let wait = self.wait.as_millis().max(1).to_string();
        let refused = |refusal: &Refusal| Answer {
            more: vec![(cosmos::RETRY_AFTER, wait)],
            ..Answer::refusal(refusal, form, trace)
        };
        if is_batch {
            batch::refused(refused(&refusal.at_index(0, trace.profile)), trace.profile)
        } else {
            refused(&refusal)
        }
    }
}
