//! `restore` beside other programs, after kills and newer backups; chains of backups, and damaged ones.

use std::fs;
use std::process::Command;
use std::time::Duration;

use azure_table::emulator::{SeedEntities as _, ServiceModel, SyncPolicy};
use azure_table::{DynamicEntity, Emulator};

use crate::program::server::Server;
use crate::program::{Folder, Ran};

fn row(partition: &str, row: &str, text: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new(partition, row);
    row.insert("Text", text);
    row
}

fn rows(count: usize) -> impl Iterator<Item = DynamicEntity> {
    (0..count).map(|number| row(&format!("p{}", number % 3), &format!("{number:05}"), "old"))
}

/// A server whose folder has the backup of tables with these rows, of Azure Storage.
async fn backed_up(target: Emulator, tables: &[(&str, Vec<DynamicEntity>)]) -> Server {
    let server = Server::start(target).await;
    {
        let folder = Emulator::open(server.folder.file("tables"), SyncPolicy::Never).unwrap();
        for (name, rows) in tables {
            folder.seed(name, rows.clone()).unwrap();
        }
    }
    server.done(&["backup", "local:tables", "backups", "--yes"]).await;
    server
}

fn slow(emulator: Emulator) -> Emulator {
    emulator.service_model(ServiceModel::new().write_latency(Duration::from_millis(20)))
}

async fn later() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resumed_restore_keeps_to_its_backup_and_reports_all_rows_that_are_left() {
    // Cosmos DB has no empty keys.
    let tables = [
        ("Aaa", vec![row("p", "", "old"), row("p", "1", "old")]),
        ("Bbb", rows(6_000).collect()),
    ];
    let server = backed_up(slow(Emulator::cosmos()), &tables).await;
    let restore = ["restore", "backups", "--into", "@target", "--yes", "--max-rate", "2000"];
    let stopped = server.stopped("-INT", &restore, "Bbb: 6,000 rows", later).await;
    assert_eq!(stopped.code, 130, "{}", stopped.error);
    let names = fs::read_dir(server.folder.file("backups")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains("position")).count(), 1);

    server
        .done(&["put", "local:tables/Bbb", "p0", "00000", "Text=newer"])
        .await;
    server.done(&["backup", "local:tables", "backups", "--yes"]).await;
    let resumed = server.resumed(&stopped).await;
    assert_eq!(resumed.code, 1, "{}", resumed.error);
    assert!(resumed.error.contains("1 rejected: 1 row is left"), "{}", resumed.error);
    let restored = server.tables().await;
    assert_eq!((restored["Aaa"].len(), restored["Bbb"].len()), (1, 6_000));
    assert!(restored["Bbb"].iter().all(|row| row.contains("old")));
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_writes_over_no_row_of_another_program() {
    let tables = [("Aaa", rows(6_000).collect()), ("Bbb", vec![row("p", "1", "old")])];
    let server = backed_up(slow(Emulator::new()), &tables).await;
    let newer = row("p2", "05999", "newer");
    let restore = ["restore", "backups", "--into", "@target", "--yes", "--max-rate", "3000"];
    let other = async || {
        // The other program creates its tables when it starts.
        let aaa = server.table("Aaa").await;
        aaa.insert(&newer).await.unwrap();
        let bbb = server.table("Bbb").await;
        bbb.insert(&row("p", "1", "newer")).await.unwrap();
    };
    let mut command = server.command(&restore);
    let running = tokio::task::spawn_blocking(move || Ran::from(command.output().unwrap()));
    while server.service.list_tables().all().await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    other().await;
    let ran = running.await.unwrap();
    assert_eq!(ran.code, 1, "{}", ran.error);
    assert!(ran.error.contains("Bbb exists at "), "{}", ran.error);
    let restored = server.tables().await;
    assert_eq!((restored["Aaa"].len(), restored["Bbb"].len()), (6_000, 1));
    assert!(restored["Bbb"][0].contains("newer"));
    assert_eq!(restored["Aaa"].iter().filter(|row| row.contains("newer")).count(), 1);

    // Without the other table, the command that is printed does the rest.
    server
        .service
        .dynamic_table("Bbb")
        .unwrap()
        .delete_table()
        .await
        .unwrap();
    let resumed = server.resumed(&ran).await;
    assert_eq!(resumed.code, 1, "{}", resumed.error);
    assert!(resumed.error.contains("1 rejected: 1 row is left"), "{}", resumed.error);
    assert!(server.tables().await["Bbb"][0].contains("old"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_become_one_are_refused() {
    let server = Server::start(Emulator::cosmos()).await;
    for name in ["Foo", "foo"] {
        let table = server.table(name).await;
        table.insert(&row("p", "1", name)).await.unwrap();
    }
    server.backup(&[]).await;
    let restore = ["restore", "backups", "--into", "local:new", "--yes"];
    let error = server.run(&restore).await.failed(2);
    assert!(error.contains("Foo and foo"), "{error}");
    assert!(!server.folder.file("new").exists());
    let one = server.run(&[&restore[..], &["--tables", "foo"]].concat()).await;
    assert_eq!(one.code, 0, "{}", one.error);
    let other = [&restore[..], &["--tables", "Foo", "--as", "Other"]].concat();
    assert_eq!(server.run(&other).await.code, 0);
}

#[tokio::test]
async fn restore_asks_before_it_creates_a_folder_and_reads_a_folder_that_it_cannot_write() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    folder.done(&["put", "Rows", "p", "1", "A=b"]);
    folder.done(&["backup", "backups", "--yes"]);
    let restore = ["restore", "backups", "--into", "local:new"];
    folder.run(&restore).failed(2);
    assert!(!folder.file("new").exists());
    let restore = [&restore[..], &["--yes"]].concat();
    let error = folder
        .run(&[&restore[..], &["--position", "absent/position"]].concat())
        .failed(1);
    assert!(
        error.contains("absent/position") && error.contains("--position"),
        "{error}"
    );
    assert_eq!(folder.run(&["ls", "local:new"]).output, "");
    folder
        .run(&[&restore[..], &["--position", "elsewhere"]].concat())
        .done();
    assert_eq!(folder.run(&["ls", "local:new"]).done(), "Rows\n");
    assert!(!folder.file("elsewhere").exists());
}

#[tokio::test]
async fn chain_of_backups_is_bounded_and_checked() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    let mut backups = Vec::new();
    for number in 0..6 {
        folder.done(&["put", "Rows", "p", &number.to_string(), "A=b"]);
        let name = folder.done(&["backup", "backups", "--yes", "--chain", "3"]).output;
        backups.push(name.trim().to_owned());
    }
    let listed = folder.run(&["backups", "backups"]).done();
    let full: Vec<_> = listed.lines().map(|line| line.contains(", full, ended ")).collect();
    assert_eq!(full, [true, false, false, true, false, false], "{listed}");
    folder.run(&["verify-backup", "backups"]).done();
    folder
        .run(&["restore", "backups", "--into", "local:new", "--yes"])
        .done();
    assert_eq!(
        folder
            .run(&["query", "local:new/Rows", "--scan", "--count", "--quiet"])
            .done(),
        "6\n"
    );
    let help = folder.run(&["backup", "--help"]).done();
    assert!(help.contains("[default: 30]"), "{help}");

    for number in 6..30 {
        folder.done(&["put", "Rows", "p", &number.to_string(), "A=b"]);
        folder.done(&["backup", "long", "--yes", "--chain", "100"]);
    }
    let few = format!(
        "ulimit -n 24; exec '{}' verify-backup long",
        env!("CARGO_BIN_EXE_aztable")
    );
    let mut shell = Command::new("sh");
    let ran: Ran = shell
        .args(["-c", &few])
        .current_dir(folder.path())
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.output.contains("oo many open files"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_is_restored_by_the_end_that_the_list_prints() {
    let server = backed_up(Emulator::new(), &[("Rows", vec![row("p", "1", "old")])]).await;
    let listed = server.done(&["backups", "backups"]).await.output;
    assert!(listed.contains("  Rows  1 row, 1 stored in "), "{listed}");
    let (_, end) = listed.trim_end().rsplit_once(", ended ").unwrap();
    let restore = ["restore", "backups", "--into", "@target", "--yes", "--at"];
    let error = server
        .run(&[&restore[..], &["2026-01-02T00:00:00Z"]].concat())
        .await
        .failed(1);
    let first = format!("no backup with these tables had ended by then (the first end: {end})\n");
    assert!(error.ends_with(&first), "{error}");
    let absent = [&restore[..5], &["--tables", "Absent"]].concat();
    let error = server.run(&absent).await.failed(1);
    assert!(error.ends_with("had ended by then (the first end: none)\n"), "{error}");

    let ran = server.done(&[&restore[..], &[end, "--json"]].concat()).await;
    assert!(
        ran.error.contains("restore 1 table with 1 row of the backup"),
        "{}",
        ran.error
    );
    let progress = ran.error.lines().rfind(|line| line.contains("\"progress\"")).unwrap();
    assert!(progress.contains("\"percent\":100,"), "{progress}");
}

#[tokio::test]
async fn damaged_manifest_blocks_no_other_backup() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    let backup = |options: &[&str]| {
        let ran = folder.local(&[&["backup", "backups", "--yes"], options].concat());
        assert_eq!(ran.code, 0, "{}", ran.error);
        (ran.output.trim().to_owned(), ran.error)
    };
    let (damaged, _) = backup(&[]);
    let (last, _) = backup(&["--full"]);
    let manifest = |name: &str| folder.file(&format!("backups/{name}/manifest.json"));
    fs::write(manifest(&damaged), "{}").unwrap();
    let (_, notes) = backup(&[]);
    assert!(notes.contains(&damaged) && notes.contains("damaged"), "{notes}");
    let ran = folder.run(&["restore", "backups", "--into", "local:new", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert_eq!(folder.run(&["backups", "backups"]).done().lines().count(), 2);

    // The latest backup may be the one that is needed.
    let (newest, _) = backup(&[]);
    fs::write(manifest(&newest), "{}").unwrap();
    let restore = ["restore", "backups", "--into", "local:newer", "--yes"];
    let error = folder.run(&restore).failed(1);
    assert!(error.contains(&newest) && error.contains("--at"), "{error}");
    folder.run(&[&restore[..], &["--at", &last]].concat()).done();
}
