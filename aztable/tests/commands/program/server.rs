//! The program beside an emulator on a port.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{Request, Response};
use azure_table::emulator::SyncPolicy;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, Emulator, EmulatorServer, RunningEmulator, TableClient, TableServiceClient};

use super::{Folder, LIMIT, Ran, rows};

/// The rows of each table.
pub(crate) type Tables = BTreeMap<String, Vec<String>>;

/// An emulator on a port, and the program with its connection string.
pub(crate) struct Server {
    pub(crate) folder: Folder,
    pub(crate) server: RunningEmulator,
    pub(crate) service: TableServiceClient,
}

impl Server {
    pub(crate) async fn start(emulator: Emulator) -> Self {
        let service = TableServiceClient::from_transport(emulator.clone());
        let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap().spawn();
        let folder = Folder::new();
        folder.write("target", server.connection_string());
        Self {
            folder,
            server,
            service,
        }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.folder.command(arguments);
        command.env("AZURE_STORAGE_CONNECTION_STRING", self.server.connection_string());
        command
    }

    /// Runs the program beside the server.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        tokio::task::spawn_blocking(move || command.output().unwrap().into())
            .await
            .unwrap()
    }

    pub(crate) async fn done(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments).await;
        assert_eq!(ran.code, 0, "{arguments:?}\n{}{}", ran.output, ran.error);
        ran
    }

    pub(crate) async fn backup(&self, options: &[&str]) -> String {
        let ran = self.done(&[&["backup", "backups", "--yes"], options].concat()).await;
        ran.output.trim().to_owned()
    }

    pub(crate) async fn table(&self, name: &str) -> TableClient<DynamicEntity> {
        let table = self.service.dynamic_table(name).unwrap();
        table.create_table_if_not_exists().await.unwrap();
        table
    }

    pub(crate) async fn tables(&self) -> Tables {
        tables(&self.service).await
    }
}

/// Returns the rows of all tables of an account, sorted.
pub(crate) async fn tables(service: &TableServiceClient) -> Tables {
    let mut tables = Tables::new();
    for name in service.list_tables().all().await.unwrap() {
        let mut rows = rows(&service.dynamic_table(&name).unwrap()).await;
        rows.sort();
        tables.insert(name, rows);
    }
    tables
}

/// Opens the tables in a folder. Drop them before the program runs: the folder is locked.
pub(crate) fn open(path: &Path) -> TableServiceClient {
    TableServiceClient::from_transport(Emulator::open(path, SyncPolicy::Never).unwrap())
}

impl Server {
    /// Starts the server behind another transport.
    pub(crate) async fn through<T: Transport>(emulator: Emulator, wrap: impl FnOnce(Emulator) -> T) -> Self {
        let service = TableServiceClient::from_transport(emulator.clone());
        let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
        let server = server.through(wrap).spawn();
        let folder = Folder::new();
        folder.write("target", server.connection_string());
        Self {
            folder,
            server,
            service,
        }
    }

    /// Runs the program until its standard error has a text, calls `then`, and sends a signal.
    pub(crate) async fn stopped(&self, signal: &str, arguments: &[&str], text: &str, then: impl AsyncFnOnce()) -> Ran {
        let errors = self.folder.file("errors");
        let mut command = self.command(arguments);
        let stderr = std::fs::File::create(&errors).unwrap();
        let mut child = command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
        let start = Instant::now();
        while !std::fs::read_to_string(&errors).unwrap().contains(text) {
            assert!(start.elapsed() < LIMIT, "no {text} after {LIMIT:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        then().await;
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let code = tokio::task::spawn_blocking(move || child.wait().unwrap().code());
        Ran {
            code: code.await.unwrap().unwrap_or(-1),
            output: String::new(),
            error: std::fs::read_to_string(errors).unwrap(),
        }
    }

    /// Runs the command that a stopped run has printed.
    pub(crate) async fn resumed(&self, stopped: &Ran) -> Ran {
        let (_, printed) = stopped.error.split_once("this goes on:\n").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", printed]).current_dir(self.folder.path());
        command.env("AZURE_STORAGE_CONNECTION_STRING", self.server.connection_string());
        tokio::task::spawn_blocking(move || command.output().unwrap().into())
            .await
            .unwrap()
    }
}

/// A service whose responses have half of a surrogate pair wherever a stored text has `HALF`.
#[derive(Debug)]
pub(crate) struct Halves(pub(crate) Emulator);

impl Transport for Halves {
    fn behind(&self) -> Option<&dyn Transport> {
        Some(&self.0)
    }

    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let (parts, body) = self.0.send(request).await?.into_parts();
            let body = String::from_utf8_lossy(&body).replace("HALF", "\\ud83d");
            Ok(Response::from_parts(parts, body.into()))
        })
    }
}
