//! Long commands that are killed at random times and resumed: nothing is lost, nothing is doubled, and the counts of
//! all runs are right, except those of rows that leave the selection by their write. Signals: the command that is
//! printed does the rest.
//!
//! Ordinary tests kill each command 5 times, and 5 restores at each of their positions. 50 of each:
//! `AZTABLE_KILLS=50 cargo test -p aztable --test commands kills`.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use azure_table::emulator::{SeedEntities as _, ServiceModel};
use azure_table::{DynamicEntity, Emulator, EmulatorServer};

use crate::program::server::Server;
use crate::program::{Folder, LIMIT, Ran, rows};

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
    folder.write("out.jsonl", "old");
    killed(
        &folder,
        &["export", "Rows", "out.jsonl", "--overwrite"],
        // Until the end, the old file is there. A kill may come after the end, before the program exits.
        || {
            if folder.read("out.jsonl") != "old" {
                assert_eq!(sorted(&folder.read("out.jsonl")), sorted(&folder.read("rows.jsonl")));
                folder.write("out.jsonl", "old");
            }
        },
        |ran| {
            counted(ran, "6,000 read, 6,000 written");
            assert_eq!(sorted(&folder.read("out.jsonl")), sorted(&folder.read("rows.jsonl")));
            assert!(!folder.file("out.jsonl.part").exists());
            folder.write("out.jsonl", "old");
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

/// Sends a signal once a position is stored, and runs the command that is printed. `rate` leaves 5 s from the first
/// position to the end, so that the signal comes before the end on a busy machine too.
fn signalled(folder: &Folder, signal: &str, rate: &str, arguments: &[&str]) -> Ran {
    let options = ["--local", "tables", "--yes", "--max-rate", rate];
    let arguments = [&arguments[..1], &options, &arguments[1..]].concat();
    let running = folder
        .command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while position(folder).is_none() {
        assert!(start.elapsed() < LIMIT, "no position after {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = running.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    let stopped: Ran = running.wait_with_output().unwrap().into();
    assert_eq!(stopped.code, 130, "{}", stopped.error);
    assert!(
        stopped.error.contains("stopping at the next position"),
        "{}",
        stopped.error
    );
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
    for (signal, rate, arguments, counts) in [
        (
            "-INT",
            "1000",
            &["import", "rows.jsonl", "Imported"][..],
            "6,000 read, 6,000 written",
        ),
        (
            "-TERM",
            "1000",
            &["copy", "--", "Rows", "Copied"],
            "6,000 read, 6,000 written",
        ),
        (
            "-INT",
            "500",
            &["patch", "Copied", "--filter", "Kind eq 'old'", "--set", "Kind=it's"],
            "3,000 read, 3,000 written",
        ),
        (
            "-TERM",
            "500",
            &["delete", "Copied", "--filter", "Kind eq 'it''s'"],
            "3,000 read, 3,000 deleted",
        ),
    ] {
        counted(&signalled(&folder, signal, rate, arguments), counts);
    }
    assert_eq!(folder.done(&["diff", "Rows", "Imported"]).output, "");
    assert_eq!(exported(&folder, "Copied").len(), 3_000);
}

#[test]
fn a_backup_stops_at_a_position() {
    let folder = folder(&[]);
    // 6 pages: the signal comes before the last one.
    let model = ServiceModel::new().read_latency(Duration::from_millis(600));
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
        assert!(start.elapsed() < LIMIT, "no backup after {LIMIT:?}");
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

#[test]
fn a_signal_prints_json_for_programs_and_nothing_for_the_quiet() {
    let folder = folder(&[]);
    for (option, lines) in [("--json", 4), ("--quiet", 1)] {
        let options = ["--local", "tables", "--yes", "--max-rate", "1000", option];
        let mut command = folder.command(&[&["import", "rows.jsonl", "Rows"], &options[..]].concat());
        let running = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while position(&folder).is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = running.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let ran: Ran = running.wait_with_output().unwrap().into();
        assert_eq!(ran.code, 130, "{}", ran.error);
        match option {
            "--json" => {
                let events = ran.error.lines().map(serde_json::from_str::<serde_json::Value>);
                assert!(events.map(Result::unwrap).count() >= lines, "{}", ran.error);
            }
            _ => assert!(!ran.error.contains("stopping"), "{}", ran.error),
        }
        std::fs::remove_file(folder.file("rows.jsonl.position")).unwrap();
    }
}

fn old(partition: &str, row: &str) -> DynamicEntity {
    let mut entity = DynamicEntity::new(partition, row);
    entity.insert("Text", "old");
    entity
}

/// Kills restores at each position that they store. Meanwhile a newer backup is made, another program writes a row, and
/// creates a table that the restore has not reached. Cosmos DB rejects rows without keys, and Storage has one table of
/// two names that Cosmos DB distinguishes.
#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_killed_at_every_position_resumes() {
    let mut all_kills = 0;
    for run in 0..kills() {
        let is_cosmos = run % 2 == 0;
        let model = ServiceModel::new().write_latency(Duration::from_millis(5));
        let (source, target) = match is_cosmos {
            true => (Emulator::new(), Emulator::cosmos()),
            false => (Emulator::cosmos(), Emulator::new()),
        };
        let numbered = |count: u32| (0..count).map(|row| old("p", &format!("{row:05}")));
        source.seed("Aaa", numbered(2_100)).unwrap();
        source.seed("Bbb", numbered(1)).unwrap();
        source.seed("Ccc", numbered(1_100)).unwrap();
        source.seed("Ddd", numbered(0)).unwrap();
        let mut restore = vec![
            "restore",
            "backups",
            "--into",
            "@target",
            "--yes",
            "--rejects",
            "rejects",
        ];
        if is_cosmos {
            source.seed("Aaa", [old("p", ""), old("", "x")]).unwrap();
            source.seed("Bbb", [old("p", "")]).unwrap();
        } else {
            source.seed("ddd", numbered(1)).unwrap();
        }
        let source = Server::start(source).await;
        let target = Server::start(target.service_model(model)).await;
        let folder = &source.folder;
        folder.write("target", target.server.connection_string());
        source.backup(&[]).await;
        if !is_cosmos {
            let error = source.run(&restore).await.failed(2);
            assert!(error.contains("Ddd and ddd are one table there"), "{error}");
            assert!(target.tables().await.is_empty());
            restore.extend(["--tables", "Aaa,Bbb,Ccc,Ddd"]);
        }
        let path = folder.file("backups/restore.position");
        let (mut last, mut kills, mut newer, mut has_table) = (None, 0, 0, false);
        let ran = loop {
            let resume = path.exists().then_some("--resume=backups/restore.position");
            let mut command = source.command(&[&restore[..], resume.as_slice()].concat());
            let errors = std::fs::File::create(folder.file("errors")).unwrap();
            let mut child = command.stdout(Stdio::null()).stderr(errors).spawn().unwrap();
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break Some(status);
                }
                let found = std::fs::read(&path).ok();
                if found.is_some() && found != last {
                    last = found;
                    child.kill().unwrap();
                    child.wait().unwrap();
                    break None;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            };
            let error = folder.read("errors");
            match status {
                Some(status) if error.contains("Ccc exists at ") => {
                    // 2 if the table was there before this run.
                    assert!(matches!(status.code(), Some(1 | 2)) && has_table, "{error}");
                    let ccc = target.service.dynamic_table("Ccc").unwrap();
                    assert!(rows(&ccc).await[0].contains("newer"), "{error}");
                    ccc.delete_table().await.unwrap();
                }
                Some(status) => break (status.code(), error),
                // The kill came between the end of the work and that of the process.
                None if !path.exists() => break (None, error),
                None => kills += 1,
            }
            assert!(kills < 100, "{error}");
            match kills {
                1 => {
                    let table = source.table("Aaa").await;
                    table
                        .insert_or_replace(&DynamicEntity::new("p", "00000"))
                        .await
                        .unwrap();
                    source.backup(&[]).await;
                }
                2 if newer == 0 => {
                    let mut row = old("p", "02099");
                    row.insert("Text", "newer");
                    // The restore may have been faster.
                    newer = u64::from(target.table("Aaa").await.insert(&row).await.is_ok());
                }
                3 if run % 3 == 0 && !has_table => {
                    let mut row = old("p", "other");
                    row.insert("Text", "newer");
                    target.table("Ccc").await.insert(&row).await.unwrap();
                    has_table = true;
                }
                _ => {}
            }
        };
        let left = newer + if is_cosmos { 3 } else { 0 };
        assert!(ran.0.is_none_or(|code| code == i32::from(left > 0)), "{ran:?}");
        assert!(!path.exists());
        let rejects = std::fs::read_to_string(folder.file("rejects")).unwrap_or_default();
        assert_eq!(rejects.lines().count() as u64, left, "{rejects}");
        let restored = target.tables().await;
        let counts: Vec<_> = restored
            .iter()
            .map(|(name, rows)| (name.as_str(), rows.len()))
            .collect();
        assert_eq!(
            counts,
            [("Aaa", 2_100), ("Bbb", 1), ("Ccc", 1_100), ("Ddd", 0)],
            "{}",
            ran.1
        );
        let newer_rows = restored.values().flatten().filter(|row| row.contains("newer")).count();
        assert_eq!(newer_rows as u64, newer);
        assert!(restored.values().flatten().all(|row| row.contains("Text")));
        all_kills += kills;
    }
    assert!(all_kills >= 8 * kills(), "{all_kills} kills");
}
