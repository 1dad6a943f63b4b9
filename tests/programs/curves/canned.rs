//! A transport that answers from prepared bytes, so that only the client is measured.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, NoRetry, TableClient, TableEntity, TableServiceClient};
use azure_table_tests::canned::CONTOSO;
use bytes::Bytes;
use http::{Method, Request, Response};

/// Applies each write, and answers reads with one entity or one page. Each request is pending once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canned(Arc<State>);

#[derive(Debug, Default)]
struct State {
    entity: Mutex<Bytes>,
    /// The pages that queries receive in rotation.
    pages: Mutex<VecDeque<Bytes>>,
    /// The pages of the next query that are followed by another one.
    more_pages: AtomicUsize,
    sent: AtomicU64,
    requests: AtomicU64,
}

impl Canned {
    /// Returns a client with the profile of Storage that never retries.
    pub(crate) fn service(&self) -> TableServiceClient {
        let service = TableServiceClient::from_connection_string(CONTOSO).unwrap();
        service.transport(self.clone()).retry(NoRetry)
    }

    pub(crate) fn table<E: TableEntity>(&self) -> TableClient<E> {
        self.service().table("Things").unwrap()
    }

    /// Sets the response to a point read.
    pub(crate) fn set_entity(&self, entity: &impl TableEntity) {
        *self.0.entity.lock().unwrap() = json(entity).into();
    }

    /// Sets the rows of each page.
    pub(crate) fn set_page<E: TableEntity>(&self, rows: impl IntoIterator<Item = E>) {
        self.0.pages.lock().unwrap().clear();
        self.add_page(rows);
    }

    /// Adds a page with other rows: queries receive the pages in rotation.
    pub(crate) fn add_page<E: TableEntity>(&self, rows: impl IntoIterator<Item = E>) {
        let rows: Vec<String> = rows.into_iter().map(|row| json(&row)).collect();
        let page = format!(r#"{{"value":[{}]}}"#, rows.join(","));
        self.0.pages.lock().unwrap().push_back(page.into());
    }

    /// Sets the number of pages of the next query.
    pub(crate) fn set_pages(&self, pages: usize) {
        self.0.more_pages.store(pages - 1, Ordering::Relaxed);
    }

    /// Returns the bytes of a page.
    pub(crate) fn page_bytes(&self) -> usize {
        self.0.pages.lock().unwrap()[0].len()
    }

    /// Returns the bytes of all bodies so far.
    pub(crate) fn sent(&self) -> u64 {
        self.0.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }

    fn response(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let path = request.uri().path();
        let response = Response::builder();
        let body = match *request.method() {
            Method::GET if path.contains("(PartitionKey") => {
                let body = with_key(&self.0.entity.lock().unwrap(), path);
                let response = response.header("etag", "W/\"1\"").status(200);
                return response.body(body).unwrap();
            }
            Method::GET if path.ends_with("Tables") => Bytes::from_static(br#"{"value":[]}"#),
            Method::GET => {
                let mut pages = self.0.pages.lock().unwrap();
                pages.rotate_left(1);
                pages[pages.len() - 1].clone()
            }
            _ if path.ends_with("$batch") => {
                let operations = memchr::memmem::find_iter(request.body(), b" HTTP/1.1\r\n").count();
                let response = response
                    .status(202)
                    .header("content-type", "multipart/mixed; boundary=b");
                return response.body(applied(operations)).unwrap();
            }
            _ => {
                let response = response.status(204).header("etag", "W/\"1\"");
                return response.body(Bytes::new()).unwrap();
            }
        };
        let is_last = path.ends_with("Tables")
            || self
                .0
                .more_pages
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |more| more.checked_sub(1))
                .is_err();
        let response = if is_last {
            response
        } else {
            response
                .header("x-ms-continuation-NextPartitionKey", "partition")
                .header("x-ms-continuation-NextRowKey", "row")
        };
        response.status(200).body(body).unwrap()
    }
}

/// Returns the entity with the key of the request, which has the same length: the client rejects other keys.
fn with_key(entity: &[u8], path: &str) -> Bytes {
    let mut entity = entity.to_vec();
    for (requested, stored) in [("PartitionKey='", "\"PartitionKey\":\""), ("RowKey='", "\"RowKey\":\"")] {
        let (_, value) = path.split_once(requested).unwrap();
        let (value, _) = value.split_once('\'').unwrap();
        let at = memchr::memmem::find(&entity, stored.as_bytes()).unwrap() + stored.len();
        entity[at..at + value.len()].copy_from_slice(value.as_bytes());
    }
    entity.into()
}

/// Returns the response to a batch whose operations were applied.
fn applied(operations: usize) -> Bytes {
    let part = "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                HTTP/1.1 204 No Content\r\nETag: W/\"datetime'2026-11-20T10%3A00%3A00.1234567Z'\"\r\n\r\n\r\n";
    let head = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n";
    let mut body = String::with_capacity(head.len() + part.len() * operations + 20);
    body.push_str(head);
    for _ in 0..operations {
        body.push_str(part);
    }
    body.push_str("--c--\r\n--b--\r\n");
    body.into()
}

/// Returns the entity as the service would.
fn json(entity: &impl TableEntity) -> String {
    let row = DynamicEntity::from_entity(entity).unwrap();
    serde_json::to_string(&row).unwrap()
}

impl Transport for Canned {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            self.0.sent.fetch_add(request.body().len() as u64, Ordering::Relaxed);
            self.0.requests.fetch_add(1, Ordering::Relaxed);
            let response = self.response(&request);
            tokio::task::yield_now().await;
            Ok(response)
        })
    }
}
