//! A process that crashes before one of its requests, played by a fault.

use std::fmt::{self, Display, Formatter};

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults};

/// The end of a run: a crash before a request, or the end of its work.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    request: u64,
    operation: Option<OperationKind>,
}

impl Crash {
    /// Runs `work` until its request number `request`, which finds no connection. Without retries the error ends the
    /// work, as a crash of the process would.
    ///
    /// # Errors
    /// The work fails for another reason.
    ///
    /// # Panics
    /// The work succeeds without this request.
    pub async fn before<T, E>(
        request: u64,
        faults: &Faults,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<Self, E> {
        let earlier = faults.requests();
        let crash = faults.add(FaultRule::new(Fault::NoConnection).nth(request));
        let result = work.await;
        faults.remove(&crash);
        let log = faults.log();
        let hit = log.iter().find(|it| it.number() > earlier && it.fault().is_some());
        assert!(
            hit.is_none() || result.is_err(),
            "the work succeeded without request {request}"
        );
        let operation = match (hit, result) {
            (Some(hit), Err(_)) => hit.kind(),
            (_, result) => result.map(|_| None)?,
        };
        Ok(Self { request, operation })
    }

    /// Returns `false` if the work ended with fewer requests.
    pub fn has_happened(&self) -> bool {
        self.operation.is_some()
    }
}

/// Shows the number and the operation of the request.
impl Display for Crash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.operation {
            Some(operation) => f.pad(&format!("{} {operation:?}", self.request)),
            None => f.pad("no crash"),
        }
    }
}
