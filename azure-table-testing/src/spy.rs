//! The transport that keeps its exchanges.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

use crate::bill::Bill;
use crate::exchange::{Exchange, Outcome};

/// The default number of kept exchanges.
const MAX_EXCHANGES: usize = 1_024;

/// A [`Transport`] that keeps requests and responses, without secrets, in front of another one. Feature `test-util`.
///
/// It keeps the last 1,024 exchanges, or the number set by [`keep`](Self::keep). Bodies are shared with the request and
/// not copied. Clones share one state. In front of [`Faults`](crate::Faults) it sees what the client sees;
/// behind them it sees what reaches the service.
///
/// ```
/// use azure_table::operation::OperationKind;
/// use azure_table::testing::Spy;
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let emulator = Emulator::new();
/// let spy = Spy::new(emulator.clone());
/// let blogs = TableServiceClient::from_transport(spy.clone()).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// let mut batch = blogs.batch();
/// batch.insert(&DynamicEntity::new("Channel9", "1"))?.insert(&DynamicEntity::new("Channel9", "2"))?;
/// batch.submit().await?;
///
/// assert_eq!(spy.requests(), 2);
/// let batches = spy.of(OperationKind::Batch);
/// assert_eq!(batches.len(), 1);
/// assert!(batches[0].body().contains("\"RowKey\":\"2\""));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Spy {
    behind: Arc<dyn Transport>,
    state: Arc<Mutex<State>>,
}

struct State {
    /// The number of the latest request.
    number: u64,
    /// The number of the latest request that was cleared.
    cleared: u64,
    most: usize,
    kept: VecDeque<Exchange>,
    /// The bill of all requests since the last `clear`, including those no longer kept.
    bill: Bill,
}

impl Spy {
    /// Creates a spy. Every request passes through to `transport`.
    pub fn new(transport: impl Transport) -> Self {
        let state = State {
            number: 0,
            cleared: 0,
            most: MAX_EXCHANGES,
            kept: VecDeque::new(),
            bill: Bill::default(),
        };
        Self {
            behind: Arc::new(transport),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Keeps the last `exchanges` exchanges. With 0 it only counts.
    #[must_use]
    pub fn keep(self, exchanges: usize) -> Self {
        {
            let mut state = self.state();
            state.most = exchanges;
            let surplus = state.kept.len().saturating_sub(exchanges);
            state.kept.drain(..surplus);
        }
        self
    }

    /// Returns the number of requests since the last [`clear`](Self::clear), including those no longer kept.
    pub fn requests(&self) -> u64 {
        self.state().requests()
    }

    /// Returns the requests since the last [`clear`](Self::clear), added up, including those no longer kept.
    pub fn bill(&self) -> Bill {
        self.state().bill.clone()
    }

    /// Returns the kept exchanges, in the order of their requests.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.state().kept.iter().cloned().collect()
    }

    /// Returns the kept exchanges of one kind.
    pub fn of(&self, kind: OperationKind) -> Vec<Exchange> {
        let state = self.state();
        state
            .kept
            .iter()
            .filter(|it| it.kind() == Some(kind))
            .cloned()
            .collect()
    }

    /// Returns the latest kept exchange.
    pub fn last(&self) -> Option<Exchange> {
        self.state().kept.back().cloned()
    }

    /// Removes the kept exchanges, and counts requests from 0 again, also for the [`bill`](Self::bill).
    ///
    /// [`number`](Exchange::number) continues, so it stays unique.
    pub fn clear(&self) {
        let mut state = self.state();
        state.kept.clear();
        state.cleared = state.number;
        state.bill = Bill::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn requests(&self) -> u64 {
        self.number - self.cleared
    }

    fn keep(&mut self, exchange: Exchange) {
        if self.most == 0 {
            return;
        }
        if self.kept.len() >= self.most {
            self.kept.pop_front();
        }
        self.kept.push_back(exchange);
    }
}

impl Transport for Spy {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let (number, sent, secrets) = {
                let mut state = self.state();
                state.number += 1;
                let number = state.number;
                let (exchange, secrets) = Exchange::of(number, &request);
                state.keep(exchange);
                (number, state.bill.send(&request), secrets)
            };
            let outcome = self.behind.send(request).await;
            let kept = Outcome::of(&outcome, &secrets);
            let mut state = self.state();
            if number > state.cleared {
                state.bill.receive(&sent, &outcome);
            }
            if let Some(exchange) = state.kept.iter_mut().rfind(|it| it.number == number) {
                exchange.outcome = kept;
            }
            drop(state);
            outcome
        })
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&*self.behind)
    }
}

impl fmt::Debug for Spy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Spy")
            .field("behind", &self.behind)
            .field("requests", &state.requests())
            .field("kept", &state.kept.len())
            .finish()
    }
}
