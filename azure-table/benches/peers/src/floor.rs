//! The minimum for a careful author: a shared reqwest client, a key whose HMAC state is computed once, serde_json into
//! a plain struct.

use std::fmt::Write as _;
use std::ops::Range;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::stream::{self, StreamExt as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use memchr::{memchr, memmem};
use reqwest::{Method, Response};
use serde::Deserialize;
use sha2::Sha256;

use crate::order::{Plain, plain};
use crate::{ACCOUNT, BATCH, KEY, PAGE, Peer};

const JSON: &str = "application/json;odata=nometadata";

/// The client.
pub struct Floor {
    client: reqwest::Client,
    base: String,
    mac: Hmac<Sha256>,
    /// A batch reads the status and the ETag of each operation; otherwise it only counts the operations.
    reads_etags: bool,
    orders: Rc<[Plain]>,
}

#[derive(Deserialize)]
struct Page {
    value: Vec<Plain>,
}

impl Floor {
    /// Creates a client of the server at `address`.
    pub fn new(address: &str) -> Self {
        let key = STANDARD.decode(KEY).expect("the key is base64");
        Self {
            client: reqwest::Client::builder()
                .tcp_nodelay(true)
                .build()
                .expect("no TLS is asked for"),
            base: format!("http://{address}/{ACCOUNT}"),
            mac: Hmac::new_from_slice(&key).expect("a key has any length"),
            reads_etags: true,
            orders: (0..1_000 * BATCH).map(plain).collect(),
        }
    }

    /// Returns a client that only counts the operations of a batch. Both write the same orders in memory.
    pub fn counting(&self) -> Self {
        Self {
            client: self.client.clone(),
            base: self.base.clone(),
            mac: self.mac.clone(),
            reads_etags: false,
            orders: Rc::clone(&self.orders),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        query: &str,
        content_type: &str,
        body: Option<Vec<u8>>,
    ) -> Response {
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let mut mac = self.mac.clone();
        mac.update(format!("{method}\n\n{content_type}\n{date}\n/{ACCOUNT}/{ACCOUNT}/{path}").as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let mut request = self
            .client
            .request(method.clone(), format!("{}/{path}{query}", self.base))
            .header("Accept", JSON)
            .header("DataServiceVersion", "3.0")
            .header("x-ms-date", date)
            .header("x-ms-version", "2019-02-02")
            .header("Authorization", format!("SharedKey {ACCOUNT}:{signature}"));
        if let Some(body) = body {
            request = request
                .header("Content-Type", content_type)
                .header("Prefer", "return-no-content")
                .body(body);
        }
        if method == Method::PATCH {
            request = request.header("If-Match", "*");
        }
        request.send().await.expect("the server answers")
    }

    fn etag(&self, response: &Response) -> String {
        assert_eq!(response.status(), 204);
        response.headers()["etag"].to_str().expect("text").to_owned()
    }
}

impl Peer for Floor {
    async fn get(&self, n: usize) {
        let order = &self.orders[n];
        let path = format!("Things(PartitionKey='{}',RowKey='{}')", order.customer, order.number);
        let response = self.send(Method::GET, &path, "", "", None).await;
        assert_eq!(response.status(), 200);
        let body = response.bytes().await.expect("a body");
        let order: Plain = serde_json::from_slice(&body).expect("an order");
        assert_eq!(order.discount, 5);
    }

    async fn insert(&self, n: usize) {
        let body = serde_json::to_vec(&self.orders[n]).expect("JSON");
        let response = self
            .send(Method::POST, "Things", "", "application/json", Some(body))
            .await;
        self.etag(&response);
    }

    async fn merge(&self, n: usize) {
        let order = &self.orders[n];
        let path = format!("Things(PartitionKey='{}',RowKey='{}')", order.customer, order.number);
        let body = serde_json::to_vec(order).expect("JSON");
        let response = self
            .send(Method::PATCH, &path, "", "application/json", Some(body))
            .await;
        self.etag(&response);
    }

    async fn pages(&self, rows: usize) {
        let mut next = String::new();
        for _ in 0..rows / PAGE {
            let response = self.send(Method::GET, "Things()", &next, "", None).await;
            assert_eq!(response.status(), 200);
            if let Some(at) = response.headers().get("x-ms-continuation-NextPartitionKey") {
                next = format!("?NextPartitionKey={}", at.to_str().expect("text"));
            }
            let body = response.bytes().await.expect("a body");
            let page: Page = serde_json::from_slice(&body).expect("a page");
            for order in page.value {
                assert_eq!(order.discount, 5);
            }
        }
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
                self.base,
                entity.len()
            );
        }
        let _ = write!(body, "--{changes}--\r\n--{batch}--\r\n");
        let content_type = "multipart/mixed; boundary=batch_0";
        let response = self
            .send(Method::POST, "$batch", "", content_type, Some(body.into()))
            .await;
        assert_eq!(response.status(), 202);
        let response = response.bytes().await.expect("a body");
        if !self.reads_etags {
            assert_eq!(memmem::find_iter(&response, "HTTP/1.1 204").count(), orders.len());
            return;
        }
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
