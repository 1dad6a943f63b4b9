//! Programs with azure_core: another crate's client on our emulator, and this client with the program's options.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use azure_core::cloud::{Audiences, CloudConfiguration, CustomConfiguration};
use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::{Error as CoreError, ErrorKind as CoreKind};
use azure_core::http::headers::HeaderName;
use azure_core::http::pager::{Page, PagerContinuation, PagerResult, PagerState};
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{
    AsyncRawResponse, ClientOptions, Context, HttpClient, Method, Pager, Pipeline, RawResponse, Request, StatusCode,
    Transport as CoreTransport, Url,
};
use azure_table::auth::{AccountPermissions, AccountResources};
use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::transport::{AzureCoreTransport, TransportHttpClient};
use azure_table::{
    AccountSas, DateTime, DynamicEntity, Emulator, EntraCredential, ErrorKind, TableClient, TableServiceClient,
};
use azure_table_tests::canned::no_retry;
use azure_table_tests::errors::{assert_contains, assert_error};
use futures::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

#[derive(Serialize, Deserialize, Debug, PartialEq)]
#[serde(rename_all = "PascalCase")]
struct Reading {
    partition_key: String,
    row_key: String,
    celsius: f64,
}

#[derive(Deserialize)]
struct Readings {
    value: Vec<Reading>,
}

#[async_trait]
impl Page for Readings {
    type Item = Reading;
    type IntoIter = std::vec::IntoIter<Reading>;

    async fn into_items(self) -> azure_core::Result<Self::IntoIter> {
        Ok(self.value.into_iter())
    }
}

/// A client of another crate, written on azure_core's pipeline, with a shared access signature.
struct Sensors {
    pipeline: Pipeline,
    url: Url,
}

impl Sensors {
    fn new(url: Url, options: ClientOptions) -> Self {
        let pipeline = Pipeline::new(Some("sensors"), Some("0.1.0"), options, Vec::new(), Vec::new(), None);
        Self { pipeline, url }
    }

    fn request(&self, method: Method, path: &str) -> Request {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{path}", url.path()));
        let mut request = Request::new(url, method);
        request.insert_header("accept", "application/json;odata=nometadata");
        request.insert_header("x-ms-version", "2019-02-02");
        request
    }

    async fn send(&self, mut request: Request) -> azure_core::Result<RawResponse> {
        self.pipeline.send(&Context::new(), &mut request, None).await
    }

    async fn insert(&self, reading: &Reading) -> azure_core::Result<()> {
        let mut request = self.request(Method::Post, "Readings");
        request.insert_header("content-type", "application/json");
        request.insert_header("prefer", "return-no-content");
        request.set_json(reading)?;
        self.send(request).await.map(drop)
    }

    async fn get(&self, partition_key: &str, row_key: &str) -> azure_core::Result<Reading> {
        let path = format!("Readings(PartitionKey='{partition_key}',RowKey='{row_key}')");
        let response = self.send(self.request(Method::Get, &path)).await?;
        response.into_body().json()
    }

    fn query(&self, filter: &str) -> Pager<Readings> {
        const NEXT: [&str; 2] = ["NextPartitionKey", "NextRowKey"];
        let (pipeline, mut first) = (self.pipeline.clone(), self.request(Method::Get, "Readings()"));
        let mut parameters = first.url_mut().query_pairs_mut();
        parameters.append_pair("$filter", filter).append_pair("$top", "2");
        drop(parameters);
        Pager::new(
            move |state, options| {
                let (pipeline, mut request) = (pipeline.clone(), first.clone());
                Box::pin(async move {
                    if let PagerState::More(next) = state {
                        let next = next.as_ref().split_once('/').unwrap();
                        let mut parameters = request.url_mut().query_pairs_mut();
                        parameters.append_pair(NEXT[0], next.0).append_pair(NEXT[1], next.1);
                    }
                    let response = pipeline.send(&options.context, &mut request, None).await?;
                    let next = NEXT.map(|name| {
                        let name = HeaderName::from(format!("x-ms-continuation-{}", name.to_lowercase()));
                        response.headers().get_optional_string(&name)
                    });
                    let response = response.into();
                    Ok(match next {
                        [Some(partition_key), Some(row_key)] => PagerResult::More {
                            response,
                            continuation: PagerContinuation::Token(format!("{partition_key}/{row_key}")),
                        },
                        _ => PagerResult::Done { response },
                    })
                })
            },
            None,
        )
    }
}

/// Returns the other crate's client on this transport.
fn sensors(transport: impl azure_table::transport::Transport) -> Sensors {
    let service = TableServiceClient::from_transport(Emulator::new());
    let sas = AccountSas::new(
        AccountPermissions::READ | AccountPermissions::ADD,
        AccountResources::ENTITIES,
        DateTime::now() + Duration::from_secs(3_600),
    );
    let url = Url::parse(service.sas_url(&sas).unwrap().expose()).unwrap();
    let client = Arc::new(TransportHttpClient::new(transport));
    let transport = Some(CoreTransport::new(client));
    Sensors::new(
        url,
        ClientOptions {
            transport,
            ..ClientOptions::default()
        },
    )
}

fn reading(row_key: &str, celsius: f64) -> Reading {
    Reading {
        partition_key: "attic".to_owned(),
        row_key: row_key.to_owned(),
        celsius,
    }
}

fn emulator() -> Emulator {
    let emulator = Emulator::new();
    emulator.seed("Readings", [] as [DynamicEntity; 0]).unwrap();
    emulator
}

#[tokio::test(start_paused = true)]
async fn client_of_another_crate_runs_on_the_emulator() {
    let faults = Faults::new(emulator());
    let sensors = sensors(faults.clone());
    for (row_key, celsius) in [("1", 20.5), ("2", 21.0), ("3", 21.5)] {
        sensors.insert(&reading(row_key, celsius)).await.unwrap();
    }
    assert_eq!(sensors.get("attic", "2").await.unwrap(), reading("2", 21.0));
    let found: Vec<Reading> = sensors.query("PartitionKey eq 'attic'").try_collect().await.unwrap();
    assert_eq!(
        found.iter().map(|row| row.celsius).collect::<Vec<_>>(),
        [20.5, 21.0, 21.5]
    );

    let again = sensors.insert(&reading("1", 0.0)).await.unwrap_err();
    assert_eq!(again.http_status(), Some(StatusCode::Conflict));
    assert_contains(&again, "EntityAlreadyExists");

    // The response to an applied insert is lost. azure_core sends the insert again, after a wait on tokio's clock.
    faults.add(FaultRule::new(Fault::LoseResponse).first(1));
    let (real, paused) = (std::time::Instant::now(), Instant::now());
    let lost = sensors.insert(&reading("4", 22.0)).await.unwrap_err();
    assert_eq!(lost.http_status(), Some(StatusCode::Conflict), "it meets its own row");
    assert_eq!(sensors.get("attic", "4").await.unwrap(), reading("4", 22.0));
    assert!(paused.elapsed() > real.elapsed());
    faults.add(FaultRule::new(Fault::LoseRequest).first(1));
    sensors.insert(&reading("5", 22.5)).await.unwrap();
}

/// Counts its requests, and adds a header.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl Policy for Counting {
    async fn send(&self, context: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        self.0.fetch_add(1, Ordering::SeqCst);
        request.insert_header("x-counted", "yes");
        next[0].send(context, request, &next[1..]).await
    }
}

fn things(service: &TableServiceClient) -> TableClient<DynamicEntity> {
    service.dynamic_table("Readings").unwrap()
}

#[tokio::test]
async fn options_of_the_program_apply() {
    let spy = Spy::new(emulator());
    let [per_call, per_try] = [(); 2].map(|()| Arc::new(Counting::default()));
    let mut options = ClientOptions {
        per_call_policies: vec![Arc::clone(&per_call) as Arc<dyn Policy>],
        per_try_policies: vec![Arc::clone(&per_try) as Arc<dyn Policy>],
        ..ClientOptions::default()
    };
    options.user_agent.application_id = Some("weather".to_owned());
    let own = TableServiceClient::from_transport(spy.clone());
    let through_own = own.client_options(options.clone()).unwrap();
    things(&through_own)
        .insert(&DynamicEntity::new("p", "r"))
        .await
        .unwrap();
    options.transport = Some(CoreTransport::new(Arc::new(TransportHttpClient::new(spy.clone()))));
    let unconnected = TableServiceClient::from_connection_string("UseDevelopmentStorage=true").unwrap();
    let through_theirs = unconnected.client_options(options).unwrap();
    assert!(things(&through_theirs).get(("p", "r")).await.unwrap().is_some());
    for policy in [per_call, per_try] {
        assert_eq!(policy.0.load(Ordering::SeqCst), 2);
    }
    let exchanges = spy.exchanges();
    assert_eq!(exchanges.len(), 2);
    for exchange in exchanges {
        assert!(exchange.header("x-counted").is_some());
        assert!(exchange.header("user-agent").unwrap().starts_with("weather "));
    }
}

/// An HTTP client that fails with these kinds, without a response.
#[derive(Debug)]
struct Failing(CoreKind);

#[async_trait]
impl HttpClient for Failing {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let source = std::io::Error::other(format!("no route to {}", request.url()));
        Err(CoreError::with_error(self.0.clone(), source, "it failed"))
    }
}

#[tokio::test]
async fn failure_of_the_programs_client_leaves_a_write_in_doubt_and_shows_no_url() {
    for kind in [CoreKind::Connection, CoreKind::Io, CoreKind::Other] {
        let transport = AzureCoreTransport::from_client(Arc::new(Failing(kind)));
        let table = things(&TableServiceClient::from_transport(transport));
        let insert = table.insert(&DynamicEntity::new("p", "r"));
        let error = insert.with(&no_retry()).await.unwrap_err();
        assert_error(&error, ErrorKind::InDoubt, "the connection broke before");
        assert_contains(format!("{error:?}"), "no route to (a URL)");
        let read = table.get(("SECRET", "r")).with(&no_retry()).await.unwrap_err();
        assert_error(&read, ErrorKind::Connection, "");
        assert!(!format!("{read:?}").contains("no route to http"), "{read:?}");
    }
}

/// azure_core's own client follows no redirects, so a refused connection is certain.
#[tokio::test]
async fn refused_connection_of_azure_cores_own_client_sent_nothing() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let settings = "AccountName=acct;AccountKey=AAECAwQFBgc=;TableEndpoint=http://127.0.0.1:1/acct";
    let service = TableServiceClient::from_connection_string(settings).unwrap();
    let table = things(&service.transport(AzureCoreTransport::new()));
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    let error = insert.with(&no_retry()).await.unwrap_err();
    assert_error(&error, ErrorKind::Connection, "no connection to the service");
}

/// A token source that fails, and names the scope.
#[derive(Debug)]
struct NoToken;

#[async_trait]
impl TokenCredential for NoToken {
    async fn get_token(&self, scopes: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        Err(CoreError::with_message(CoreKind::Credential, scopes.join(" ")))
    }
}

/// Returns the scope that a client requests.
async fn scope(service: &TableServiceClient) -> String {
    let error = things(service).get(("p", "r")).await.unwrap_err();
    assert_error(&error, ErrorKind::Unauthenticated, "the token source failed");
    let text = error.to_string();
    let scope = text.split(' ').find(|word| word.contains("/.default")).unwrap();
    scope.trim_matches([':', '"']).to_owned()
}

#[tokio::test]
async fn token_source_is_a_credential_as_it_is() {
    let url = "https://tables.contoso.com";
    let shared: Arc<dyn TokenCredential> = Arc::new(NoToken);
    let service = TableServiceClient::new(url, Arc::clone(&shared)).unwrap();
    assert_eq!(scope(&service).await, "https://storage.azure.com/.default");
    let concrete = TableServiceClient::new(url, Arc::new(NoToken)).unwrap();
    assert_eq!(scope(&concrete).await, "https://storage.azure.com/.default");
    let in_cloud = |cloud: CloudConfiguration| {
        service.client_options(ClientOptions {
            cloud: Some(Arc::new(cloud)),
            ..ClientOptions::default()
        })
    };
    for (cloud, audience) in [
        (CloudConfiguration::AzurePublic, "https://storage.azure.com"),
        (CloudConfiguration::AzureChina, "https://storage.azure.cn"),
        (CloudConfiguration::AzureGovernment, "https://storage.azure.us"),
    ] {
        let service = in_cloud(cloud).unwrap();
        assert_eq!(scope(&service).await, format!("{audience}/.default"));
    }
    let mut custom = CustomConfiguration::default();
    let error = in_cloud(custom.clone().into()).unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "Audiences::with::<EntraCredential>");
    custom.audiences = Audiences::new().with::<EntraCredential>("https://storage.local".to_owned());
    let service = in_cloud(custom.into()).unwrap();
    assert_eq!(scope(&service).await, "https://storage.local/.default");
}
