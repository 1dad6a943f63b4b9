//! Long commands that are killed at random times and resumed: nothing is lost, nothing is doubled, and the counts of
//! all runs are right, except those of rows that leave the selection by their write. Signals: the command that is
//! printed does the rest.
//!
//! Ordinary tests kill each command 5 times. 50 times each: `AZTABLE_KILLS=50 cargo test -p aztable --test kills`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod program;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use azure_table::emulator::{SeedEntities as _, ServiceModel};
use azure_table::{DynamicEntity, Emulator, EmulatorServer};

use crate::program::{Folder, Ran};

const ROWS: u32 = 6_000;
/// Slows a run down to a second and a half.
const RATE: [&str; 2] = ["--max-rate", "4000"];

fn kills() -> u64 {
    std::env::var("AZTABLE_KILLS").map_or(5, |kills| kills.parse().unwrap())
}

/// The lines of a file: half of the rows are old.
fn lines() -> Vec<String> {
    let line = |row: u32| {
        let (partition, kind) = (row % 40, if row.is_multiple_of(2) { "old" } else { "new" });
        format!("{{\"PartitionKey\":\"p{partition:02}\",\"RowKey\":\"{row:06}\",\"Kind\":\"{kind}\",\"Value\":{row}}}")
    };
    let mut lines: Vec<_> = (0..ROWS).map(line).collect();
    lines.sort();
    lines
}

/// A folder with the rows in a file, and in the tables that a command reads.
fn folder(tables: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.write("rows.jsonl", lines().join("\n"));
    for table in tables {
        folder.done(&["import", "rows.jsonl", table, "--yes"]);
    }
    folder
}

/// Returns a time up to 700 ms.
fn random() -> Duration {
    Duration::from_millis(RandomState::new().hash_one(0) % 700)
}

/// Returns the name of the position in a folder.
fn position(folder: &Folder) -> Option<String> {
    let names = folder.path().read_dir().unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.find(|name| name.ends_with(".position"))
}

/// Kills a command again and again, and resumes it. `begin` prepares it wherever it has no position.
fn killed(folder: &Folder, arguments: &[&str], mut begin: impl FnMut(), mut check: impl FnMut(&Ran)) {
    let arguments = [arguments, &["--local", "tables", "--yes"]].concat();
    let (mut kills_left, mut is_done) = (kills(), false);
    while kills_left > 0 || !is_done {
        loop {
            let resume = position(folder).map(|name| format!("--resume={name}"));
            if resume.is_none() {
                begin();
            }
            let mut running = folder
                .command(&arguments)
                .args(resume)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            if kills_left > 0 {
                let end = Instant::now() + random();
                while Instant::now() < end && running.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                if running.try_wait().unwrap().is_none() {
                    running.kill().unwrap();
                    running.wait().unwrap();
                    kills_left -= 1;
                    continue;
                }
            }
            let ran: Ran = running.wait_with_output().unwrap().into();
            assert_eq!(ran.code, 0, "{}", ran.error);
            assert_eq!(position(folder), None);
            check(&ran);
            is_done = true;
            break;
        }
    }
}

fn counted(ran: &Ran, text: &str) {
    assert!(ran.error.lines().any(|line| line == text), "{text}: {}", ran.error);
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns the rows of a table by an export.
fn exported(folder: &Folder, table: &str) -> Vec<String> {
    sorted(&folder.done(&["export", table, "-", "--quiet"]).output)
}

fn recreate(folder: &Folder, table: &str) {
    folder.local(&["rm", table, "--yes"]);
}

#[test]
fn a_killed_import_resumes() {
    let folder = folder(&[]);
    let import = [&["import", "rows.jsonl", "Rows"], &RATE[..]].concat();
    killed(
        &folder,
        &import,
        || recreate(&folder, "Rows"),
        |ran| {
            counted(ran, "6,000 read, 6,000 written");
            assert_eq!(exported(&folder, "Rows"), sorted(&folder.read("rows.jsonl")));
        },
    );
}

#[test]
fn a_killed_insert_doubles_nothing() {
    let folder = folder(&[]);
    let import = [
        &["import", "rows.jsonl", "Rows", "--insert", "--rejects", "rejects"],
        &RATE[..],
    ]
    .concat();
    killed(
        &folder,
        &import,
        || {
            recreate(&folder, "Rows");
            let _ = std::fs::remove_file(folder.file("rejects"));
        },
        |ran| {
            assert!(ran.error.contains("6,000 read, "), "{}", ran.error);
            assert!(!ran.error.contains("rejected"), "{}", ran.error);
            assert_eq!(exported(&folder, "Rows"), sorted(&folder.read("rows.jsonl")));
        },
    );
}

#[test]
fn a_killed_export_resumes() {
    let folder = folder(&["Rows"]);
    killed(
        &folder,
        &["export", "Rows", "out.jsonl", "--overwrite"],
        || {},
        |ran| {
            counted(ran, "6,000 read, 6,000 written");
            assert_eq!(sorted(&folder.read("out.jsonl")), sorted(&folder.read("rows.jsonl")));
        },
    );
}

#[test]
fn a_killed_copy_resumes() {
    let folder = folder(&["Rows"]);
    let copy = [&["copy", "Rows", "Copied"], &RATE[..]].concat();
    killed(
        &folder,
        &copy,
        || recreate(&folder, "Copied"),
        |ran| {
            counted(ran, "6,000 read, 6,000 written");
            assert_eq!(folder.done(&["diff", "Rows", "Copied"]).output, "");
        },
    );
}

#[test]
fn a_killed_delete_resumes() {
    let folder = folder(&["Rows"]);
    let delete = [&["delete", "Rows", "--filter", "Kind eq 'old'"], &RATE[..]].concat();
    let begin = || {
        folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    };
    killed(&folder, &delete, begin, |ran| {
        assert!(!ran.error.contains("rejected"), "{}", ran.error);
        let mut kept = sorted(&folder.read("rows.jsonl"));
        kept.retain(|line| line.contains("new"));
        assert_eq!(exported(&folder, "Rows"), kept);
    });
}

/// The patch takes its rows out of its own selection.
#[test]
fn a_killed_patch_resumes() {
    let folder = folder(&["Rows"]);
    let patch = [
        &["patch", "Rows", "--filter", "Kind eq 'old'", "--set", "Kind=patched"],
        &RATE[..],
    ]
    .concat();
    let begin = || {
        folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    };
    killed(&folder, &patch, begin, |ran| {
        assert!(!ran.error.contains("rejected"), "{}", ran.error);
        let expected = folder.read("rows.jsonl").replace("old", "patched");
        assert_eq!(exported(&folder, "Rows"), sorted(&expected));
    });
}

/// Sends a signal once a position is stored, and runs the command that is printed.
fn signalled(folder: &Folder, signal: &str, arguments: &[&str]) -> Ran {
    let arguments = [arguments, &["--local", "tables", "--yes", "--max-rate", "1000"]].concat();
    let running = folder
        .command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while position(folder).is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "no position after 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = running.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    let stopped: Ran = running.wait_with_output().unwrap().into();
    assert_eq!(stopped.code, 130, "{}", stopped.error);
    let (_, command) = stopped.error.split_once("this goes on:\n").unwrap();
    let mut shell = Command::new("sh");
    let ran: Ran = shell
        .args(["-c", command])
        .current_dir(folder.path())
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{command} {}", ran.error);
    ran
}

#[test]
fn the_printed_command_does_the_rest() {
    let folder = folder(&["Rows"]);
    for (signal, arguments, counts) in [
        (
            "-INT",
            &["import", "rows.jsonl", "Imported"][..],
            "6,000 read, 6,000 written",
        ),
        ("-TERM", &["copy", "Rows", "Copied"], "6,000 read, 6,000 written"),
        (
            "-INT",
            &["patch", "Copied", "--filter", "Kind eq 'old'", "--set", "Kind=it's"],
            "3,000 read, 3,000 written",
        ),
        (
            "-TERM",
            &["delete", "Copied", "--filter", "Kind eq 'it''s'"],
            "3,000 read, 3,000 deleted",
        ),
    ] {
        counted(&signalled(&folder, signal, arguments), counts);
    }
    assert_eq!(folder.done(&["diff", "Rows", "Imported"]).output, "");
    assert_eq!(exported(&folder, "Copied").len(), 3_000);
}

#[test]
fn a_backup_stops_at_a_position() {
    let folder = folder(&[]);
    let model = ServiceModel::new().read_latency(Duration::from_millis(200));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let emulator = Emulator::new().service_model(model);
    let rows = |row: u32| DynamicEntity::new("p", format!("{row:06}"));
    emulator.seed("Rows", (0..ROWS).map(rows)).unwrap();
    let server = runtime.block_on(EmulatorServer::bind(emulator, "127.0.0.1:0"));
    let server = runtime.block_on(async { server.unwrap().spawn() });
    let account = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        command.env("AZURE_STORAGE_CONNECTION_STRING", server.connection_string());
        command
    };
    let mut running = account(&["backup", "backups", "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !folder.file("backups").exists() || folder.file("backups").read_dir().unwrap().next().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "no backup after 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let id = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let mut text = String::new();
    running.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130), "{text}");
    let (_, resume) = text.split_once("--resume=").unwrap();
    let ran: Ran = account(&["backup", "backups", "--yes", "--resume", resume.trim()])
        .output()
        .unwrap()
        .into();
    assert!(ran.code == 0 && ran.error.contains("6,000 read"), "{}", ran.error);
}

/// A sync has no position: it compares again, and writes what is left.
#[test]
fn a_sync_that_is_stopped_begins_again() {
    let folder = folder(&["Rows"]);
    folder.done(&["create", "Target"]);
    let sync = ["sync", "Rows", "Target", "--yes"];
    let slow = [&sync[..], &["--local", "tables", "--max-rate", "1000"]].concat();
    let mut running = folder
        .command(&slow)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut error = BufReader::new(running.stderr.take().unwrap());
    let mut text = String::new();
    error.read_line(&mut text).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let id = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    error.read_to_string(&mut text).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130), "{text}");
    let ran = folder.done(&sync);
    assert!(ran.error.contains("6,000 read, "), "{}", ran.error);
    assert_eq!(folder.done(&["diff", "Rows", "Target"]).output, "");
}
