//! Accounts that cannot be used, and cleanups of another account: little is sent, and nothing is lost.

use std::path::Path;
use std::sync::{Arc, Mutex};

use azure_table::Emulator;
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};

use super::service::{
    ACCOUNT, COSMOS, Folder, KEY, STORAGE, TOKEN, account_sas, account_sas_of, by_key, by_sas, emulator,
    emulator_of_cosmos, run, verify,
};
use crate::comparison::options::Options;
use crate::comparison::run::Ran;
use crate::service::account::Account;
use crate::service::account::Given;
use crate::service::output::Exit;
use crate::service::stop::Stop;
use crate::service::tables::Tables;

/// The fate of the requests to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Reached,
    NoConnection,
    NoResponse,
    /// Tables cannot be deleted.
    NoDeletion,
    /// The service creates tables, and responds with a failure.
    Failed,
    /// The service creates tables, and its responses are lost.
    LostCreation,
    /// The service creates no table.
    Throttled,
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
        let is_creation = request.method() == Method::POST;
        let is_deletion = request.method() == Method::DELETE;
        Box::pin(async move {
            match self.reach {
                Reach::NoConnection => Err(TransportError::new(Delivery::NothingSent, "connection refused")),
                Reach::NoResponse => std::future::pending().await,
                Reach::NoDeletion if is_deletion => Ok(not_permitted()),
                Reach::Throttled if is_creation => Ok(rejection(503, "ServerBusy")),
                Reach::Failed if is_creation => {
                    self.behind.send(request).await?;
                    Ok(rejection(500, "InternalError"))
                }
                Reach::LostCreation if is_creation => {
                    let response = self.behind.send(request).await?;
                    let lost = TransportError::new(Delivery::MaybeSent, "connection reset");
                    // The table exists at the second attempt.
                    (!response.status().is_success()).then_some(response).ok_or(lost)
                }
                _ => self.behind.send(request).await,
            }
        })
    }
}

fn not_permitted() -> Response<Bytes> {
    rejection(403, "AuthorizationPermissionMismatch")
}

fn rejection(status: u16, code: &str) -> Response<Bytes> {
    let message = serde_json::json!({"lang": "en-US", "value": "No."});
    let error = serde_json::json!({"odata.error": {"code": code, "message": message}});
    let mut response = Response::new(Bytes::from(error.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Runs the program on an account that cannot be used. Returns the reason, the output, and the file of tables, which
/// the output names if it is left.
async fn rejected(given: Given, network: &Network) -> (String, String, Option<String>) {
    let folder = Folder::new();
    // An absolute path has no dot, so the output shows if it contains the path as it was given.
    let file = folder.path().join(".").join("tables");
    let mut options = Options::new(given);
    options.common.yes = true;
    options.common.tables = Some(file.clone());
    let (ran, output, _) = run(&options, network.clone(), &Stop::default()).await;
    assert_eq!(Exit::of(&ran), Exit::Usage, "{output}");
    let Err(why) = ran else { panic!("it ran: {output}") };
    for secret in [ACCOUNT, KEY, TOKEN] {
        assert!(!why.contains(secret), "{why}");
    }
    assert_eq!(why.lines().count(), 1, "{why}");
    let remedy = format!("delete the rest with --cleanup {}\n", file.display());
    assert_eq!(output.contains(&remedy), file.exists(), "{output}");
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
        let (why, _, file) = rejected(by_key(STORAGE), &network).await;
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
        assert!(why.contains("check the address of the account"), "{why}");
        // The service may have created the table of a request without a response.
        assert_eq!(file.is_some(), may_be_left, "{reach:?}: {file:?}");
    }
}

// The waits of the client take no time.
#[tokio::test(start_paused = true)]
async fn table_of_a_failed_check_is_deleted_if_the_service_responds() {
    for (reach, remedy) in [
        (Reach::Failed, "start the run again later"),
        (Reach::LostCreation, "; start the run again"),
        (Reach::Throttled, "start the run again later"),
    ] {
        let network = Network::new(emulator(), reach);
        let (why, output, file) = rejected(by_key(STORAGE), &network).await;
        assert!(why.ends_with(remedy), "{reach:?}: {why}");
        assert!(output.ends_with("none is left\n"), "{reach:?}: {output}");
        assert_eq!((file, network.behind.tables()), (None, Vec::new()), "{reach:?}");
    }
}

// The waits of the cleanup take no time.
#[tokio::test(start_paused = true)]
async fn credential_that_cannot_delete_leaves_one_table_and_names_it() {
    let network = Network::new(emulator(), Reach::NoDeletion);
    let (why, output, file) = rejected(by_key(STORAGE), &network).await;
    assert!(why.contains("delete table") && why.contains("its permissions"), "{why}");
    assert!(output.contains("is not deleted: 403"), "{output}");
    let left: Vec<_> = network.behind.tables().into_iter().map(|table| table.name).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(file.unwrap().contains(&left[0]));
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
        let given = by_sas(&account_sas(services, types, permissions));
        let (why, ..) = rejected(given, &network).await;
        assert!(why.contains(missing), "{missing}: {why}");
        assert_eq!(network.requests(), [""; 0]);
    }
}

#[tokio::test]
async fn signature_with_the_needed_permissions_is_sufficient() {
    for permissions in ["rdlacu", "rwdlau"] {
        let given = by_sas(&account_sas("t", "co", permissions));
        let ran = verify(Options::new(given), emulator()).await;
        assert_eq!(ran.exit, Exit::NoDifference, "{permissions}: {}", ran.output);
    }
}

#[tokio::test]
async fn signature_of_a_version_with_encryption_scope_is_compared() {
    let token = account_sas_of("2022-11-02", "t", "co", "rdlacu");
    let mut options = Options::new(by_sas(&token));
    options.common.only = "$select=*".to_owned();
    let ran = verify(options, emulator()).await;
    assert_eq!(ran.exit, Exit::NoDifference, "{}", ran.output);
    assert!(
        ran.output.contains("Lines of unknowns.md: 1 confirmed"),
        "{}",
        ran.output
    );
}

#[tokio::test]
async fn run_without_anything_to_compare_is_not_started() {
    let expired = account_sas("t", "co", "rdlacu");
    let expired = crate::service::sas::fields(&expired)
        .into_iter()
        .map(|(name, value)| match name.as_str() {
            "se" => (name, "2020-01-01T00:00:00Z".to_owned()),
            _ => (name, value),
        });
    let expired = crate::service::sas::signed(&expired.collect::<Vec<_>>(), ACCOUNT, KEY);
    for (given, only, reason) in [
        (
            by_key(STORAGE),
            "a service property that does not exist",
            "--change-properties",
        ),
        (by_sas(&expired), "$select=*", "the emulator beside the account"),
    ] {
        let network = Network::new(emulator(), Reach::Reached);
        let mut options = Options::new(given);
        options.common.only = only.to_owned();
        options.common.yes = true;
        let (ran, output, _) = run(&options, network.clone(), &Stop::default()).await;
        let Err(why) = ran else { panic!("it ran: {output}") };
        assert!(why.contains(reason), "{why}");
        assert_eq!(network.requests(), [""; 0]);
    }
}

#[test]
fn secret_is_hidden_with_escapes_in_either_case() {
    let mut mask = crate::service::mask::Mask::default();
    mask.secret("MARK+one/Two=");
    for text in ["MARK+one/Two=", "MARK%2Bone%2FTwo%3D", "MARK%2bone%2fTwo%3d"] {
        assert_eq!(mask.hide(text), "(hidden)");
    }
}

#[tokio::test]
async fn existing_file_of_tables_is_kept() {
    let folder = Folder::new();
    let file = folder.path().join("tables");
    std::fs::write(&file, "kept").unwrap();
    let mut options = Options::new(by_key(STORAGE));
    options.common.only = "$select".to_owned();
    options.common.yes = true;
    options.common.tables = Some(file.clone());
    let network = Network::new(emulator(), Reach::Reached);
    let (ran, ..) = run(&options, network.clone(), &Stop::default()).await;
    let Err(why) = ran else { panic!("it ran") };
    assert!(why.contains("choose another --tables"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    assert_eq!(network.requests(), [""; 0]);
}

/// Writes the file of a killed run on the account of these tests: tables that exist, one that does not, and properties.
fn killed_run(file: &Path, existing: &str) {
    let tables = Tables::create(file, STORAGE, "verify0").unwrap();
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
        options.common.cleanup = Some(file.clone());
        let network = Network::new(emulator(), Reach::Reached);
        let (ran, ..) = run(&options, network.clone(), &Stop::default()).await;
        let Err(why) = ran else { panic!("it ran for {other}") };
        assert!(why.contains("another account"), "{why}");
        assert_eq!(network.requests(), [""; 0]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
    let command = format!("the command of the run, with --cleanup {file:?}");
    assert!(before.contains(&command) && !before.contains(ACCOUNT), "{before}");
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
    options.common.cleanup = Some(file.clone());
    let (ran, output, _) = run(&options, emulator.clone(), &Stop::default()).await;
    assert_eq!(Exit::of(&ran), Exit::NoDifference, "{output}");
    let counts = "tables deleted at the end: 1, not found: 1; none is left";
    assert!(output.contains(counts), "{output}");
    assert_eq!(emulator.tables(), []);
    assert!(!file.exists());
}

#[tokio::test]
async fn account_is_the_same_in_every_spelling_of_its_address() {
    const EMULATOR: &str = "http://azurite/contoso";
    for (address, spelling) in [
        (STORAGE, "https://contoso.table.core.windows.net/"),
        (STORAGE, "https://contoso.table.core.windows.net:443/"),
        (STORAGE, "https://CONTOSO.Table.Core.Windows.NET"),
        (EMULATOR, "http://azurite:80/contoso"),
        (EMULATOR, "http://AZURITE:80/contoso/"),
        ("https://azurite/contoso", "https://azurite:443/contoso"),
    ] {
        let folder = Folder::new();
        let file = folder.path().join("tables");
        let account = |endpoint: &str| Account::new(&by_key(endpoint), false).unwrap();
        Tables::create(&file, &account(address).base, "verify0").unwrap();
        let opened = Tables::open(&file, &account(spelling).base);
        assert!(opened.is_ok(), "{spelling}: {opened:?}");
        for other in [
            "http://azurite/other",
            "http://azurite:443/contoso",
            "https://azurite:80/contoso",
        ] {
            assert!(Tables::open(&file, &account(other).base).is_err(), "{other}");
        }
    }
}

/// Removes the folder of the file of tables at a deletion of a table whose name contains a text.
#[derive(Clone, Debug)]
struct LostFolder {
    behind: Emulator,
    folder: Arc<Folder>,
    table: &'static str,
}

impl Transport for LostFolder {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        if request.method() == Method::DELETE && request.uri().path().contains(self.table) {
            let is_first = std::fs::remove_dir_all(self.folder.path()).is_ok();
            if is_first && self.table == CHECK {
                return Box::pin(std::future::ready(Ok(not_permitted())));
            }
        }
        self.behind.send(request)
    }
}

/// The end of the name of the table of the check. The service rejects its first deletion.
const CHECK: &str = "check";

async fn in_lost_folder(service: LostFolder) -> (Ran, String) {
    let mut options = Options::new(by_key(STORAGE));
    options.common.only = "$select=*".to_owned();
    options.common.yes = true;
    options.common.tables = Some(service.folder.path().join("tables"));
    let (ran, output, _) = run(&options, service, &Stop::default()).await;
    (ran, output)
}

#[tokio::test]
async fn report_is_printed_before_a_cleanup_that_fails() {
    let service = LostFolder {
        behind: emulator(),
        folder: Arc::new(Folder::new()),
        table: "probes",
    };
    let (ran, output) = in_lost_folder(service).await;
    assert_eq!(Exit::of(&ran), Exit::NotFinished, "{output}");
    assert!(output.contains("Lines of unknowns.md: 1 confirmed"), "{output}");
    assert!(output.contains("tables is not removed: "), "{output}");
}

#[tokio::test]
async fn failed_check_keeps_its_reason_if_the_cleanup_fails_too() {
    let service = LostFolder {
        behind: emulator(),
        folder: Arc::new(Folder::new()),
        table: CHECK,
    };
    let (ran, output) = in_lost_folder(service).await;
    assert!(output.contains("tables is not removed: "), "{output}");
    let Err(why) = ran else { panic!("it ran: {output}") };
    assert!(why.contains("delete table") && why.contains("its permissions"), "{why}");
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
    options.common.cosmos = true;
    let ran = verify(options, network).await;
    assert!(
        ran.output
            .contains("Cosmos DB for Table with an account key, not a live account")
    );
    assert_eq!(ran.exit, Exit::NoDifference, "{}", ran.output);
}
