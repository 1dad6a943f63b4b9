//! Runs of the program in this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use azure_table::Emulator;
use azure_table::transport::Transport;

use crate::comparison::options::Options;
use crate::comparison::report::Report;
use crate::comparison::run;
use crate::service::account::Given;
use crate::service::output::{Exit, Streams};
use crate::service::sas;
use crate::service::stop::Stop;
use crate::suite;

/// The account of the services under test. It occurs in no output.
pub(crate) const ACCOUNT: &str = "contoso";
pub(crate) const KEY: &str = "a2V5IG9mIHRoZSBhY2NvdW50IGluIHRoZXNlIHRlc3Rz";
pub(crate) const TOKEN: &str = "eyJ0b2tlbiI6InRlc3RzIn0.e30.x";
pub(crate) const STORAGE: &str = "https://contoso.table.core.windows.net";
pub(crate) const COSMOS: &str = "https://contoso.table.cosmos.azure.com";

/// A table of the account's owner.
pub(crate) const FOREIGN: &str = "Payroll";

pub(crate) fn emulator() -> Emulator {
    Emulator::new().account(ACCOUNT, KEY).unwrap().token(TOKEN)
}

pub(crate) fn emulator_of_cosmos() -> Emulator {
    Emulator::cosmos().account(ACCOUNT, KEY).unwrap()
}

pub(crate) fn by_key(endpoint: &str) -> Given {
    Given::ConnectionString(format!(
        "AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint}"
    ))
}

/// Returns a shared access signature of the account.
pub(crate) fn account_sas(services: &str, types: &str, permissions: &str) -> String {
    account_sas_of("2019-02-02", services, types, permissions)
}

/// Returns a shared access signature of the account, of a version of the protocol.
pub(crate) fn account_sas_of(version: &str, services: &str, types: &str, permissions: &str) -> String {
    let fields = [
        ("sv", version),
        ("ss", services),
        ("srt", types),
        ("sp", permissions),
        ("se", "2099-01-01T00:00:00Z"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    sas::signed(&fields, ACCOUNT, KEY)
}

pub(crate) fn by_sas(token: &str) -> Given {
    Given::ConnectionString(format!("TableEndpoint={STORAGE};SharedAccessSignature={token}"))
}

/// Adds a table of the account's owner, which no output names.
pub(crate) fn add_foreign_table(emulator: &Emulator) {
    emulator
        .seed_lines(ACCOUNT, FOREIGN, r#"{"PartitionKey":"p","RowKey":"r"}"#)
        .unwrap();
}

/// Returns the names of the tables of a service.
pub(crate) fn tables(emulator: &Emulator) -> Vec<String> {
    emulator.tables().into_iter().map(|table| table.name).collect()
}

/// Returns all recordings of a service in one text.
pub(crate) fn recordings(folder: &Folder, service: &str) -> String {
    let files = std::fs::read_dir(folder.path().join(service)).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    texts.collect()
}

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let name = format!("verify-{}-{:x}", std::process::id(), fastrand::u64(..));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A finished run.
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) output: String,
    /// The progress.
    pub(crate) log: String,
    pub(crate) report: Option<Report>,
    /// Is empty after a complete cleanup.
    pub(crate) file: String,
}

/// The number of panics outside of the suite.
pub(crate) static OTHER_PANICS: AtomicUsize = AtomicUsize::new(0);

/// Hides the panics of the suite, and counts the others.
pub(crate) fn hide_panics() {
    static HIDDEN: Once = Once::new();
    HIDDEN.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            OTHER_PANICS.fetch_add(1, Ordering::SeqCst);
            shown(panic);
        }));
        suite::hide_panics();
    });
}

/// Runs the program on a service in this process. Returns its output and its progress too.
pub(crate) async fn run(options: &Options, transport: impl Transport, stop: &Stop) -> (run::Ran, String, String) {
    hide_panics();
    let (mut out, mut log) = (Vec::new(), Vec::new());
    let streams = Streams {
        out: &mut out,
        log: &mut log,
    };
    let ran = run::run(options, Some(Arc::new(transport)), stop, streams).await;
    let [out, log] = [out, log].map(|text| String::from_utf8(text).unwrap());
    (ran, out, log)
}

/// Runs the program to its report.
pub(crate) async fn verify(mut options: Options, transport: impl Transport) -> Ran {
    let folder = Folder::new();
    let file = folder.path().join("tables");
    options.common.yes = true;
    options.common.tables = Some(file.clone());
    let (ran, output, log) = run(&options, transport, &Stop::default()).await;
    let (exit, report) = ran.unwrap_or_else(|why| panic!("{why}\n{output}"));
    Ran {
        exit,
        output,
        log,
        report,
        file: std::fs::read_to_string(file).unwrap_or_default(),
    }
}
