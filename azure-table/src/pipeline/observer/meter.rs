//! The cost of a client's calls, as counted by the client.
//!
//! The client does not know the amount that the service bills for them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::pipeline::observer::{Event, Observer};

/// Counts the requests, entities and bytes of a client's calls, by operation.
///
/// It is an [`Observer`]; clones share the counts. It is made for production; in tests, use `testing::Bill`.
///
/// On Storage the counts are an estimate of the bill. The service bills requests and decides by their outcome whether
/// they are billable, so rejected ones may be free. Sources disagree on batches. The article of 2010 counts a batch as
/// one request. Today's bills have a separate meter for them ("Batch Write Operations"), and no page says what it
/// counts. [`Cost::requests`] counts a batch once, and [`Cost::entities`] counts its operations. On Cosmos DB,
/// [`Cost::request_charge`] is the charge that the service itself reports.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// use azure_table::telemetry::CostMeter;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let meter = CostMeter::new();
/// let service = TableServiceClient::from_transport(Emulator::new()).observer(meter.clone());
/// let blogs = service.dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
/// assert_eq!((meter.total().requests, meter.of("insert").entities), (2, 1));
/// let mut batch = blogs.batch();
/// batch.insert(&DynamicEntity::new("Channel9", "2"))?.insert(&DynamicEntity::new("Channel9", "3"))?;
/// batch.submit().await?;
/// assert_eq!((meter.total().requests, meter.total().entities), (3, 3));
/// # Ok(())
/// # }
/// ```
///
/// Source: "Understanding Windows Azure Storage Billing – Bandwidth, Transactions, and Capacity" (Microsoft, 2010).
#[derive(Clone, Default)]
pub struct CostMeter {
    costs: Arc<Mutex<BTreeMap<String, Cost>>>,
}

/// The cost of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// The number of requests sent, including those of dropped calls; a batch counts as one.
    ///
    /// An estimate of the transactions on the bill of Storage: see [`CostMeter`].
    pub requests: u64,
    /// The number of attempts that the service throttled or could not serve (429, 503).
    pub throttled: u64,
    /// The number of entities read, or written by calls that did not fail.
    ///
    /// Each entity of a batch counts.
    pub entities: u64,
    /// The size of all request bodies in bytes.
    pub bytes_sent: u64,
    /// The size of all response bodies in bytes.
    pub bytes_received: u64,
    /// The request units of Cosmos DB.
    pub request_charge: f64,
}

impl CostMeter {
    /// Creates a meter at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the cost of all operations.
    pub fn total(&self) -> Cost {
        let costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        costs.values().fold(Cost::default(), |sum, cost| Cost {
            requests: sum.requests + cost.requests,
            throttled: sum.throttled + cost.throttled,
            entities: sum.entities + cost.entities,
            bytes_sent: sum.bytes_sent + cost.bytes_sent,
            bytes_received: sum.bytes_received + cost.bytes_received,
            request_charge: sum.request_charge + cost.request_charge,
        })
    }

    /// Returns the cost of the named operation, such as `insert`.
    pub fn of(&self, operation: &str) -> Cost {
        let costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        costs.get(operation).copied().unwrap_or_default()
    }

    /// Returns the cost of each operation, by name.
    pub fn by_operation(&self) -> BTreeMap<String, Cost> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, operation: &str, add: impl FnOnce(&mut Cost)) {
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        match costs.get_mut(operation) {
            Some(cost) => add(cost),
            None => add(costs.entry(operation.to_owned()).or_default()),
        }
    }
}

impl Observer for CostMeter {
    fn on_event(&self, event: &Event<'_>) {
        let size = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        match event {
            // A call that is dropped receives nothing, but its request may be billed.
            Event::Sending(sending) => self.add(sending.operation, |cost| {
                cost.requests += 1;
                cost.bytes_sent += size(sending.bytes);
            }),
            Event::Received(attempt) => self.add(attempt.operation(), |cost| {
                cost.throttled += u64::from(matches!(attempt.status(), Some(429 | 503)));
                cost.bytes_received += size(attempt.bytes_received());
                cost.request_charge += attempt.request_charge().unwrap_or_default();
            }),
            Event::Completed(call) if call.error.is_none() => {
                self.add(call.operation, |cost| cost.entities += size(call.writes));
            }
            Event::Read {
                operation, entities, ..
            } => self.add(operation, |cost| cost.entities += size(*entities)),
            _ => {}
        }
    }
}

impl fmt::Debug for CostMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CostMeter").field(&self.total()).finish()
    }
}
