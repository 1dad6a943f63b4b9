//! A server that sends the same response to every request and records the requests.

use azure_table::TableServiceClient;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

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
            Mock::given(any())
                .respond_with(response)
                .up_to_n_times(1)
                .mount(&server)
                .await;
        }
        Self(server)
    }

    pub(super) fn service(&self) -> TableServiceClient {
        let connection_string = format!("AccountName=acct;AccountKey={KEY};TableEndpoint={}/acct", self.0.uri());
        TableServiceClient::from_connection_string(&connection_string).unwrap()
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
    let authorization = request.headers["authorization"].to_str().unwrap();
    let signature = authorization.strip_prefix("SharedKey acct:").unwrap();
    assert_eq!(signature.len(), 44, "{signature}");
    assert!(request.headers["x-ms-date"].to_str().unwrap().ends_with(" GMT"));
    assert!(
        request.headers["user-agent"]
            .to_str()
            .unwrap()
            .starts_with("azure-table/")
    );
    assert!(!request.headers.contains_key("expect"));
    let id = request.headers["x-ms-client-request-id"].to_str().unwrap();
    assert!(id.parse::<azure_table::Guid>().is_ok(), "{id}");
    let own = [
        "authorization",
        "x-ms-date",
        "x-ms-client-request-id",
        "user-agent",
        "host",
        "content-length",
    ];
    let mut headers: Vec<_> = request
        .headers
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    headers.sort();
    headers
}

pub(super) fn body(request: &Request) -> &str {
    std::str::from_utf8(&request.body).unwrap()
}
