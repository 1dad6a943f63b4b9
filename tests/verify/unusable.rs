//! Accounts that cannot be used, and cleanups of another account: little is sent, and nothing is lost.

use std::path::Path;
use std::sync::{Arc, Mutex};

use azure_table::Emulator;
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};

use crate::account::Account;
use crate::options::{Given, Options};
use crate::run::Exit;
use crate::sas;
use crate::service::{ACCOUNT, COSMOS, Folder, KEY, STORAGE, TOKEN, by_key, emulator, emulator_of_cosmos, run, verify};
use crate::stop::Stop;
use crate::tables::Tables;

/// The fate of the requests to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Reached,
    NoConnection,
    NoResponse,
    /// Tables cannot be deleted.
    NoDeletion,
}

/// Notes each request, and passes it on or not. Like a network, it does not know the service behind it.
#[derive(Clone, Debug)]
struct Network {
    behind: Emulator,
    reach: Reach,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Network {
    fn new(behind: Emulator, reach: Reach) -> Self {
        let requests = Arc::default();
        Self {
            behind,
            reach,
            requests,
        }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Transport for Network {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let line = format!("{} {}", request.method(), request.uri().path());
        self.requests.lock().unwrap().push(line);
        match self.reach {
            Reach::NoDeletion if request.method() == Method::DELETE => {
                let body = r#"{"odata.error":{"code":"AuthorizationPermissionMismatch","message":{"lang":"en-US","value":"No."}}}"#;
                let mut response = Response::new(Bytes::from_static(body.as_bytes()));
                *response.status_mut() = StatusCode::FORBIDDEN;
                Box::pin(std::future::ready(Ok(response)))
            }
            Reach::Reached | Reach::NoDeletion => self.behind.send(request),
            Reach::NoConnection => {
                let error = TransportError::new(Delivery::NothingSent, "connection refused");
                Box::pin(std::future::ready(Err(error)))
            }
            Reach::NoResponse => Box::pin(std::future::pending()),
        }
    }
}

/// Runs the program on an account that cannot be used. Returns the reason, the output, and the file of tables.
async fn rejected(given: Given, network: &Network) -> (String, String, Option<String>) {
    let folder = Folder::new();
    let file = folder.path().join("tables");
    let mut options = Options::new(given);
    options.yes = true;
    options.tables = Some(file.clone());
    let (ran, output, _) = run(&options, network.clone(), &Stop::default()).await;
    assert_eq!(Exit::of(&ran), Exit::Usage, "{output}");
    let Err(why) = ran else { panic!("it ran: {output}") };
    for secret in [ACCOUNT, KEY, TOKEN] {
        assert!(!why.contains(secret), "{why}");
    }
    assert_eq!(why.lines().count(), 1, "{why}");
    (why, output, std::fs::read_to_string(file).ok())
}

#[tokio::test]
async fn rejected_credential_stops_the_run_after_one_request() {
    let wrong_key = format!("AccountName={ACCOUNT};AccountKey=d3Jvbmc=;TableEndpoint={STORAGE}");
    let wrong_token = Given::Token {
        endpoint: STORAGE.to_owned(),
        token: "wrong".to_owned(),
    };
    for (given, remedy) in [
        (Given::ConnectionString(wrong_key), "check the account name and the key"),
        (wrong_token, "check the token"),
    ] {
        let network = Network::new(emulator(), Reach::Reached);
        let (why, _, file) = rejected(given, &network).await;
        assert!(why.contains("the service answered 40") && why.contains(remedy), "{why}");
        assert_eq!(network.requests(), ["POST /Tables"]);
        assert_eq!(file, None);
    }
}

// The waits of the client take no time.
#[tokio::test(start_paused = true)]
async fn unreachable_service_stops_the_run_within_a_minute() {
    for (reach, may_be_left) in [(Reach::NoConnection, false), (Reach::NoResponse, true)] {
        let network = Network::new(emulator(), reach);
        let started = tokio::time::Instant::now();
        let (why, output, file) = rejected(by_key(STORAGE), &network).await;
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
        assert!(why.contains("check the address of the account"), "{why}");
        // The service may have created the table of a request without a response.
        assert_eq!(file.is_some(), may_be_left, "{reach:?}: {file:?}");
        assert_eq!(output.contains("--cleanup"), may_be_left, "{output}");
    }
}

// The waits of the cleanup take no time.
#[tokio::test(start_paused = true)]
async fn credential_that_cannot_delete_leaves_one_table_and_names_it() {
    let network = Network::new(emulator(), Reach::NoDeletion);
    let (why, output, file) = rejected(by_key(STORAGE), &network).await;
    assert!(why.contains("delete table") && why.contains("its permissions"), "{why}");
    assert!(
        output.contains("is not deleted: 403") && output.contains("--cleanup"),
        "{output}"
    );
    let left: Vec<_> = network.behind.tables().into_iter().map(|table| table.name).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(file.unwrap().contains(&left[0]));
}

fn account_sas(services: &str, types: &str, permissions: &str) -> Given {
    let fields = [
        ("sv", "2019-02-02"),
        ("ss", services),
        ("srt", types),
        ("sp", permissions),
        ("se", "2099-01-01T00:00:00Z"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let token = sas::signed(&fields, ACCOUNT, KEY);
    Given::ConnectionString(format!("TableEndpoint={STORAGE};SharedAccessSignature={token}"))
}

#[tokio::test]
async fn signature_without_a_needed_permission_is_rejected_by_name() {
    for (services, types, permissions, missing) in [
        ("b", "sco", "rwdlacu", "ss=t"),
        ("t", "so", "rwdlacu", "the resource type c (container, for tables)"),
        ("t", "sc", "rwdlacu", "the resource type o (object, for entities)"),
        ("t", "co", "wdlacu", "the permission r (read)"),
        ("t", "co", "rwlacu", "the permission d (delete)"),
        ("t", "co", "rwdacu", "the permission l (list)"),
        ("t", "co", "rwdlcu", "the permission a (add)"),
        ("t", "co", "rwdlac", "the permission u (update)"),
        ("t", "co", "rdlau", "the permission c (create)"),
        (
            "t",
            "c",
            "rl",
            "type o (object, for entities) and the permission a (add), u (update), d (delete), c (create)",
        ),
    ] {
        let network = Network::new(emulator(), Reach::Reached);
        let (why, ..) = rejected(account_sas(services, types, permissions), &network).await;
        assert!(why.contains(missing), "{missing}: {why}");
        assert_eq!(network.requests(), [""; 0]);
    }
}

#[tokio::test]
async fn signature_with_the_needed_permissions_is_sufficient() {
    for permissions in ["rdlacu", "rwdlau"] {
        let ran = verify(Options::new(account_sas("t", "co", permissions)), emulator()).await;
        assert_eq!(ran.exit, Exit::NoDifference, "{permissions}: {}", ran.output);
    }
}

#[tokio::test]
async fn existing_file_of_tables_is_kept() {
    let folder = Folder::new();
    let file = folder.path().join("tables");
    std::fs::write(&file, "kept").unwrap();
    let mut options = Options::new(by_key(STORAGE));
    options.only = "$select".to_owned();
    options.yes = true;
    options.tables = Some(file.clone());
    let network = Network::new(emulator(), Reach::Reached);
    let (ran, ..) = run(&options, network.clone(), &Stop::default()).await;
    let Err(why) = ran else { panic!("it ran") };
    assert!(why.contains("choose another --tables"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    assert_eq!(network.requests(), [""; 0]);
}

/// Writes the file of a killed run on the account of these tests: tables that exist, one that does not, and properties.
fn killed_run(file: &Path, existing: &str) {
    let tables = Tables::create(file, STORAGE).unwrap();
    for name in [existing, "verify0missing"] {
        tables.add(name).unwrap();
    }
    tables
        .set_properties(Some("<StorageServiceProperties />".to_owned()))
        .unwrap();
}

#[tokio::test]
async fn cleanup_of_another_account_sends_nothing_and_keeps_the_file() {
    let folder = Folder::new();
    let file = folder.path().join("tables");
    killed_run(&file, "verify0a");
    let before = std::fs::read_to_string(&file).unwrap();
    for other in [
        "https://other.table.core.windows.net",
        COSMOS,
        "http://127.0.0.1:10002/contoso",
    ] {
        let mut options = Options::new(Given::ConnectionString(format!(
            "AccountName={};AccountKey={KEY};TableEndpoint={other}",
            if other.contains("other") { "other" } else { ACCOUNT }
        )));
        options.cleanup = Some(file.clone());
        let network = Network::new(emulator(), Reach::Reached);
        let (ran, ..) = run(&options, network.clone(), &Stop::default()).await;
        let Err(why) = ran else { panic!("it ran for {other}") };
        assert!(why.contains("another account"), "{why}");
        assert_eq!(network.requests(), [""; 0]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
    assert!(before.contains("--example verify -- --cleanup") && before.contains(file.to_str().unwrap()));
    assert!(
        before.contains("AZURE_STORAGE_CONNECTION_STRING") && !before.contains(ACCOUNT),
        "{before}"
    );
}

#[tokio::test]
async fn cleanup_counts_tables_that_do_not_exist_apart() {
    let (folder, emulator) = (Folder::new(), emulator());
    let file = folder.path().join("tables");
    killed_run(&file, "verify0a");
    emulator
        .seed_lines(ACCOUNT, "verify0a", r#"{"PartitionKey":"p","RowKey":"r"}"#)
        .unwrap();
    // The default port is the same address.
    let mut options = Options::new(by_key("https://contoso.table.core.windows.net:443/"));
    options.cleanup = Some(file.clone());
    let (ran, output, _) = run(&options, emulator.clone(), &Stop::default()).await;
    assert_eq!(Exit::of(&ran), Exit::NoDifference, "{output}");
    let counts = "tables deleted at the end: 1, not found: 1; none is left";
    assert!(output.contains(counts), "{output}");
    assert_eq!(emulator.tables(), []);
    assert!(!file.exists());
}

/// Removes the folder of the file of tables at the first request of the cleanup.
#[derive(Clone, Debug)]
struct LostFolder {
    behind: Emulator,
    folder: Arc<Folder>,
}

impl Transport for LostFolder {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        if request.method() == Method::DELETE && request.uri().path().contains("probes") {
            std::fs::remove_dir_all(self.folder.path()).unwrap();
        }
        self.behind.send(request)
    }
}

#[tokio::test]
async fn report_is_printed_before_a_cleanup_that_fails() {
    let service = LostFolder {
        behind: emulator(),
        folder: Arc::new(Folder::new()),
    };
    let mut options = Options::new(by_key(STORAGE));
    options.only = "$select=*".to_owned();
    options.yes = true;
    options.tables = Some(service.folder.path().join("tables"));
    let (ran, output, _) = run(&options, service, &Stop::default()).await;
    assert!(ran.is_err());
    assert!(output.contains("Lines of unknowns.md: 1 confirmed"), "{output}");
}

#[test]
fn hosts_of_live_accounts_are_known() {
    let is_live = |endpoint: &str| {
        let given = Given::ConnectionString(format!(
            "AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint}"
        ));
        Account::new(&given, false).unwrap().is_live
    };
    for endpoint in [
        STORAGE,
        COSMOS,
        "https://contoso.table.core.chinacloudapi.cn",
        "https://contoso.table.core.usgovcloudapi.net",
        "https://contoso.z13.table.storage.azure.net",
        "https://contoso.privatelink.table.core.windows.net",
        "https://contoso.table.cosmos.azure.cn",
        "https://contoso.table.cosmos.azure.us",
        "https://tables.contoso.com",
    ] {
        assert!(is_live(endpoint), "{endpoint}");
    }
    for endpoint in [
        "http://127.0.0.1:10002/contoso",
        "http://192.168.0.7:10002/contoso",
        "http://[::1]:10002/contoso",
        "http://localhost:10002/contoso",
        "http://contoso.table.localhost:10002",
        "http://azurite:10002/contoso",
        "http://host.docker.internal:10002/contoso",
    ] {
        assert!(!is_live(endpoint), "{endpoint}");
    }
}

#[tokio::test]
async fn cosmos_at_a_local_address_is_compared_with_its_own_emulator() {
    let network = Network::new(emulator_of_cosmos(), Reach::Reached);
    let mut options = Options::new(by_key("http://127.0.0.1:8902/contoso"));
    options.cosmos = true;
    let ran = verify(options, network).await;
    assert!(
        ran.output
            .contains("Cosmos DB for Table with an account key, not a live account")
    );
    assert_eq!(ran.exit, Exit::NoDifference, "{}", ran.output);
}
