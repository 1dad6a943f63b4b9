//! The program itself, without an answer to its question, and stopped in the middle by a signal.

#![cfg(unix)]

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{Emulator, EmulatorServer, RunningEmulator};
use azure_table_tests::process::wait_for;
use bytes::Bytes;
use futures::future::join_all;
use http::{Method, Request, Response};

use super::{ACCOUNT, Folder, KEY, emulator};

/// A slow emulator, which may leave deletions of tables without a response.
#[derive(Clone, Debug)]
struct Slow {
    behind: Emulator,
    keeps_tables: Arc<AtomicBool>,
}

impl Transport for Slow {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if request.method() == Method::DELETE && self.keeps_tables.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            self.behind.send(request).await
        })
    }
}

struct Service {
    emulator: Emulator,
    keeps_tables: Arc<AtomicBool>,
    server: RunningEmulator,
    folder: Folder,
}

impl Service {
    async fn start() -> Self {
        let (emulator, keeps_tables) = (emulator(), Arc::new(AtomicBool::new(false)));
        let slow = Slow {
            behind: emulator.clone(),
            keeps_tables: keeps_tables.clone(),
        };
        let server = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0").await.unwrap();
        Self {
            emulator,
            keeps_tables,
            server: server.through(|_| slow).spawn(),
            folder: Folder::new(),
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("tables")
    }

    /// Returns a command that starts the program.
    fn program(&self, arguments: &[&str]) -> Command {
        let connection_string = format!(
            "AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint=http://{}/{ACCOUNT}",
            self.server.address()
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_table-parity"));
        command
            .arg("account")
            .args(arguments)
            .env("AZURE_STORAGE_CONNECTION_STRING", connection_string)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a run, and returns it when it has created tables.
    async fn run(&self) -> Child {
        let file = self.file();
        let child = self
            .program(&["--yes", "--tables", file.to_str().unwrap()])
            .spawn()
            .unwrap();
        let started = std::time::Instant::now();
        while self.emulator.tables().len() < 2 {
            assert!(started.elapsed() < Duration::from_secs(300), "no table was created");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child
    }
}

fn send(signal: &str, process: u32) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(status.unwrap().success());
}

/// Waits for the end of the program: its exit code and everything that it printed.
async fn end(mut child: Child) -> (Option<i32>, String) {
    let wait = move || {
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (child.wait().unwrap().code(), text)
    };
    let (code, text) =
        tokio::task::spawn_blocking(move || wait_for(std::process::id(), "the end of the program", wait))
            .await
            .unwrap();
    for secret in [KEY, ACCOUNT] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    (code, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn first_signal_stops_the_run_and_deletes_its_tables() {
    join_all(["-INT", "-TERM", "-HUP"].map(async |signal| {
        let service = Service::start().await;
        let child = service.run().await;
        send(signal, child.id());
        let (code, text) = end(child).await;
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("stopped by a signal"), "{text}");
        assert_eq!(service.emulator.tables(), [], "{signal}: {text}");
        assert!(!service.file().exists());
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_signal_ends_at_once_and_names_the_file() {
    let service = Service::start().await;
    let child = service.run().await;
    service.keeps_tables.store(true, Ordering::SeqCst);
    send("-INT", child.id());
    tokio::time::sleep(Duration::from_millis(500)).await;
    send("-INT", child.id());
    let (code, text) = end(child).await;
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains(service.file().to_str().unwrap()), "{text}");
    assert_named(&service.emulator, &service.file());
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_run_leaves_only_noted_tables_which_a_cleanup_deletes() {
    let service = Service::start().await;
    let mut child = service.run().await;
    child.kill().unwrap();
    child.wait().unwrap();
    // Requests in flight.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!service.emulator.tables().is_empty());
    assert_named(&service.emulator, &service.file());
    service
        .emulator
        .seed_lines(ACCOUNT, "Own", r#"{"PartitionKey":"p","RowKey":"r"}"#)
        .unwrap();
    let cleanup = service
        .program(&["--cleanup", service.file().to_str().unwrap()])
        .spawn()
        .unwrap();
    let (code, text) = end(cleanup).await;
    assert_eq!(code, Some(0), "{text}");
    let left: Vec<_> = service.emulator.tables().into_iter().map(|table| table.name).collect();
    assert_eq!(left, ["Own"]);
    assert!(!service.file().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn run_without_an_answer_names_the_option_that_needs_none() {
    let service = Service::start().await;
    let program = service.program(&["--only", "$select=*"]).spawn().unwrap();
    let (code, text) = end(program).await;
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("not started") && text.contains("--yes"), "{text}");
    assert_eq!(service.emulator.tables(), []);
}

/// Checks that the file names each table, and no secret.
fn assert_named(emulator: &Emulator, file: &Path) {
    let text = std::fs::read_to_string(file).unwrap();
    for table in emulator.tables() {
        assert!(text.contains(&format!("\"{}\"", table.name)), "{}: {text}", table.name);
    }
    assert!(!text.contains(KEY) && !text.contains(ACCOUNT), "{text}");
}
