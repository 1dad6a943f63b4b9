//! A client whose reads of several pages are interrupted: something happens before each further page.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, TableClient};
use azure_table_tests::promises::Place;
use bytes::Bytes;
use http::{Request, Response};

/// The number of queries that began at their first page.
#[derive(Clone, Default)]
pub(crate) struct Reads(Arc<AtomicU32>);

impl Reads {
    pub(crate) fn number(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns the table of the place, by a client that awaits `act` before each page but the first. `act` takes the number
/// of the read.
pub(crate) fn interrupted(
    place: &Place,
    act: impl Fn(u32) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> (TableClient, Reads) {
    let behind: Box<dyn Transport> = match place.try_emulator() {
        Some(emulator) => Box::new(emulator.clone()),
        #[cfg(feature = "suite")]
        None => Box::new(azure_table::transport::HttpTransport::builder().build().unwrap()),
        #[cfg(not(feature = "suite"))]
        None => unreachable!("other services need the feature `suite`"),
    };
    let reads = Reads::default();
    let interrupting = Interrupting {
        behind,
        reads: reads.clone(),
        act: Box::new(act),
    };
    let service = place.behind().transport(interrupting);
    let name = place.table_behind::<DynamicEntity>().name().clone();
    (service.dynamic_table(name).unwrap(), reads)
}

struct Interrupting {
    behind: Box<dyn Transport>,
    reads: Reads,
    act: Box<dyn Fn(u32) -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Transport for Interrupting {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let query = request.uri().query().unwrap_or_default();
            if query.contains("NextRowKey") {
                (self.act)(self.reads.number()).await;
            } else if query.contains("filter") {
                self.reads.0.fetch_add(1, Ordering::Relaxed);
            }
            self.behind.send(request).await
        })
    }
}

impl fmt::Debug for Interrupting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupting").finish_non_exhaustive()
    }
}
