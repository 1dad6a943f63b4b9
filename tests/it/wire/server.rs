//! A server that sends the same response to every request and records the requests.

use azure_table::{TableClient, TableServiceClient};
use http::{HeaderName, HeaderValue};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The headers of an insert, without those that [`headers`] leaves out.
pub(super) const WRITE: [&str; 5] = [
    "accept: application/json;odata=nometadata",
    "content-type: application/json",
    "dataserviceversion: 3.0",
    "prefer: return-no-content",
    "x-ms-version: 2019-02-02",
];

pub(super) struct Server(MockServer);

impl Server {
    /// Answers all requests alike.
    pub(super) async fn responding(response: ResponseTemplate) -> Self {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(response).mount(&server).await;
        Self(server)
    }

    /// Answers the requests one after the other.
    pub(super) async fn responding_in_turn(responses: impl IntoIterator<Item = ResponseTemplate>) -> Self {
        let server = MockServer::start().await;
        for response in responses {
            let once = Mock::given(any()).respond_with(response).up_to_n_times(1);
            once.mount(&server).await;
        }
        Self(server)
    }

    pub(super) fn service(&self) -> TableServiceClient {
        let connection_string = format!("AccountName=acct;AccountKey={KEY};TableEndpoint={}/acct", self.0.uri());
        TableServiceClient::from_connection_string(&connection_string).unwrap()
    }

    pub(super) fn table(&self) -> TableClient {
        self.service().dynamic_table("Things").unwrap()
    }

    /// Returns the requests so far.
    pub(super) async fn requests(&self) -> Vec<Request> {
        self.0.received_requests().await.unwrap()
    }

    /// Returns the only request so far.
    pub(super) async fn only_request(&self) -> Request {
        let mut requests = self.requests().await;
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests.remove(0)
    }

    pub(super) fn uri(&self) -> String {
        self.0.uri()
    }
}

/// `METHOD path?query`.
pub(super) fn line(request: &Request) -> String {
    let query = request.url.query().map(|q| format!("?{q}")).unwrap_or_default();
    format!("{} {}{query}", request.method, request.url.path())
}

/// Returns the other headers, sorted by name. Headers of the connection and the credential are left out after a check
/// that they are present.
pub(super) fn headers(request: &Request) -> Vec<String> {
    let text = |name: &str| request.headers[name].to_str().unwrap();
    let signature = text("authorization").strip_prefix("SharedKey acct:").unwrap();
    assert_eq!(signature.len(), 44, "{signature}");
    assert!(text("x-ms-date").ends_with(" GMT"));
    assert!(text("user-agent").starts_with("azure-table/"));
    assert!(!request.headers.contains_key("expect"));
    let id = text("x-ms-client-request-id");
    assert!(id.parse::<azure_table::Guid>().is_ok(), "{id}");
    let own = [
        "authorization",
        "x-ms-date",
        "x-ms-client-request-id",
        "user-agent",
        "host",
        "content-length",
    ];
    let others = request.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    let shown = |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
    let mut headers: Vec<_> = others.map(shown).collect();
    headers.sort();
    headers
}

pub(super) fn body(request: &Request) -> &str {
    std::str::from_utf8(&request.body).unwrap()
}

/// Asserts that a request is this batch. `BATCH` and `CHANGES` are its boundaries, `URI` is the server's address; lines
/// end with `\n` instead of `\r\n`.
#[track_caller]
pub(super) fn assert_batch(server: &Server, request: &Request, expected: &str) {
    assert_eq!(line(request), "POST /acct/$batch");
    let content_type = request.headers["content-type"].to_str().unwrap();
    let boundary = content_type.strip_prefix("multipart/mixed; boundary=").unwrap();
    let change_set = body(request).lines().nth(1).unwrap().split("boundary=").nth(1);
    let expected = expected
        .replace('\n', "\r\n")
        .replace("BATCH", boundary)
        .replace("CHANGES", change_set.unwrap_or_default())
        .replace("URI", &server.uri());
    assert_eq!(body(request), expected);
}
