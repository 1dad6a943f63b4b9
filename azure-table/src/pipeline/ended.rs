//! The end of one request of a call.
//!
//! Owns [`Ended`], which `attempt.rs` returns and the retry loop, the history and the spans read.

use std::time::{Duration, SystemTime};

use azure_table_core::model::error::{Error, Result};
use azure_table_core::model::location::Location;
use azure_table_core::protocol::read_back::WrittenRow;
use azure_table_core::transport::Delivery;
use bytes::Bytes;
use http::Response;

use crate::pipeline::rejection::Rejection;
use crate::pipeline::retry::Failure;

/// The end of a call that does not fail: a response, or the rows of a write that was read back and found applied.
pub(crate) type Ending = (Response<Bytes>, Option<Vec<WrittenRow>>);

/// The end of an attempt, or of one of the two requests of a hedged attempt.
pub(crate) struct Ended {
    pub(crate) begun: SystemTime,
    pub(crate) elapsed: Duration,
    pub(crate) location: Location,
    /// It is the second request of a hedged attempt.
    pub(crate) is_hedge: bool,
    /// The client cancelled the request, because the other one of the attempt had its response.
    pub(crate) is_cancelled: bool,
    /// The time that the request was signed with.
    pub(crate) signed_at: SystemTime,
    /// The generation of the credential that authorized it.
    pub(crate) generation: u64,
    /// The response, or the progress of the request and the reason why no response arrived.
    pub(crate) outcome: Result<Response<Bytes>, (Delivery, Error)>,
    /// The rejection, if the response rejects the request.
    pub(crate) rejection: Option<Rejection>,
}

impl Ended {
    /// Returns the failure of the attempt: a rejection, or no complete response.
    pub(crate) fn failure(&self) -> Option<Failure<'_>> {
        match (&self.outcome, &self.rejection) {
            (Ok(_), rejection) => rejection
                .as_ref()
                .map(|rejection| Failure::Answer(rejection.status, rejection.code.as_deref())),
            (Err((reached, _)), _) => Some(Failure::Transport(*reached)),
        }
    }

    /// Returns the end of a call that ends with this attempt.
    pub(crate) fn into_ending(self) -> Result<Ending> {
        self.outcome.map(|response| (response, None)).map_err(|(_, e)| e)
    }
}
