//! Crashes: clients write until the disk fails, and the remaining contents are opened again.
//!
//! Each client owns some cells (rows, a table, policies, properties) and writes successive states into them, one
//! request at a time. So after a crash a cell has the state that was acknowledged last, or one that was requested
//! since. If a client has read a state from another client's cell, that state or a later one must survive too. All
//! random choices come from a seed. No thread runs: the test polls the clients and lets the writer store the
//! accumulated changes.
//!
//! `AZURE_TABLE_CRASHES` sets the number of crashes. A failure names its seed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use super::disk::Disk;
use super::*;
use crate::durable::Writer;
use crate::durable::database::Database;
use crate::rules::STORAGE;
use crate::store::SharedStore;
use crate::store::journal::Journal;

/// The number of crashes in `cargo test`.
const FEW: u64 = 150;
/// The number of consecutive crashes of one disk.
const IN_A_ROW: u64 = 5;
const CLIENTS: u64 = 4;
const ROWS: u64 = 3;
/// The number of a client's requests between two crashes.
const REQUESTS: u64 = 12;

/// An emulator on a disk, and the writer of its changes.
pub(super) struct Machine {
    pub(super) emulator: Emulator,
    pub(super) journal: Journal,
    pub(super) writer: Writer,
    stored: u64,
}

impl Machine {
    pub(super) fn start(disk: &Disk) -> std::io::Result<Self> {
        Self::with_journal(disk, Journal::new(None))
    }

    pub(super) fn with_journal(disk: &Disk, journal: Journal) -> std::io::Result<Self> {
        let (database, accounts, last_write) = Database::open(disk.clone(), Some(&STORAGE))?;
        let mut emulator = Emulator::new();
        emulator.service.store = SharedStore::recorded(accounts, last_write, &journal);
        let writer = Writer::new(journal.clone(), database);
        Ok(Self {
            emulator,
            journal,
            writer,
            stored: 0,
        })
    }

    /// Stores the accumulated changes.
    pub(super) fn store(&mut self) {
        if self.journal.newest() > self.stored && self.journal.check().is_ok() {
            self.stored = self.journal.newest();
            self.writer.step();
        }
    }

    /// Runs one request while the disk works.
    pub(super) fn run<T>(&mut self, request: impl Future<Output = T>) -> T {
        let mut request = std::pin::pin!(request);
        loop {
            if let std::task::Poll::Ready(done) = request.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return done;
            }
            self.store();
        }
    }
}

/// Creates storage with the tables of an emulator that never ran.
pub(super) fn new_disk() -> Disk {
    static CREATED: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let created = CREATED.get_or_init(|| {
        let disk = Disk::default();
        Database::create(disk.clone(), &STORAGE).unwrap();
        disk.bytes()
    });
    Disk::of(created.clone())
}

/// An item with one state at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    /// A client's row, by client and number.
    Row(u64, u64),
    /// A client's table, which exists or not.
    Table(u64),
    /// The policy of the shared table, which client 0 sets.
    Policy,
    /// The properties of the account, which client 1 sets.
    Properties,
}

/// The states of a cell in order, and the first that may still be seen.
#[derive(Debug)]
struct History {
    states: Vec<Option<u64>>,
    /// The ETags of the acknowledged states that have one.
    etags: BTreeMap<usize, String>,
    sure: usize,
}

#[derive(Default)]
struct Model {
    cells: BTreeMap<Cell, History>,
    /// The rows of each client's last request, if that was a batch.
    batches: BTreeMap<u64, u64>,
    next: u64,
}

impl Model {
    fn history(&mut self, cell: Cell) -> &mut History {
        self.cells.entry(cell).or_insert_with(|| History {
            states: vec![None],
            etags: BTreeMap::new(),
            sure: 0,
        })
    }

    fn value(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Returns `true` if the cell currently has a state, as far as its client knows.
    fn is_there(&mut self, cell: Cell) -> bool {
        self.history(cell).states.last().is_some_and(Option::is_some)
    }

    fn requested(&mut self, cell: Cell, state: Option<u64>) {
        self.history(cell).states.push(state);
    }

    fn acknowledged(&mut self, cell: Cell, etag: &str) {
        let history = self.history(cell);
        history.sure = history.states.len() - 1;
        if !etag.is_empty() {
            history.etags.insert(history.sure, etag.to_owned());
        }
    }

    /// Records a state that a client read, which must not be lost either.
    fn seen(&mut self, cell: Cell, state: Option<u64>) {
        let history = self.history(cell);
        if let (Some(_), Some(at)) = (state, history.states.iter().rposition(|known| *known == state)) {
            history.sure = history.sure.max(at);
        }
    }
}

fn path(cell: Cell) -> String {
    match cell {
        Cell::Row(client, row) => format!("All(PartitionKey='p{client}',RowKey='{row}')"),
        Cell::Table(client) => format!("Tables('Own{client}')"),
        Cell::Policy => "All?comp=acl".to_owned(),
        Cell::Properties => "?restype=service&comp=properties".to_owned(),
    }
}

/// Returns the number in a text that follows `before`.
fn number(text: &str, before: &str) -> Option<u64> {
    let rest = &text[text.find(before)? + before.len()..];
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Reads the state of a cell and its ETag. Returns `Err` if the emulator has stopped.
async fn read(emulator: &Emulator, cell: Cell) -> Result<(Option<u64>, String), u16> {
    let response = send(emulator, "GET", &path(cell), &[], "").await;
    let status = response.status().as_u16();
    let text = body(&response);
    let state = match (status, cell) {
        (404, _) => None,
        (200, Cell::Row(..)) => number(text, "\"V\":"),
        (200, Cell::Table(_)) => Some(0),
        (200, Cell::Policy) => number(text, "<Id>v"),
        (200, Cell::Properties) => number(text, "<MaxAgeInSeconds>"),
        _ => return Err(status),
    };
    Ok((state, header(&response, "etag").to_owned()))
}

fn row(value: u64, random: &mut fastrand::Rng) -> String {
    // Some are long, so that the file grows.
    let length = random.choice([0, 10, 500, 30_000]).unwrap_or_default();
    format!("{{\"V\":{value},\"Text\":\"{}\"}}", "x".repeat(length))
}

/// Sends requests of one client until the emulator stops.
async fn client(emulator: Emulator, model: Rc<RefCell<Model>>, client: u64, mut random: fastrand::Rng) {
    for _ in 0..REQUESTS {
        let own = Cell::Row(client, random.u64(0..ROWS));
        model.borrow_mut().batches.remove(&client);
        let has_response = match random.u32(0..100) {
            0..50 => {
                let value = model.borrow_mut().value();
                let body = row(value, &mut random);
                write(&emulator, &model, ("PUT", &[], &body), (own, Some(value))).await
            }
            50..60 if model.borrow_mut().is_there(own) => {
                write(&emulator, &model, ("DELETE", &[("if-match", "*")], ""), (own, None)).await
            }
            60..80 => batch(&emulator, &model, client, &mut random).await,
            80..84 => {
                let table = Cell::Table(client);
                let name = format!("{{\"TableName\":\"Own{client}\"}}");
                let is_there = model.borrow_mut().is_there(table);
                if is_there {
                    write(&emulator, &model, ("DELETE", &[], ""), (table, None))
                } else {
                    write(&emulator, &model, ("POST", &[], &name), (table, Some(0)))
                }
                .await
            }
            84..87 if client == 0 => {
                let value = model.borrow_mut().value();
                let body = format!(
                    "<SignedIdentifiers><SignedIdentifier><Id>v{value}</Id></SignedIdentifier></SignedIdentifiers>"
                );
                write(&emulator, &model, ("PUT", &[], &body), (Cell::Policy, Some(value))).await
            }
            84..87 if client == 1 => {
                let value = model.borrow_mut().value();
                let body = format!(
                    "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET\
                     </AllowedMethods><MaxAgeInSeconds>{value}</MaxAgeInSeconds><ExposedHeaders/><AllowedHeaders/>\
                     </CorsRule></Cors></StorageServiceProperties>"
                );
                write(&emulator, &model, ("PUT", &[], &body), (Cell::Properties, Some(value))).await
            }
            _ => {
                let other = Cell::Row(random.u64(0..CLIENTS), random.u64(0..ROWS));
                match read(&emulator, other).await {
                    Ok((state, _)) => model.borrow_mut().seen(other, state),
                    Err(status) => assert_eq!(status, 500),
                }
                true
            }
        };
        if !has_response {
            break;
        }
    }
}

type Sent<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

/// Writes a state into a cell. Returns `false` if the emulator did not acknowledge it because it has stopped.
async fn write(
    emulator: &Emulator,
    model: &RefCell<Model>,
    (method, headers, body): Sent<'_>,
    (cell, state): (Cell, Option<u64>),
) -> bool {
    model.borrow_mut().requested(cell, state);
    let path = match method {
        "POST" => "Tables".to_owned(),
        _ => path(cell),
    };
    let response = send(emulator, method, &path, headers, body).await;
    if response.status() == 500 {
        return false;
    }
    assert!(response.status().is_success(), "{method} {path}: {response:?}");
    model.borrow_mut().acknowledged(cell, header(&response, "etag"));
    true
}

/// Sends one batch over all rows of a client.
async fn batch(emulator: &Emulator, model: &RefCell<Model>, client: u64, random: &mut fastrand::Rng) -> bool {
    let value = model.borrow_mut().value();
    let cells: Vec<Cell> = (0..ROWS).map(|row| Cell::Row(client, row)).collect();
    let parts: String = cells
        .iter()
        .map(|cell| {
            let (path, body) = (path(*cell), row(value, random));
            format!(
                "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 PUT {BASE}/{path} HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{body}\r\n"
            )
        })
        .collect();
    let text = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n");
    for cell in &cells {
        model.borrow_mut().requested(*cell, Some(value));
    }
    model.borrow_mut().batches.insert(client, value);
    let response = send(
        emulator,
        "POST",
        "$batch",
        &[("content-type", "multipart/mixed; boundary=b")],
        &text,
    )
    .await;
    if response.status() == 500 {
        return false;
    }
    assert_eq!(response.status(), 202);
    assert_eq!(
        body(&response).matches("HTTP/1.1 204").count() as u64,
        ROWS,
        "{}",
        body(&response)
    );
    for cell in cells {
        model.borrow_mut().acknowledged(cell, "");
    }
    true
}

/// Lets clients write until the disk fails, or until all are done.
fn run_until_crash(machine: &mut Machine, model: &Rc<RefCell<Model>>, random: &mut fastrand::Rng) {
    let mut clients: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>> = (0..CLIENTS)
        .map(|n| {
            let client = client(machine.emulator.clone(), Rc::clone(model), n, random.fork());
            Some(Box::pin(client) as Pin<Box<dyn Future<Output = ()>>>)
        })
        .collect();
    while clients.iter().any(Option::is_some) {
        for _ in 0..random.usize(1..8) {
            let client = random.choice(&mut clients);
            if let Some(slot) = client
                && let Some(running) = slot
                && running
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()))
                    .is_ready()
            {
                *slot = None;
            }
        }
        machine.store();
    }
}

/// Checks the state after a crash, and makes it the state that clients continue from.
fn check(machine: &mut Machine, model: &mut Model) {
    let mut found = BTreeMap::new();
    for (cell, history) in &mut model.cells {
        let (state, etag) = machine.run(read(&machine.emulator.clone(), *cell)).unwrap();
        let after = &history.states[history.sure..];
        let at = after.iter().rposition(|known| *known == state);
        let at = at.unwrap_or_else(|| panic!("{cell:?} has {state:?}, and none of {after:?}")) + history.sure;
        if let Some(known) = history.etags.get(&at) {
            assert_eq!(etag, *known, "{cell:?}");
        }
        found.insert(*cell, state);
        *history = History {
            states: vec![state],
            etags: BTreeMap::new(),
            sure: 0,
        };
    }
    for (client, batch) in std::mem::take(&mut model.batches) {
        let stored = (0..ROWS).filter(|row| found.get(&Cell::Row(client, *row)) == Some(&Some(batch)));
        let stored = stored.count() as u64;
        assert!(
            [0, ROWS].contains(&stored),
            "{stored} of the {ROWS} operations of batch {batch} are stored"
        );
    }
}

fn time_of(etag: &str) -> DateTime {
    let text = etag.replace("%3A", ":");
    let inner = text.trim_start_matches("W/\"datetime'").trim_end_matches("'\"");
    inner.parse().unwrap_or_else(|_| panic!("{etag}"))
}

fn crashes(seed: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    // The clock is stopped: repeated times would show.
    let clock = EmulatorClock::fixed(DateTime::now());
    let model = Rc::new(RefCell::new(Model::default()));
    let mut disk = new_disk();
    let mut machine = Machine::start(&disk).unwrap();
    let created = machine.run(send(
        &machine.emulator.clone(),
        "POST",
        "Tables",
        &[],
        r#"{"TableName":"All"}"#,
    ));
    assert_eq!(created.status(), 201);
    let mut last = DateTime::MIN;
    let mut crashes = 0;
    while crashes < IN_A_ROW {
        machine.emulator = machine.emulator.shared_clock(clock.clone());
        let probe = machine.run(send(
            &machine.emulator.clone(),
            "PUT",
            "All(PartitionKey='probe',RowKey='1')",
            &[],
            "{}",
        ));
        let time = time_of(header(&probe, "etag"));
        assert!(time > last, "{time} is not behind {last}");
        disk.fail_after(random.usize(0..100), std::io::ErrorKind::Other);
        run_until_crash(&mut machine, &model, &mut random);
        let etags = model
            .borrow()
            .cells
            .values()
            .flat_map(|cell| cell.etags.values().cloned())
            .collect::<Vec<_>>();
        last = etags.iter().map(|etag| time_of(etag)).max().unwrap_or(time).max(time);
        drop(machine);
        crashes += 1;
        disk = Disk::of(disk.crash(&mut random));
        // Some crash again while they recover.
        while random.f64() < 0.25 {
            disk.fail_after(random.usize(0..20), std::io::ErrorKind::Other);
            drop(Machine::start(&disk));
            crashes += 1;
            disk = Disk::of(disk.crash(&mut random));
        }
        machine = Machine::start(&disk).unwrap_or_else(|e| panic!("after {crashes} crashes: {e}"));
        check(&mut machine, &mut model.borrow_mut());
    }
    crashes
}

#[test]
fn crash_loses_no_acknowledged_or_visible_change_and_tears_no_batch() {
    let wanted = std::env::var("AZURE_TABLE_CRASHES").map_or(FEW, |number| number.parse().unwrap());
    let mut done = 0;
    let mut seed = 0;
    while done < wanted {
        let outcome = std::panic::catch_unwind(|| crashes(seed));
        done += outcome.unwrap_or_else(|panic| {
            println!("seed {seed}");
            std::panic::resume_unwind(panic)
        });
        seed += 1;
    }
    println!("{done} crashes of {seed} disks");
}
