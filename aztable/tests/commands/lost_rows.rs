//! Rows that a run must not lose or delete in silence, and files and tables that are not its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use azure_table::emulator::ServiceModel;
use azure_table::{DynamicEntity, Emulator};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use serde_json::Value;

use crate::program::server::{Halves, Server};
use crate::program::{Folder, Ran};

const ROW: &str = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n";

/// A folder with a table of one row, which is in `rows.jsonl` as well.
fn one_row() -> Folder {
    let folder = Folder::new();
    folder.write("rows.jsonl", ROW);
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    folder
}

/// A service with a table `Half` whose row `b` cannot be read, and a folder with a good copy of it.
async fn unreadable(emulator: Emulator) -> Server {
    let server = Server::through(emulator, Halves).await;
    let table = server.table("Half").await;
    for (key, text) in [("a", "x"), ("b", "xHALF"), ("c", "x")] {
        let mut row = DynamicEntity::new("p", key);
        row.insert("T", text);
        table.insert(&row).await.unwrap();
    }
    for (key, text) in [("a", "T=x"), ("b", "T=the good copy"), ("c", "T=x"), ("d", "T=x")] {
        let place = "local:copy/Rows";
        if key == "a" {
            server.folder.run(&["create", place]).done();
        }
        server.folder.run(&["put", place, "p", key, text]).done();
    }
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn sync_does_not_delete_a_row_that_the_source_has_but_cannot_show() {
    for emulator in [Emulator::new(), Emulator::cosmos()] {
        let server = unreadable(emulator).await;
        let diff = server.run(&["diff", "Half", "local:copy/Rows"]).await;
        assert!(diff.code == 1 && diff.output == "+ \"p\" \"d\"\n", "{diff:?}");
        assert!(diff.error.contains("1 extra, 1 rejected"), "{diff:?}");
        let sync = ["sync", "Half", "local:copy/Rows", "--delete", "--yes"];
        let dry = server.run(&[&sync[..], &["--dry-run"]].concat()).await.failed(1);
        assert!(dry.contains("1 row is left"), "{dry}");
        let ran = server.run(&sync).await.failed(1);
        let counts = "error: 4 read, 2 unchanged, 1 deleted, 1 rejected: 1 row is left";
        assert!(ran.contains(counts) && ran.contains(r#"rejected ["p","b"]"#), "{ran}");
        let got = server.done(&["get", "local:copy/Rows", "p", "b", "--json"]).await;
        assert!(got.output.contains("the good copy"), "{got:?}");
        // The other way, the good copy replaces the row that cannot be read.
        let back = ["sync", "local:copy/Rows", "Half", "--yes"];
        let counts = server.done(&back).await.error;
        assert!(counts.contains("3 read, 1 written, 2 unchanged"), "{counts}");
        server.done(&["diff", "Half", "local:copy/Rows"]).await;
    }
}

#[test]
fn file_on_a_ram_disk_is_an_ordinary_one() {
    let Ok(ram) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    let file = ram.path().join("x.jsonl").display().to_string();
    let folder = one_row();
    std::fs::write(&file, "precious\n").unwrap();
    let error = folder.local(&["export", "Rows", &file]).failed(2);
    assert!(error.contains("add --overwrite"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious\n");
    folder.done(&["export", "Rows", &file, "--overwrite"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), ROW);
    let csv = ram.path().join("y.csv").display().to_string();
    std::fs::write(&csv, "PartitionKey,RowKey,N\np,1,7\n").unwrap();
    folder.done(&["import", &csv, "Rows", "--yes"]);
}

#[test]
fn file_that_a_shell_redirects_is_a_stream() {
    let folder = one_row();
    for path in ["-", "/dev/stdout"] {
        folder.write("out", "before\n");
        let file = std::fs::OpenOptions::new()
            .append(true)
            .open(folder.file("out"))
            .unwrap();
        let export = ["export", "Rows", path, "--format", "jsonl", "--local", "tables"];
        assert!(folder.command(&export).stdout(file).status().unwrap().success());
        assert_eq!(folder.read("out"), format!("before\n{ROW}"), "{path}");
    }
}

/// Interrupts an import after its first position.
async fn interrupted(server: &Server, arguments: &[&str]) -> Ran {
    let ran = server
        .stopped("-INT", arguments, "insert", async || {
            let position = server.folder.file("rows.jsonl.position");
            let copied = server.folder.file("Rows-to-Copy.position");
            while !position.exists() && !copied.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    assert_eq!(ran.code, 130, "{ran:?}");
    ran
}

#[tokio::test(flavor = "multi_thread")]
async fn table_that_is_gone_is_not_created_by_a_resumed_run() {
    let server = Server::start(Emulator::new()).await;
    let line = |row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:05}\"}}\n");
    let lines = (0..20_000).map(line).collect::<String>();
    server.folder.write("rows.jsonl", &lines);
    server.done(&["import", "rows.jsonl", "Rows", "--yes"]).await;
    for command in [["import", "rows.jsonl", "New"], ["copy", "Rows", "Copy"]] {
        let command = [&command[..], &["--yes", "--max-rate", "6000"]].concat();
        let stopped = interrupted(&server, &command).await;
        server.done(&["rm", command[2], "--yes"]).await;
        let error = server.resumed(&stopped).await.failed(2);
        assert!(error.contains("is gone since the position was stored"), "{error}");
        let tables = server.done(&["ls"]).await.output;
        assert!(!tables.contains(command[2]), "{tables}");
        if command[0] == "copy" {
            continue;
        }
        server.done(&["create", command[2]]).await;
        // The last digit of a row that was read, far behind the begin of the file.
        let changed = lines.replacen("00999\"}\n", "0099X\"}\n", 1);
        server.folder.write("rows.jsonl", changed);
        let error = server.resumed(&stopped).await.failed(2);
        assert!(error.contains("its rows have changed"), "{error}");
        std::fs::remove_file(server.folder.file("rows.jsonl.position")).unwrap();
        server.folder.write("rows.jsonl", &lines);
    }
}

/// A Parquet file of texts and one column of numbers.
fn parquet(path: &Path, keys: [(&str, &str); 3], numbers: [i64; 3]) {
    let schema = "message m { required binary city (STRING); required binary street (STRING); required int64 id; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = SerializedFileWriter::new(std::fs::File::create(path).unwrap(), schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = 0;
    while let Some(mut writer) = group.next_column().unwrap() {
        let texts: Vec<_> = keys.iter().map(|key| if column == 0 { key.0 } else { key.1 }).collect();
        match column {
            2 => drop(writer.typed::<Int64Type>().write_batch(&numbers, None, None).unwrap()),
            _ => write::<ByteArrayType>(&mut writer, &texts.into_iter().map(ByteArray::from).collect::<Vec<_>>()),
        }
        writer.close().unwrap();
        column += 1;
    }
    group.close().unwrap();
    file.close().unwrap();
}

fn write<T: DataType>(column: &mut parquet::file::writer::SerializedColumnWriter<'_>, values: &[T::T]) {
    column.typed::<T>().write_batch(values, None, None).unwrap();
}

#[tokio::test]
async fn parquet_of_another_program_has_no_equal_keys() {
    let folder = Folder::new();
    parquet(
        &folder.file("f.parquet"),
        [("x", "1"), ("x", "1"), ("y", "2")],
        [1, 2, 3],
    );
    let import = ["import", "f.parquet", "Rows", "--yes", "--keys"];
    let error = folder.local(&[&import[..], &["city,street"]].concat()).failed(1);
    assert!(
        error.contains(r#"row 2 has the key ("x", "1") of an earlier row"#),
        "{error}"
    );
    assert!(!folder.file("tables").exists());
    parquet(
        &folder.file("f.parquet"),
        [("x", "1"), ("x", "1"), ("y", "2")],
        [1, 100, 20],
    );
    let ran = folder.done(&[&import[..], &["city,id"]].concat());
    assert!(
        ran.error.contains("warning: id has digits of different lengths"),
        "{}",
        ran.error
    );
    let ran = folder.done(&[&import[..], &["city,id", "--pad", "id=4"]].concat());
    assert!(!ran.error.contains("warning"), "{}", ran.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_that_lacks_rows_says_so_to_the_end() {
    let server = unreadable(Emulator::new()).await;
    let backup = server.run(&["backup", "backups", "--yes"]).await.failed(1);
    assert!(
        backup.contains("error: 3 read, 2 written, 1 rejected: 1 row is left"),
        "{backup}"
    );
    let lacks = ", without 1 row that could not be read";
    let listed = server.done(&["backups", "backups"]).await.output;
    assert!(listed.contains(lacks), "{listed}");
    let verified = server.run(&["verify-backup", "backups"]).await.failed(1);
    assert!(verified.contains("undamaged") && verified.contains(lacks), "{verified}");
    let restore = ["restore", "backups", "--into", "local:new", "--yes"];
    let restored = server.run(&restore).await.failed(1);
    assert!(restored.contains(lacks), "{restored}");
    assert!(
        restored.contains("error: 3 read, 2 written, 1 rejected: 1 row is left"),
        "{restored}"
    );
}

#[test]
fn backup_is_not_made_behind_the_time_of_the_latest() {
    let folder = one_row();
    folder.done(&["backup", "backups", "--yes"]);
    let manifest = folder
        .file("backups")
        .read_dir()
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let manifest = manifest.join("manifest.json");
    let stored: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let mut contents = stored["manifest"].clone();
    contents["end"] = "2999-01-01T00:00:00Z".into();
    let sha256 = <sha2::Sha256 as sha2::Digest>::digest(contents.to_string());
    let sha256: String = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    let stored = serde_json::json!({ "manifest": contents, "sha256": sha256 });
    std::fs::write(&manifest, stored.to_string()).unwrap();
    let error = folder.local(&["backup", "backups", "--yes"]).failed(2);
    assert!(error.contains("set the clock"), "{error}");
    let error = folder
        .local(&["backup", "other", "--tables", "Rows,rows", "--yes"])
        .failed(2);
    assert!(error.contains("Rows and rows may be one table"), "{error}");
}

#[test]
fn export_takes_over_no_file_of_another_program() {
    let folder = one_row();
    for (file, other) in [
        ("q.jsonl", "q.jsonl.part"),
        ("q.csv", "q.csv.part"),
        ("q.csv", "q.csv.rows.jsonl.zst"),
    ] {
        folder.write(other, "precious\n");
        let error = folder.local(&["export", "Rows", file]).failed(2);
        assert!(error.contains(&format!("{other} exists: no position")), "{error}");
        assert_eq!(folder.read(other), "precious\n");
        std::fs::remove_file(folder.file(other)).unwrap();
    }
    folder.write("behind.jsonl", "old\n");
    symlink("behind.jsonl", folder.file("link.jsonl")).unwrap();
    folder.done(&["export", "Rows", "link.jsonl", "--overwrite"]);
    assert_eq!(folder.read("behind.jsonl"), ROW);
    assert!(folder.file("link.jsonl").is_symlink());
    symlink("nothing.jsonl", folder.file("dangling.jsonl")).unwrap();
    let error = folder
        .local(&["export", "Rows", "dangling.jsonl", "--overwrite"])
        .failed(2);
    assert!(error.contains("a link to nothing"), "{error}");
    let import = ["import", "rows.jsonl", "Rows", "--yes", "--rejects", "dangling.jsonl"];
    folder.local(&import).failed(2);
    assert!(!folder.file("nothing.jsonl").exists());
}

/// Interrupts an export to a file with a name that is not UTF-8.
#[tokio::test(flavor = "multi_thread")]
async fn resumed_export_needs_the_part_that_it_has_written() {
    let slow = ServiceModel::new().read_latency(Duration::from_millis(200));
    let server = Server::start(Emulator::new().service_model(slow)).await;
    let table = server.table("Rows").await;
    let rows = (0..20_000).map(|number| DynamicEntity::new("p", format!("{number:05}")));
    table.bulk().insert(rows).await.unwrap().ensure_no_leftovers().unwrap();
    let path = |ending: &str| {
        let name = [b"f\xff.jsonl", ending.as_bytes()].concat();
        server.folder.path().join(OsString::from_vec(name))
    };
    let position = path(".position");
    let export = |options: &[&OsStr]| {
        let mut command = server.command(&["export", "Rows"]);
        command.arg(path("")).arg("--overwrite").args(options);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let child = export(&[]);
    while !path(".part").metadata().is_ok_and(|part| part.len() > 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let id = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let stopped = Ran::from(child.wait_with_output().unwrap());
    assert!(stopped.code == 130 && stopped.error.contains("--resume"), "{stopped:?}");
    let before = std::fs::read(&position).unwrap();
    let part = std::fs::read(path(".part")).unwrap();
    let resumed = server.resumed(&stopped).await;
    assert!(
        resumed.code == 0 && resumed.error.contains("20,000 written"),
        "{resumed:?}"
    );
    std::fs::write(&position, before).unwrap();
    std::fs::write(path(".part"), part).unwrap();
    // As after a kill before the rename.
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&position).unwrap()).unwrap();
    stored["position"]["is_read"] = true.into();
    std::fs::write(&position, stored.to_string()).unwrap();
    std::fs::remove_file(path(".part")).unwrap();
    std::fs::write(path(""), "old").unwrap();
    let resume = ["--resume".as_ref(), position.as_os_str()];
    let resumed = Ran::from(export(&resume).wait_with_output().unwrap());
    assert!(
        resumed.code == 1 && resumed.error.contains("changed or deleted"),
        "{resumed:?}"
    );
    assert_eq!(std::fs::read_to_string(path("")).unwrap(), "old");
}

#[test]
fn secret_in_any_case_is_not_repeated() {
    let folder = Folder::new();
    let key = format!("{}==", "Secret".repeat(15).split_at(86).0);
    let account = format!("AccountName=contoso;accountkey={key}");
    let url = "https://contoso.table.core.windows.net/?sv=1&SIG=Secret";
    for arguments in [
        &["ls", &account][..],
        &["ls", "--account", &account],
        &["ls", "--AccountKey=Secret"],
        &["export", &format!("{url}/Rows"), "-"],
        &["ls", "--account-key", &key],
        &["copy", "Rows", &key],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(!format!("{ran:?}").contains("Secret"), "{arguments:?}: {ran:?}");
        assert!(ran.error.contains("@FILE"), "{ran:?}");
    }
}

#[test]
fn rejected_row_has_its_key() {
    let folder = one_row();
    let patch = [
        "patch",
        "Rows",
        "--all",
        "--set",
        "RowKey=1",
        "--rejects",
        "rejects",
        "--yes",
    ];
    let error = folder.local(&patch).failed(1);
    assert!(
        error.contains(r#"rejected ["p","1"]"#) && !error.contains("null"),
        "{error}"
    );
    assert!(folder.read("rejects").contains(r#""row":["p","1"]"#));
}

#[test]
fn equal_keys_of_a_file_are_counted() {
    let folder = Folder::new();
    let row = |n| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"N\":{n}}}\n");
    folder.write(
        "rows.jsonl",
        (1..=3).map(row).collect::<String>() + &ROW.replace("\"1\"", "\"2\""),
    );
    let ran = folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    assert!(ran.error.contains("4 read, 2 written, 2 superseded"), "{}", ran.error);
    let got = folder.done(&["get", "Rows", "p", "1", "--json"]).output;
    assert!(got.contains("\"N\":3"), "{got}");
    // The second one has no row to supersede, if the first is rejected.
    let long = format!(
        "{{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"N\":\"{}\"}}\n",
        "x".repeat(40_000)
    );
    folder.write("rows.jsonl", long + &row(4) + &row(5));
    let error = folder.local(&["import", "rows.jsonl", "New", "--yes"]).failed(1);
    assert!(error.contains("3 read, 1 written, 1 superseded, 1 rejected"), "{error}");
}

#[tokio::test]
async fn json_has_marks_and_members_around_its_rows() {
    let folder = Folder::new();
    let row = ROW.trim_end();
    for (file, text) in [
        ("bom.jsonl", format!("\u{feff}{ROW}")),
        ("bom.json", format!("\u{feff}[{row}]")),
        (
            "next.json",
            format!(
                "{{\"odata.metadata\":\"m\",\"value\":[{row}],\"odata.nextLink\":\"T?a=[1]}}\",\"n\":{{\"a\":[]}}}}"
            ),
        ),
        ("two.json", format!("[{{\"value\":[],\"n\":1}},{{\"value\":[{row}]}}]")),
    ] {
        folder.write(file, text);
        let ran = folder.done(&["import", file, "Rows", "--yes"]);
        assert!(ran.error.contains("1 read, 1 written"), "{file}: {}", ran.error);
        folder.done(&["rm", "Rows", "--yes"]);
    }
    folder.write("cut.json", format!("{{\"value\":[{row}],\"odata.nextLink\":\"T"));
    folder.local(&["import", "cut.json", "Rows", "--yes"]).failed(1);
}

/// Runs a script of a shell in the folder, with `$AZTABLE` as the program.
fn shell(folder: &Folder, script: &str) -> Ran {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).env("AZTABLE", env!("CARGO_BIN_EXE_aztable"));
    shell.current_dir(folder.path()).output().unwrap().into()
}

/// Rows of a page that were written, and those behind them.
fn two_pages() -> Folder {
    let folder = Folder::new();
    let row = |number: usize| {
        format!(
            "{{\"PartitionKey\":\"p\",\"RowKey\":\"{number:04}\",\"A\":\"{}\"}}\n",
            "x".repeat(300)
        )
    };
    folder.write("rows.jsonl", (0..1_500).map(row).collect::<String>());
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    folder
}

#[test]
fn export_that_fails_within_a_page_counts_each_row_that_it_took() {
    let folder = two_pages();
    let ran = shell(
        &folder,
        "$AZTABLE --local tables export Rows - --format jsonl > /dev/full",
    );
    let counts = ran.failed(1);
    let number = |name: &str| {
        let before = counts.split_once(name).map_or("", |(before, _)| before.trim_end());
        let digits = before.rsplit(' ').next().unwrap().replace(',', "");
        digits.parse::<u64>().unwrap_or_else(|_| panic!("{name}: {counts}"))
    };
    assert_eq!(number("read"), number("written") + number("not attempted"), "{counts}");
}

#[test]
fn backup_that_cannot_store_its_manifest_prints_how_it_goes_on() {
    let folder = one_row();
    for table in ["Second", "Third", "Fourth"] {
        folder.done(&["import", "rows.jsonl", table, "--yes"]);
    }
    let mut failed_at_the_manifest = 0;
    for kilobytes in 1..12 {
        let script =
            format!("ulimit -f {kilobytes}; trap '' XFSZ; exec $AZTABLE backup local:tables saved{kilobytes} --yes");
        let ran = shell(&folder, &script);
        let backups = std::fs::read_dir(folder.file(&format!("saved{kilobytes}")));
        let is_stored =
            backups.is_ok_and(|mut backups| backups.any(|found| found.unwrap().path().join("position.json").exists()));
        if is_stored && ran.code != 0 {
            assert!(ran.error.contains("this goes on:"), "{ran:?}");
            failed_at_the_manifest += u32::from(ran.error.contains("manifest.json"));
        }
    }
    assert!(
        failed_at_the_manifest > 0,
        "no limit is between the position and the manifest"
    );
}
