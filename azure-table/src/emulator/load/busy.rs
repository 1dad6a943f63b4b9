//! What is said to a request for which there is no room.
//!
//! Storage answers 503 `ServerBusy`, which names the limit in its text alone and no time to wait; Cosmos DB 429 with the
//! milliseconds to wait, for a batch inside of its answer.
//! Not confirmed: the headers of these answers; that Cosmos DB's always say how long to wait (reports differ).
//!
//! Source: REST "Common REST API error codes"; azure-sdk-for-net issues 13554 and 26960.

use std::time::Duration;

use crate::emulator::operations::batch;
use crate::emulator::operations::call::Request;
use crate::emulator::response::answer::{Answer, Trace};
use crate::emulator::rules::Rules;
use crate::emulator::rules::refusal::Refusal;

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

    fn refusal(self, rules: &Rules) -> &Refusal {
        match self.limit {
            Limit::Account => &rules.account_busy,
            Limit::Server => &rules.server_busy,
        }
    }

    /// What a request is answered.
    pub(crate) fn answer(self, is_batch: bool, request: &Request<'_>, trace: &Trace) -> Answer {
        let refusal = self.refusal(trace.rules);
        let form = request.error_form();
        let Some(header) = trace.rules.retry_after else {
            return Answer::refusal(refusal, form, trace);
        };
        let wait = self.wait.as_millis().max(1).to_string();
        let refused = |refusal: &Refusal| Answer {
            more: vec![(header, wait)],
            ..Answer::refusal(refusal, form, trace)
        };
        if is_batch {
            batch::refused(refused(&trace.rules.at_index(refusal.clone(), 0)), trace.rules)
        } else {
            refused(refusal)
        }
    }
}
