//! The sum of the requests of a scenario.
//!
//! Defines [`Bill`]. `spy.rs` adds each request and its response.

use std::collections::BTreeMap;
use std::fmt;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::response::batch_parts;
use azure_table_wire::transport::TransportError;
use bytes::Bytes;
use http::{Request, Response};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::exchange::name;
use crate::mask::mask_times;

/// The requests that a [`Spy`](crate::Spy) has seen, by kind: their number, their rows and their bytes.
///
/// For tests. In production, use a `CostMeter`.
///
/// [`Spy::bill`](crate::Spy::bill) returns it. Its text is the same for every run of the same requests, so a snapshot
/// test of it detects a change that adds requests. With the crate `insta`: `insta::assert_snapshot!(spy.bill())`.
///
/// - **rows**: the entities that were read or written. A request that was rejected or got no response counts none.
/// - **bytes**: the length of the bodies, without headers and URLs. A time counts as the 28 bytes of its longest form,
///   because the service omits trailing zeros.
/// - Requests are attempts: each retry counts.
///
/// ```
/// use azure_table::testing::Spy;
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let spy = Spy::new(Emulator::new());
/// let blogs = TableServiceClient::from_transport(spy.clone()).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// spy.clear();
///
/// for number in ["1", "2", "3"] {
///     blogs.insert(&DynamicEntity::new("Channel9", number)).await?;
/// }
/// let keys = blogs.query().partition("Channel9").keys().all().await?;
/// assert_eq!(keys.len(), 3);
/// assert_eq!(
///     spy.bill().to_string(),
///     "Insert: requests 3, rows 3, bytes sent 120, bytes received 0\n\
///      Query: requests 1, rows 3, bytes sent 0, bytes received 134"
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    lines: BTreeMap<String, Line>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Line {
    requests: u64,
    rows: u64,
    sent: u64,
    received: u64,
}

/// A request that was sent, until its response arrives.
pub(crate) struct Sent {
    kind: Option<OperationKind>,
    /// The number of operations in a batch; 1 for any other request.
    operations: u64,
}

impl Bill {
    /// Adds a request.
    pub(crate) fn send(&mut self, request: &Request<Bytes>) -> Sent {
        let inbound = Inbound::of(request);
        let kind = inbound.kind();
        let operations = match kind {
            Some(OperationKind::Batch) => inbound.batch().map_or(0, |batch| batch.operations.len() as u64),
            _ => 1,
        };
        let line = self.line(kind);
        line.requests += 1;
        line.sent += length(request.body());
        Sent { kind, operations }
    }

    /// Adds the response of a request.
    pub(crate) fn receive(&mut self, sent: &Sent, outcome: &Result<Response<Bytes>, TransportError>) {
        let Ok(response) = outcome else { return };
        let line = self.line(sent.kind);
        line.received += length(response.body());
        if response.status().is_success() {
            line.rows += rows(sent, response);
        }
    }

    fn line(&mut self, kind: Option<OperationKind>) -> &mut Line {
        self.lines.entry(name(kind)).or_default()
    }
}

/// Returns the number of rows that a successful request has read or written.
fn rows(sent: &Sent, response: &Response<Bytes>) -> u64 {
    #[derive(Deserialize)]
    struct Page {
        value: Vec<IgnoredAny>,
    }

    use OperationKind::{Batch, Delete, Get, Insert, InsertOrMerge, InsertOrReplace, Merge, Query, Replace};
    match sent.kind {
        Some(Batch) if batch_parts::part_error(response).is_some() => 0,
        Some(Query) => serde_json::from_slice(response.body()).map_or(0, |page: Page| page.value.len() as u64),
        Some(Batch | Get | Insert | Replace | Merge | InsertOrReplace | InsertOrMerge | Delete) => sent.operations,
        _ => 0,
    }
}

/// Returns the length of a body, in which each time has its longest form.
fn length(body: &[u8]) -> u64 {
    const MASK: &str = "{time}";
    const LONGEST: usize = "2026-01-31T12:00:00.1234567Z".len();
    let text = String::from_utf8_lossy(body);
    let masked = mask_times(&text);
    let times = masked.matches(MASK).count() - text.matches(MASK).count();
    (masked.len() + times * (LONGEST - MASK.len())) as u64
}

/// Writes one line for each kind, sorted by its name.
impl fmt::Display for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (kind, line)) in self.lines.iter().enumerate() {
            let Line {
                requests,
                rows,
                sent,
                received,
            } = line;
            let end = if number == 0 { "" } else { "\n" };
            write!(
                f,
                "{end}{kind}: requests {requests}, rows {rows}, bytes sent {sent}, bytes received {received}"
            )?;
        }
        Ok(())
    }
}
