//! The record of a call's attempts, for its caller to read afterwards, even on success.
//!
//! Calls add their attempts to an [`OperationContext`]. `observer.rs` reports events while a call runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::error::diagnostics::{self, Attempt, Diagnostics};

/// Records the attempts of calls, with the headers of their responses.
///
/// Clones share the record. It may be passed to several calls, sequential or concurrent.
///
/// ```
/// use azure_table::{CallOptions, DynamicEntity, Emulator, TableServiceClient};
/// use azure_table::telemetry::OperationContext;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # table.create_table().await?;
/// let context = OperationContext::new();
/// table.insert(&DynamicEntity::new("Channel9", "1")).with(&CallOptions::new().context(&context)).await?;
/// let attempts = context.attempts();
/// assert_eq!((attempts.len(), attempts[0].operation(), attempts[0].status()), (1, "insert", Some(204)));
/// assert_eq!(attempts[0].header("x-ms-version"), Some("2019-02-02"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OperationContext {
    log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    diagnostics: Diagnostics,
    /// Includes the attempts that were omitted.
    request_charge: Option<f64>,
}

impl OperationContext {
    /// Creates an empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the attempts in the order in which they ended.
    ///
    /// If there are more than 128 attempts, it keeps the last ones.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.log().diagnostics.attempts().to_vec()
    }

    /// Returns the attempts and the number of those omitted.
    pub fn diagnostics(&self) -> Diagnostics {
        self.log().diagnostics.clone()
    }

    /// Returns the cost of all attempts in request units of Cosmos DB, or `None` if no response reported one.
    ///
    /// Storage never reports one.
    pub fn request_charge(&self) -> Option<f64> {
        self.log().request_charge
    }

    pub(crate) fn add(&self, attempt: Attempt) {
        let mut log = self.log();
        if let Some(charge) = attempt.request_charge() {
            log.request_charge = Some(log.request_charge.unwrap_or_default() + charge);
        }
        diagnostics::add(&mut log.diagnostics, attempt);
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
