//! The story of a call, as its caller can read it afterwards.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Of longer stories the first attempts are dropped.
const MOST_ATTEMPTS: usize = 128;

/// Where calls write what they did: each attempt, its ids, and what it cost. Clones share it; it may be given to several
/// calls, one after the other or at once.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, OperationContext, TableServiceClient};
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
    attempts: Vec<Attempt>,
    request_charge: Option<f64>,
}

/// One request that was sent, or tried to be sent.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(crate) operation: &'static str,
    pub(crate) elapsed: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    pub(crate) client_request_id: Option<String>,
    pub(crate) request_charge: Option<f64>,
}

impl OperationContext {
    /// An empty story.
    pub fn new() -> Self {
        Self::default()
    }

    /// The attempts in the order in which they ended; of more than 128 the last ones.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.log().attempts.clone()
    }

    /// What all attempts cost, in request units of Cosmos DB; `None` if no answer said so, as those of Storage never do.
    pub fn request_charge(&self) -> Option<f64> {
        self.log().request_charge
    }

    pub(crate) fn tell(&self, attempt: Attempt) {
        let mut log = self.log();
        if let Some(charge) = attempt.request_charge {
            log.request_charge = Some(log.request_charge.unwrap_or_default() + charge);
        }
        if log.attempts.len() == MOST_ATTEMPTS {
            log.attempts.remove(0);
        }
        log.attempts.push(attempt);
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// The operation, such as `insert`.
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// From sending to the end of the answer.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The HTTP status; `None` if no answer came.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The service's id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The client's id of the call: the same for all attempts of one.
    pub fn client_request_id(&self) -> Option<&str> {
        self.client_request_id.as_deref()
    }

    /// What it cost, in request units of Cosmos DB.
    pub fn request_charge(&self) -> Option<f64> {
        self.request_charge
    }
}
