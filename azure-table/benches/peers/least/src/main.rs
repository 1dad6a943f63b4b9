//! The least code on reqwest and rustls.

mod least;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use least::{Http, Least};
use reqwest::{Client, Response};

impl Http for Client {
    type Body = Response;

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Option<Vec<u8>>,
    ) -> (StatusCode, HeaderMap, Response) {
        let mut request = self.request(method, url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let mut response = request.send().await.expect("a response");
        let headers = std::mem::take(response.headers_mut());
        (response.status(), headers, response)
    }

    async fn read(response: Response) -> Bytes {
        response.bytes().await.expect("a body")
    }
}

fn main() {
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().expect("no other provider");
    let client = Client::new();
    work::run(|endpoint, orders| Least::new(client, endpoint, orders));
}
