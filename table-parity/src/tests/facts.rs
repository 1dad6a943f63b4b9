//! The facts: on the emulator, on Azurite, against the recordings, and on services with planted differences.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table::Emulator;
use azure_table::transport::{BoxFuture, HttpTransport, Transport, TransportError};
use bytes::Bytes;
use http::{Method, Request, Response};

use crate::command_line::{CommandLine, Rejected};
use crate::parity::options::Options;
use crate::parity::results::Results;
use crate::parity::{json, page, run};
use crate::service::account::Given;
use crate::service::output::{Exit, Streams};
use crate::service::stop::Stop;

use super::service::{COSMOS, Folder, STORAGE, by_key, emulator, emulator_of_cosmos};

/// Set to write the results anew.
const UPDATE: &str = "AZURE_TABLE_UPDATE_PARITY";

/// Measures the facts on a service in this process or elsewhere.
pub(crate) async fn measured(account: Given, is_cosmos: bool, transport: impl Transport) -> (Exit, Results) {
    let (ran, ..) = printed(account, is_cosmos, transport).await;
    ran
}

/// The same, with the output and the progress.
async fn printed(account: Given, is_cosmos: bool, transport: impl Transport) -> ((Exit, Results), String, String) {
    let folder = Folder::new();
    let mut options = Options::new(account);
    options.common.cosmos = is_cosmos;
    options.no_suite = true;
    options.common.yes = true;
    options.common.tables = Some(folder.path().join("tables"));
    let (mut out, mut log) = (Vec::new(), Vec::new());
    let streams = Streams {
        out: &mut out,
        log: &mut log,
    };
    let ran = run::run(&options, Some(Arc::new(transport)), &Stop::default(), streams).await;
    assert!(!folder.path().join("tables").exists(), "tables are left");
    let [out, log] = [out, log].map(|text| String::from_utf8(text).unwrap());
    (ran.unwrap(), out, log)
}

/// Compares results with those of the repository, of the day that is stated there.
fn assert_known(mut results: Results, name: &str) {
    if name.starts_with("emulator") {
        // It states what the live service states.
        results.product = Some(concat!("azure-table-emulator ", env!("CARGO_PKG_VERSION")).to_owned());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let json_file = folder.join(format!("{name}.json"));
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&json_file, format!("{:#}\n", json::results(&results))).unwrap();
    }
    let known: serde_json::Value = serde_json::from_slice(&std::fs::read(json_file).unwrap()).unwrap();
    results.date = known["date"].as_str().unwrap().to_owned();
    let found = json::results(&results);
    for part in ["different", "alike", "areas", "product", "problems"] {
        assert_eq!(known[part], found[part], "{name}: {UPDATE}=1 writes the results anew");
    }
    // A page of the file is that of the run.
    let read = json::read(&found.to_string()).unwrap();
    assert_eq!(page::page(&read), page::page(&results), "{name}");
}

// Without the waits for a live account.
#[tokio::test(start_paused = true)]
async fn results_of_the_emulator_are_those_of_the_repository() {
    let emulator = emulator();
    let (_, results) = measured(by_key(STORAGE), false, emulator.clone()).await;
    assert_eq!(emulator.tables(), []);
    assert_known(results, "emulator");
}

#[tokio::test(start_paused = true)]
async fn results_of_the_emulator_of_cosmos_are_those_of_the_repository() {
    let emulator: Emulator = emulator_of_cosmos();
    let (_, results) = measured(by_key(COSMOS), true, emulator.clone()).await;
    assert_eq!(emulator.tables(), []);
    assert_known(results, "emulator_cosmos");
}

#[tokio::test]
#[cfg_attr(
    not(azurite),
    ignore = "needs Azurite: start the tests with tests/external/azurite/run"
)]
async fn results_of_azurite_are_those_of_the_repository() {
    let account = std::env::var(azure_table_tests::backend::AZURITE).unwrap();
    let transport = HttpTransport::builder().build().unwrap();
    let (_, results) = measured(Given::ConnectionString(account), false, transport).await;
    assert_known(results, "azurite");
}

/// Counts the tables that are created.
#[derive(Clone, Debug)]
struct Created(Emulator, Arc<AtomicUsize>);

impl Transport for Created {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let creates = request.method() == Method::POST && request.uri().path().ends_with("/Tables");
        Box::pin(async move {
            let response = self.0.send(request).await?;
            let is_created = creates && response.status().is_success();
            self.1.fetch_add(usize::from(is_created), Ordering::SeqCst);
            Ok(response)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn requests_tables_and_progress_are_stated() {
    let created = Created(emulator_of_cosmos(), Arc::default());
    let (_, output, log) = printed(by_key(COSMOS), true, created.clone()).await;
    assert!(
        output.contains("requests, of which 25 create a table; after"),
        "{output}"
    );
    assert_eq!(log.lines().count(), 10, "{log}");
    assert!(log.contains("table-parity: 100 %, "), "{log}");

    let tables = created.1.load(Ordering::SeqCst);
    let Err(Rejected::Help(help)) = CommandLine::of(["table-parity", "--help"].map(Into::into)) else {
        panic!("no help")
    };
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains(&format!("Cosmos DB for Table creates {tables} tables")),
        "{tables}: {help}"
    );
}

#[tokio::test]
async fn name_of_no_fact_is_an_error() {
    let mut options = Options::new(by_key(STORAGE));
    options.common.yes = true;
    options.common.only = "a fakt".to_owned();
    let streams = Streams {
        out: &mut Vec::new(),
        log: &mut Vec::new(),
    };
    let ran = run::run(&options, Some(Arc::new(emulator())), &Stop::default(), streams).await;
    assert_eq!(
        ran.map(|_| ()).unwrap_err(),
        "--only a fakt: no test, fact or probe has this in its name"
    );
}
