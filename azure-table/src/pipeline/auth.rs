//! Who asks: the credential of a client, applied to each attempt anew.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;

use crate::model::error::Result;

pub(crate) mod sas;
pub(crate) mod shared_key;

/// Puts the proof of identity onto a request.
pub(crate) trait Credential: fmt::Debug + Send + Sync {
    /// Called once per attempt, with the time of the attempt.
    fn authorize(&self, request: &mut http::Request<Bytes>, now: SystemTime) -> Result<()>;
}
