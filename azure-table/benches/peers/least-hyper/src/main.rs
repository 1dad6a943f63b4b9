//! The least code on hyper and rustls.

#[path = "../../least/src/least.rs"]
mod least;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use least::{Http, Least};

impl Http for Client<HttpsConnector<HttpConnector>, Full<Bytes>> {
    type Body = Incoming;

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Option<Vec<u8>>,
    ) -> (StatusCode, HeaderMap, Incoming) {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.unwrap_or_default())).expect("a request");
        let (head, body) = self.request(request).await.expect("a response").into_parts();
        (head.status, head.headers, body)
    }

    async fn read(body: Incoming) -> Bytes {
        body.collect().await.expect("a body").to_bytes()
    }
}

fn main() {
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    http.enforce_http(false);
    let builder = HttpsConnectorBuilder::new().with_native_roots();
    let connector = builder
        .expect("certificates")
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    work::run(|endpoint, orders| Least::new(client, endpoint, orders));
}
