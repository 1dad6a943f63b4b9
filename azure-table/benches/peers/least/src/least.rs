//! The minimum for a careful author: a shared HTTP client, a key whose HMAC state is computed once, serde_json into a
//! plain struct.

use std::fmt::Write as _;
use std::future::Future;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, Method, StatusCode};
use memchr::{memchr, memmem};
use serde::Deserialize;
use sha2::Sha256;
use work::order::Plain;
use work::{ACCOUNT, BATCH, KEY, PAGE, Peer};

const JSON: &str = "application/json;odata=nometadata";

/// An HTTP client.
pub trait Http {
    /// A body that is not read yet.
    type Body;

    /// Sends a request.
    fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Option<Vec<u8>>,
    ) -> impl Future<Output = (StatusCode, HeaderMap, Self::Body)>;

    /// Reads a body.
    fn read(body: Self::Body) -> impl Future<Output = Bytes>;
}

/// The client.
pub struct Least<H> {
    http: H,
    endpoint: String,
    mac: Hmac<Sha256>,
    orders: Vec<Plain>,
}

#[derive(Deserialize)]
struct Page {
    value: Vec<Plain>,
}

impl<H: Http> Least<H> {
    pub fn new(http: H, endpoint: &str, orders: Vec<Plain>) -> Self {
        let key = STANDARD.decode(KEY).expect("the key is base64");
        Self {
            http,
            endpoint: endpoint.to_owned(),
            mac: Hmac::new_from_slice(&key).expect("a key has any length"),
            orders,
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        query: &str,
        content_type: &str,
        body: Option<Vec<u8>>,
    ) -> (StatusCode, HeaderMap, H::Body) {
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let mut mac = self.mac.clone();
        mac.update(format!("{method}\n\n{content_type}\n{date}\n/{ACCOUNT}/{ACCOUNT}/{path}").as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let authorization = format!("SharedKey {ACCOUNT}:{signature}");
        let headers = [
            ("Accept", JSON),
            ("DataServiceVersion", "3.0"),
            ("x-ms-date", date.as_str()),
            ("x-ms-version", "2019-02-02"),
            ("Authorization", authorization.as_str()),
            ("Content-Type", content_type),
            ("Prefer", "return-no-content"),
            ("If-Match", "*"),
        ];
        // The first ones only for a read, all of them for a merge.
        let count = if body.is_none() {
            5
        } else if method == Method::PATCH {
            8
        } else {
            7
        };
        let url = format!("{}/{path}{query}", self.endpoint);
        self.http.send(method, &url, &headers[..count], body).await
    }

    async fn pages_of(&self, table: &str, rows: usize) {
        let mut next = String::new();
        for _ in 0..rows / PAGE {
            let (status, headers, body) = self.send(Method::GET, table, &next, "", None).await;
            assert_eq!(status, 200);
            if let Some(at) = headers.get("x-ms-continuation-NextPartitionKey") {
                next = format!("?NextPartitionKey={}", at.to_str().expect("text"));
            }
            let page: Page = serde_json::from_slice(&H::read(body).await).expect("a page");
            for order in page.value {
                assert_eq!(order.discount, 5);
            }
        }
    }

    async fn write(&self, method: Method, path: &str, order: &Plain) {
        let body = serde_json::to_vec(order).expect("JSON");
        let (status, headers, _) = self.send(method, path, "", "application/json", Some(body)).await;
        assert_eq!(status, 204);
        let _etag: String = headers["etag"].to_str().expect("text").to_owned();
    }
}

impl<H: Http> Peer for Least<H> {
    async fn get(&self, n: usize) {
        let path = address(&self.orders[n]);
        let (status, _, body) = self.send(Method::GET, &path, "", "", None).await;
        assert_eq!(status, 200);
        let order: Plain = serde_json::from_slice(&H::read(body).await).expect("an order");
        assert_eq!(order.discount, 5);
    }

    async fn insert(&self, n: usize) {
        self.write(Method::POST, "Things", &self.orders[n]).await;
    }

    async fn merge(&self, n: usize) {
        let order = &self.orders[n];
        self.write(Method::PATCH, &address(order), order).await;
    }

    async fn pages(&self, rows: usize) {
        self.pages_of("Things()", rows).await;
    }

    async fn sparse_pages(&self, rows: usize) -> bool {
        self.pages_of("Sparse()", rows).await;
        true
    }

    async fn rows(&self, rows: usize) {
        self.pages(rows).await;
    }

    async fn batch(&self, orders: Range<usize>) {
        let orders = &self.orders[orders];
        let (batch, changes) = ("batch_0", "changeset_1");
        let mut body = String::with_capacity(orders.len() * 900);
        let _ = write!(
            body,
            "--{batch}\r\nContent-Type: multipart/mixed; boundary={changes}\r\n\r\n"
        );
        for order in orders {
            let entity = serde_json::to_string(order).expect("JSON");
            let _ = write!(
                body,
                "--{changes}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 POST {}/Things HTTP/1.1\r\nAccept: {JSON}\r\nDataServiceVersion: 3.0\r\n\
                 Content-Type: application/json\r\nPrefer: return-no-content\r\nContent-Length: {}\r\n\r\n{entity}\r\n",
                self.endpoint,
                entity.len()
            );
        }
        let _ = write!(body, "--{changes}--\r\n--{batch}--\r\n");
        let content_type = "multipart/mixed; boundary=batch_0";
        let (status, _, body) = self
            .send(Method::POST, "$batch", "", content_type, Some(body.into()))
            .await;
        assert_eq!(status, 202);
        let response = H::read(body).await;
        let results = memmem::find_iter(&response, "HTTP/1.1 ").map(|at| {
            let part = &response[at + "HTTP/1.1 ".len()..];
            let etag = &part[memmem::find(part, b"ETag: ").expect("an ETag") + "ETag: ".len()..];
            let etag = &etag[..memchr(b'\r', etag).expect("a line")];
            let status: u16 = std::str::from_utf8(&part[..3])
                .expect("text")
                .parse()
                .expect("a number");
            (status, std::str::from_utf8(etag).expect("text").to_owned())
        });
        let results: Vec<(u16, String)> = results.collect();
        assert_eq!(results.len(), orders.len());
        assert!(results.iter().all(|(status, _)| *status == 204));
    }

    async fn bulk(&self, orders: usize) -> bool {
        let batches = stream::iter((0..orders).step_by(BATCH)).map(|first| self.batch(first..first + BATCH));
        batches.buffer_unordered(8).collect::<()>().await;
        true
    }
}

fn address(order: &Plain) -> String {
    format!("Things(PartitionKey='{}',RowKey='{}')", order.customer, order.number)
}
