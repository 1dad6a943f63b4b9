//! The story of a call, as its caller can read it afterwards, on success too.
//!
//! Owns [`OperationContext`], to which calls add their attempts. What is told while a call goes on is `observer.rs`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::diagnostics::{Attempt, Diagnostics};

/// Where calls write what they did. Clones share it; it may be given to several calls, one after the other or at once.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// use azure_table::telemetry::OperationContext;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
/// # table.create_table().await?;
/// let context = OperationContext::new();
/// table.insert(&DynamicEntity::new("Channel9", "1")).context(&context).await?;
/// let attempts = context.attempts();
/// assert_eq!((attempts.len(), attempts[0].operation(), attempts[0].status()), (1, "insert", Some(204)));
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
    /// Of the attempts that were left out, too.
    request_charge: Option<f64>,
}

impl OperationContext {
    /// An empty story.
    pub fn new() -> Self {
        Self::default()
    }

    /// The attempts in the order in which they ended; of more than 128 the last ones.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.log().diagnostics.attempts.clone()
    }

    /// The attempts, and how many were left out.
    pub fn diagnostics(&self) -> Diagnostics {
        self.log().diagnostics.clone()
    }

    /// What all attempts cost, in request units of Cosmos DB; `None` if no answer said so, as those of Storage never
    /// do.
    pub fn request_charge(&self) -> Option<f64> {
        self.log().request_charge
    }

    pub(crate) fn add(&self, attempt: Attempt) {
        let mut log = self.log();
        if let Some(charge) = attempt.request_charge {
            log.request_charge = Some(log.request_charge.unwrap_or_default() + charge);
        }
        log.diagnostics.add(attempt);
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
