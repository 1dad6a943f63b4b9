//! Runs the program in a fresh folder.

pub(crate) mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use azure_table::emulator::SyncPolicy;
use azure_table::{DynamicEntity, Emulator, TableClient, TableServiceClient};

/// The maximum wait for anything that must happen: minutes, because other programs may need the machine too. Only a test
/// that would otherwise hang waits that long.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// A folder of a test, deleted at its end.
pub(crate) struct Folder(tempfile::TempDir);

/// The output of a run, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) error: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            output: text(&output.stdout),
            error: text(&output.stderr),
        }
    }
}

impl Ran {
    /// Runs the program in a folder, with variables of the environment.
    pub(crate) fn in_folder(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = command(folder, arguments);
        command.envs(variables.iter().copied()).output().unwrap().into()
    }

    /// Returns the results of a run that succeeded.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.output
    }

    /// Returns the error of a run that failed.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.error
    }
}

/// The program in a folder, without an account.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aztable"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env_remove("AZURE_STORAGE_CONNECTION_STRING");
    command
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.file(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// The program in this folder, without an account.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        command(self.path(), arguments)
    }

    /// Runs the program.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs the program on the tables in `tables`.
    pub(crate) fn local(&self, arguments: &[&str]) -> Ran {
        self.run(&[arguments, &["--local", "tables"]].concat())
    }

    /// Runs the program on the tables in `tables`. It must succeed.
    pub(crate) fn done(&self, arguments: &[&str]) -> Ran {
        let ran = self.local(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}\n{}{}", ran.output, ran.error);
        ran
    }

    /// Opens a table in `tables`. Drop it before the program runs: the folder is locked.
    pub(crate) fn table(&self, name: &str) -> TableClient<DynamicEntity> {
        let emulator = Emulator::open(self.file("tables"), SyncPolicy::Always).unwrap();
        let service = TableServiceClient::from_transport(emulator);
        service.dynamic_table(name).unwrap()
    }

    /// Reads a table in `tables`, each row as its exact JSON.
    pub(crate) async fn rows(&self, table: &str) -> Vec<String> {
        rows(&self.table(table)).await
    }
}

/// Reads a table, each row as its exact JSON: NaN is equal, and 0.0 is not -0.0.
pub(crate) async fn rows(table: &TableClient<DynamicEntity>) -> Vec<String> {
    let rows = table.query().allow_table_scan().all().await.unwrap();
    let exact = |mut row: DynamicEntity| {
        (row.etag, row.timestamp) = (None, None);
        serde_json::to_string(&row).unwrap()
    };
    rows.into_iter().map(exact).collect()
}
