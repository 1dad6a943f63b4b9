//! The bytes that a bulk holds: operations without a response, and the bodies in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, TableOperation, TableServiceClient};
use azure_table_tests::canned::CONTOSO;
use bytes::Bytes;
use futures::stream;
use http::{Request, Response};

/// Applies every batch after 50 ms, and counts the bytes held.
#[derive(Clone, Debug, Default)]
struct Counted {
    read: Arc<AtomicUsize>,
    responded: Arc<AtomicUsize>,
    in_flight: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Counted {
    /// Counts the bytes held now: operations without a response, and the bodies in flight.
    fn count(&self) {
        let waiting = self.read.load(Ordering::Relaxed) - self.responded.load(Ordering::Relaxed);
        self.most
            .fetch_max(waiting + self.in_flight.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Transport for Counted {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let bytes = request.body().len();
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.in_flight.fetch_add(bytes, Ordering::Relaxed);
            self.count();
            tokio::time::sleep(Duration::from_millis(50)).await;
            let body = str::from_utf8(request.body()).unwrap();
            let operations = body.lines().filter(|line| line.ends_with(" HTTP/1.1")).count();
            self.in_flight.fetch_sub(bytes, Ordering::Relaxed);
            // A little more than the operations themselves.
            let read = self.read.load(Ordering::Relaxed);
            self.responded
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some((n + bytes).min(read)))
                .unwrap();
            if operations == 0 {
                return Ok(Response::builder()
                    .status(204)
                    .header("etag", "W/\"1\"")
                    .body(Bytes::new())
                    .unwrap());
            }
            let part = "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                        HTTP/1.1 204 No Content\r\nETag: W/\"1\"\r\n\r\n\r\n";
            let parts = format!(
                "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{}--c--\r\n--b--\r\n",
                part.repeat(operations)
            );
            let response = Response::builder()
                .status(202)
                .header("content-type", "multipart/mixed; boundary=b");
            Ok(response.body(parts.into()).unwrap())
        })
    }
}

/// Rows of about 900 KB, 60 KB and 300 bytes, in the order of their partitions and in another order.
#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn bulk_holds_64_mib_whatever_the_size_of_its_rows() {
    for (properties, rows, least_batches) in [(14, 120_usize, 30), (1, 1_800, 28), (0, 3_000, 30)] {
        for partitions in [1, 7] {
            let counted = Counted::default();
            let service = TableServiceClient::from_connection_string(CONTOSO).unwrap();
            let table = service.transport(counted.clone()).dynamic_table("Things").unwrap();
            let text = "é".repeat(32_000);
            let seen = counted.clone();
            let source = (0..rows).map(move |n| {
                let mut row = DynamicEntity::new(format!("p{}", n % partitions), format!("{n:05}"));
                for property in 0..properties {
                    row.insert(format!("V{property}"), text.as_str());
                }
                seen.read.fetch_add(properties * text.len(), Ordering::Relaxed);
                seen.count();
                TableOperation::insert(&row)
            });
            let report = table.bulk().write_stream(stream::iter(source)).await.unwrap();
            assert_eq!(report.applied(), rows as u64);
            let most = counted.most.load(Ordering::Relaxed);
            println!("{properties} {partitions}: {} MiB", most >> 20);
            assert!(
                most <= (64 << 20) + (1 << 20),
                "{properties} {partitions}: {most} bytes"
            );
            // Batches are still as full as possible.
            let requests = counted.requests.load(Ordering::Relaxed);
            assert!(
                requests <= least_batches * 5 / 4 + partitions,
                "{properties} {partitions}: {requests} batches"
            );
        }
    }
}
