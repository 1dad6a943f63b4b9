//! An emulator that is killed repeatedly while clients write, in one folder.
//!
//! Each client owns its rows and writes increasing numbers. After a kill, a row has the last acknowledged number, or
//! the one requested since. All rows of a batch have it, or none.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use azure_table::emulator::{EmulatorFolder, SyncPolicy};
use azure_table::{Emulator, EmulatorServer, NoRetry, TableClient, TableEntity, TableServiceClient};
use azure_table_tests::process::wait_for;

use crate::Folder;

/// The argument that makes this program the emulator.
pub(crate) const SERVE: &str = "serve";
const CLIENTS: u64 = 8;
const ROWS: u64 = 5;
const TABLE: &str = "Kill";

/// A row. Its number shows when it was written.
#[derive(TableEntity, Clone, Debug)]
struct Cell {
    #[table(partition_key)]
    client: u64,
    #[table(row_key)]
    row: u64,
    number: u64,
}

/// The state of a row as its client knows it: the last acknowledged number, and the last requested one.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    acknowledged: u64,
    requested: u64,
}

/// A client, and its knowledge.
struct Client {
    client: u64,
    rows: [Known; ROWS as usize],
    next: u64,
    /// The number of the batch that was in flight.
    batch: Option<u64>,
    acknowledged: u64,
    random: fastrand::Rng,
}

/// Runs the emulator, until it is killed.
pub(crate) async fn serve(folder: &str) {
    let emulator = Emulator::open(folder, SyncPolicy::Always).unwrap();
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    println!("{}", server.connection_string());
    server.serve_until(std::future::pending()).await;
}

/// Starts the emulator as a process. Returns the process with its connection string.
fn start(folder: &Path) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut child = command.arg(SERVE).arg(folder).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let line = wait_for(child.id(), "the start", move || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        line
    });
    (child, line.trim().to_owned())
}

pub(crate) async fn run(times: usize) {
    let folder = Folder::new();
    let mut random = fastrand::Rng::with_seed(18);
    let mut clients: Vec<Client> = (0..CLIENTS)
        .map(|client| Client {
            client,
            rows: Default::default(),
            next: 0,
            batch: None,
            acknowledged: 0,
            random: random.fork(),
        })
        .collect();
    let mut starts = Vec::new();
    for _ in 0..times {
        let started = Instant::now();
        let (mut child, connection) = start(folder.path());
        starts.push(started.elapsed());
        let service = TableServiceClient::from_connection_string(&connection)
            .unwrap()
            .retry(NoRetry);
        let table = service.table::<Cell>(TABLE).unwrap();
        table.create_table_if_not_exists().await.unwrap();
        let table = Arc::new(table);
        let running: Vec<_> = clients
            .drain(..)
            .map(|client| tokio::spawn(client.write(Arc::clone(&table))))
            .collect();
        tokio::time::sleep(Duration::from_millis(random.u64(10..250))).await;
        child.kill().unwrap();
        child.wait().unwrap();
        for client in running {
            clients.push(client.await.unwrap());
        }
        check(folder.path(), &mut clients).await;
    }
    starts.sort_unstable();
    let acknowledged: u64 = clients.iter().map(|client| client.acknowledged).sum();
    let found = EmulatorFolder::check(folder.path()).unwrap();
    assert_eq!(found.table_count(), 1);
    println!(
        "{times} kills: {acknowledged} writes acknowledged, none lost, no batch torn; start {:?} in the middle, {:?} at most",
        starts[starts.len() / 2],
        starts[starts.len() - 1],
    );
}

impl Client {
    /// Writes until the emulator is killed.
    async fn write(mut self, table: Arc<TableClient<Cell>>) -> Self {
        loop {
            self.next += 1;
            let number = self.next;
            let cell = |row| Cell {
                client: self.client,
                row,
                number,
            };
            let is_batch = self.random.bool();
            let rows = if is_batch {
                0..ROWS
            } else {
                let row = self.random.u64(..ROWS);
                row..row + 1
            };
            self.batch = is_batch.then_some(number);
            for row in rows.clone() {
                self.rows[row as usize].requested = number;
            }
            let outcome = if is_batch {
                let mut batch = table.batch();
                for row in rows.clone() {
                    batch.insert_or_replace(&cell(row)).unwrap();
                }
                batch.submit().await.map(drop)
            } else {
                table.insert_or_replace(&cell(rows.start)).await.map(drop)
            };
            if outcome.is_err() {
                return self;
            }
            self.acknowledged += 1;
            for row in rows {
                self.rows[row as usize].acknowledged = number;
            }
        }
    }
}

/// Checks the state after the kill, and lets the clients continue from it.
async fn check(folder: &Path, clients: &mut [Client]) {
    let emulator = Emulator::open(folder, SyncPolicy::Always).unwrap();
    let table = TableServiceClient::from_transport(emulator)
        .table::<Cell>(TABLE)
        .unwrap();
    for client in clients {
        let mut found = [0; ROWS as usize];
        for cell in table.query().partition(client.client).all().await.unwrap() {
            found[cell.row as usize] = cell.number;
        }
        for (row, known) in client.rows.iter_mut().enumerate() {
            let number = found[row];
            assert!(
                number == known.acknowledged || number == known.requested,
                "row {row} of client {} has {number}: {known:?}",
                client.client
            );
            known.acknowledged = number;
        }
        if let Some(batch) = client.batch {
            let stored = found.iter().filter(|number| **number == batch).count() as u64;
            assert!(
                [0, ROWS].contains(&stored),
                "{stored} of {ROWS} rows have batch {batch}"
            );
        }
    }
}
