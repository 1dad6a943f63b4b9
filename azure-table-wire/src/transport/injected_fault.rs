//! The traces of an injected fault, for a server that responds through the transport with the fault.
//!
//! A response or an error carries one of its two types. The faults belong to `azure-table-testing` (`fault.rs`).

use std::fmt;

use bytes::Bytes;
use http::Response;

/// The name of the fault that a response had, in its extensions.
#[derive(Clone, Copy, Debug)]
pub struct InjectedFault(pub &'static str);

impl fmt::Display for InjectedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "injected fault: {}", self.0)
    }
}

/// A response that breaks off, as the cause of a transport error.
pub struct CutResponse {
    /// The complete response.
    pub response: Response<Bytes>,
    /// The number of bytes of its body that arrive.
    pub at: usize,
}

impl fmt::Display for CutResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.response.body().len();
        write!(
            f,
            "injected fault: the response broke off after {} of {length} bytes",
            self.at.min(length)
        )
    }
}

/// Shows only the lengths.
impl fmt::Debug for CutResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CutResponse({self})")
    }
}

impl std::error::Error for CutResponse {}
