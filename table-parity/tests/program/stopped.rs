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

    fn tables(&self) -> Vec<String> {
        self.emulator.tables().into_iter().map(|table| table.name).collect()
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("tables")
    }

    /// Returns a command that starts the way without a name: the facts.
    fn facts(&self, arguments: &[&str]) -> Command {
        let key = self.folder.path().join("key");
        std::fs::write(&key, KEY).unwrap();
        let endpoint = format!("http://{}/{ACCOUNT}", self.server.address());
        let mut command = Command::new(env!("CARGO_BIN_EXE_table-parity"));
        command
            .args(["--endpoint", &endpoint, "--account", ACCOUNT, "--no-suite", "--key"])
            .arg(format!("@{}", key.display()))
            .args(arguments);
        command
    }

    /// Returns a command that starts the comparison of the account.
    fn comparison(&self, arguments: &[&str]) -> Command {
        let connection_string = format!(
            "AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint=http://{}/{ACCOUNT}",
            self.server.address()
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_table-parity"));
        command
            .arg("account")
            .args(arguments)
            .env("AZURE_STORAGE_CONNECTION_STRING", connection_string);
        command
    }

    /// Returns the commands of both ways.
    fn ways(&self, arguments: &[&str]) -> [Command; 2] {
        [self.facts(arguments), self.comparison(arguments)]
    }

    /// Starts a run, and returns it when it has created tables.
    async fn run(&self, mut command: Command) -> Child {
        command.args(["--yes", "--tables", self.file().to_str().unwrap()]);
        let child = spawned(command);
        let started = std::time::Instant::now();
        while self.tables().iter().filter(|name| *name != "Own").count() < 2 {
            assert!(started.elapsed() < Duration::from_secs(300), "no table was created");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child
    }
}

fn spawned(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn send(signal: &str, process: u32) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(status.unwrap().success());
}

/// Waits for the end of the program: its exit code and everything that it printed.
async fn end(mut child: Child) -> (Option<i32>, String) {
    let process = child.id();
    let wait = move || {
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (child.wait().unwrap().code(), text)
    };
    let (code, text) = tokio::task::spawn_blocking(move || wait_for(process, "the end of the program", wait))
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
        for command in service.ways(&[]) {
            let child = service.run(command).await;
            send(signal, child.id());
            let (code, text) = end(child).await;
            assert_eq!(code, Some(3), "{text}");
            assert!(text.contains("stopped by a signal"), "{text}");
            assert_eq!(service.emulator.tables(), [], "{signal}: {text}");
            assert!(!service.file().exists());
        }
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn badge_of_a_stopped_run_is_grey() {
    let service = Service::start().await;
    let file = service.folder.path().join("badge.json");
    let child = service.run(service.facts(&["--badge", file.to_str().unwrap()])).await;
    send("-INT", child.id());
    end(child).await;
    let badge: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(badge["message"], "not finished");
    assert_eq!(badge["color"], "lightgrey");
}

#[tokio::test(flavor = "multi_thread")]
async fn second_signal_ends_at_once_and_names_the_file() {
    for way in 0..2 {
        let service = Service::start().await;
        let [facts, comparison] = service.ways(&[]);
        let child = service.run(if way == 0 { facts } else { comparison }).await;
        service.keeps_tables.store(true, Ordering::SeqCst);
        send("-INT", child.id());
        tokio::time::sleep(Duration::from_millis(500)).await;
        send("-INT", child.id());
        let (code, text) = end(child).await;
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains(service.file().to_str().unwrap()), "{text}");
        assert_named(&service.emulator, &service.file());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_run_leaves_only_noted_tables_which_a_cleanup_deletes() {
    let service = Service::start().await;
    service
        .emulator
        .seed_lines(ACCOUNT, "Own", r#"{"PartitionKey":"p","RowKey":"r"}"#)
        .unwrap();
    let file = service.file();
    let cleanups = service.ways(&["--cleanup", file.to_str().unwrap()]);
    for (command, cleanup) in service.ways(&[]).into_iter().zip(cleanups) {
        let mut child = service.run(command).await;
        child.kill().unwrap();
        child.wait().unwrap();
        // Requests in flight.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_named(&service.emulator, &file);
        let (code, text) = end(spawned(cleanup)).await;
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(service.tables(), ["Own"]);
        assert!(!file.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn run_without_an_answer_names_the_option_that_needs_none() {
    let service = Service::start().await;
    let program = spawned(service.comparison(&["--only", "$select=*"]));
    let (code, text) = end(program).await;
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("not started") && text.contains("--yes"), "{text}");
    assert_eq!(service.emulator.tables(), []);
}

/// Checks that the file names each table of the run, and no secret.
fn assert_named(emulator: &Emulator, file: &Path) {
    let text = std::fs::read_to_string(file).unwrap();
    let tables = emulator.tables().into_iter().filter(|table| table.name != "Own");
    let named = tables.map(|table| assert!(text.contains(&format!("\"{}\"", table.name)), "{}: {text}", table.name));
    assert!(named.count() > 0);
    assert!(!text.contains(KEY) && !text.contains(ACCOUNT), "{text}");
}
