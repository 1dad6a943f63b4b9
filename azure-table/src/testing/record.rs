//! What was done to one request.

use crate::model::operation_kind::OperationKind;
use crate::testing::fault::Fault;

/// One request as [`Faults`](crate::testing::Faults) saw it: what it was, and what was done to it. Neither address nor
/// headers are kept, since signatures stand there.
#[derive(Clone, Debug)]
pub struct FaultRecord {
    pub(crate) number: u64,
    pub(crate) kind: Option<OperationKind>,
    pub(crate) table: Option<String>,
    pub(crate) client_request_id: Option<String>,
    pub(crate) fault: Option<Fault>,
}

impl FaultRecord {
    /// Its place among all requests, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The operation, or `None` if the client has no such operation. A ping is a list of tables.
    pub fn kind(&self) -> Option<OperationKind> {
        self.kind
    }

    /// The table it was about; of a batch that of its first operation.
    pub fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// The client's id of the call: the same for all attempts of one, as in [`Error::client_request_id`].
    ///
    /// [`Error::client_request_id`]: crate::Error::client_request_id
    pub fn client_request_id(&self) -> Option<&str> {
        self.client_request_id.as_deref()
    }

    /// What happened to it; `None` if it went through.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}
