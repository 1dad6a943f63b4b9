//! `import`: files of other programs, rows that are rejected, and a resume.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use azure_table::emulator::ServiceModel;
use azure_table::{DynamicEntity, EdmValue, Emulator, EmulatorServer, TableServiceClient};
use serde_json::json;

use crate::program::server::Server;
use crate::program::{Folder, LIMIT, Ran, rows};

/// Imports a file into the table `Rows` of the folder.
fn import(folder: &Folder, name: &str, contents: &str, options: &[&str]) -> Ran {
    folder.write(name, contents);
    folder.local(&[&["import", name, "Rows", "--yes"], options].concat())
}

/// Returns a row of the table `Rows`.
async fn get(folder: &Folder, partition: &str, row: &str) -> DynamicEntity {
    let read = folder.table("Rows").get((partition, row)).await.unwrap();
    read.unwrap()
}

#[tokio::test]
async fn csv_of_storage_explorer_keeps_its_types() {
    let folder = Folder::new();
    let csv = concat!(
        "\u{feff}PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type,Is,Is@type\r\n",
        "p,1,2025-09-22T09:45:35.2743359Z,7,Edm.Int32,,String,true,Boolean\r\n",
        "p,2,2025-09-22T09:45:35.2743359Z,007,Edm.String,,,false,\r\n",
        // Some versions name the types in the first row only.
        "p,3,2025-09-22T09:45:35.2743359Z,9,,Ada,,,\r\n",
        "p,4,2025-09-22T09:45:35.2743359Z,1,Int64,a,Int32,,\r\n",
    );
    let ran = import(&folder, "rows.csv", csv, &[]);
    assert_eq!(ran.code, 1, "{}", ran.error);
    assert!(
        ran.error.contains("line 5, Name: \"a\" is no Edm.Int32"),
        "{}",
        ran.error
    );
    assert!(ran.error.contains("4 read, 3 written, 1 rejected"), "{}", ran.error);
    let one = get(&folder, "p", "1").await;
    let properties: Vec<_> = one.properties.into_iter().collect();
    assert_eq!(
        properties,
        [
            ("Age".to_owned(), EdmValue::Int32(7)),
            ("Is".to_owned(), true.into()),
            ("Name".to_owned(), "".into()),
        ]
    );
    let two = get(&folder, "p", "2").await;
    assert_eq!((two.get("Age"), two.get("Name")), (Some(&"007".into()), None));
    assert_eq!(get(&folder, "p", "3").await.get("Name"), Some(&"Ada".into()));
}

#[tokio::test]
async fn json_of_azcopy_is_read() {
    let folder = Folder::new();
    let one = r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"1","Timestamp":"2015-08-18T00:00:00Z","N@odata.type":"Edm.Int64","N":"5","D":1.0,"T":"[}"}"#;
    let two = r#"{"PartitionKey":"p","RowKey":"2","D@odata.type":"Edm.Double","D":"NaN"}"#;
    let bad = r#"{"PartitionKey":"p"}"#;
    for (number, json) in [
        format!("[{one},\n{two}]"),
        format!("{{\"odata.metadata\":\"https://a.table.core.windows.net/$metadata#T\",\"value\":[{one},{two}]}}\n"),
        format!("{one}\r\n{two}\r\n"),
        format!("{{\n  \"odata.metadata\": \"https://a/$metadata#T\",\n  \"value\": [\n {one},\n {two} ]\n}}"),
        format!("{{\"value\":[{one},{two}]}}"),
        // What `get` of the service returns: an entity with its own metadata.
        format!(
            "{}\n{two}",
            one.replace(
                "{\"odata.etag\"",
                "{\"odata.metadata\":\"https://a/$metadata#T/@Element\",\"odata.etag\""
            )
        ),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("rows{number}.json");
        let ran = import(&folder, &name, json, &[]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.error);
        let one = get(&folder, "p", "1").await;
        assert_eq!(
            (one.get("N"), one.get("D"), one.get("T")),
            (Some(&5_i64.into()), Some(&1.0.into()), Some(&"[}".into()))
        );
        let two = get(&folder, "p", "2").await;
        assert!(matches!(two.get("D"), Some(EdmValue::Double(number)) if number.is_nan()));
        folder.done(&["rm", "Rows", "--yes"]);
    }
    let ran = import(&folder, "bad.json", &format!("[{bad},{one}]"), &[]);
    assert!(
        ran.code == 1 && ran.error.contains("missing field `RowKey`"),
        "{}",
        ran.error
    );
    let ran = import(&folder, "cut.json", &format!("[{one},"), &[]);
    assert!(ran.code == 1 && ran.error.contains("cut.json"), "{}", ran.error);
}

#[tokio::test]
async fn shown_types_change_no_value() {
    let folder = Folder::new();
    let csv = concat!(
        "Country,City,Id,Phone,Price,Grade,Zip,Share,Count,Large,On,Seen,Area km2\n",
        "x,1,12345678901234567890,+4917,1.10,12E4,0010,0.25,7,5000000000,true,2026-01-02T03:04:05Z,\n",
        "x,2,1,1,1,1,1,177,-7,1,false,2026-01-02T03:04:05.5Z,5\n",
    );
    let ran = import(
        &folder,
        "rows.csv",
        csv,
        &["--keys", "Country,City", "--type", "Zip=int32"],
    );
    assert_eq!(ran.code, 0, "{}", ran.error);
    for line in [
        "\n  Id Edm.String",
        "\n  Zip Edm.Int32",
        "\n  Share Edm.Double",
        "\n  Area km2 Edm.Int32",
    ] {
        assert!(ran.error.contains(line), "{line}\n{}", ran.error);
    }
    let one = get(&folder, "x", "1").await;
    for (name, value) in [
        ("Id", "12345678901234567890".into()),
        ("Phone", "+4917".into()),
        ("Price", "1.10".into()),
        ("Grade", "12E4".into()),
        ("Zip", 10_i32.into()),
        ("Share", 0.25.into()),
        ("Count", 7_i32.into()),
        ("Large", 5_000_000_000_i64.into()),
        ("On", true.into()),
    ] {
        assert_eq!(one.get(name), Some(&value), "{name}");
    }
    assert!(matches!(one.get("Seen"), Some(EdmValue::DateTime(_))));
    assert_eq!(one.get("Areakm2"), None);
    assert_eq!(get(&folder, "x", "2").await.get("Areakm2"), Some(&5_i32.into()));
}

#[test]
fn files_that_lose_rows_or_columns_are_rejected_before_a_write() {
    let folder = Folder::new();
    for (csv, options, code, complaint) in [
        (
            "A,B,N\nx,1,5\n\"x\",\"1\",6\n",
            &["--keys", "A,B"][..],
            1,
            "line 3, its key (\"x\", \"1\") is that of an earlier line: name other columns",
        ),
        (
            "A,B,Area km2,Areakm2\nx,1,5,6\n",
            &["--keys", "A,B"],
            2,
            "the columns \"Area km2\" and \"Areakm2\" become one property",
        ),
        ("A,B\nx,1\n", &[], 2, "no column \"PartitionKey\": name the columns"),
        ("A,B\nx,1\n", &["--keys", "A"], 2, "--keys takes two columns"),
        (
            "A,B\nx,1\n",
            &["--keys", "A,B", "--type", "C=int32"],
            2,
            "no column \"C\"",
        ),
        (
            "A,B\nx,1\n",
            &["--keys", "A,B", "--type", "B=int"],
            2,
            "no type \"int\"",
        ),
    ] {
        let ran = import(&folder, "rows.csv", csv, options);
        assert_eq!(ran.code, code, "{csv}: {}", ran.error);
        assert!(ran.error.contains(complaint), "{csv}: {}", ran.error);
    }
    assert!(!folder.file("tables").exists());
}

#[tokio::test]
async fn no_file_is_lost_to_rejected_rows() {
    let folder = Folder::new();
    let rows = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"p\",\"RowKey\":\"a/b\",\"N\":7}\nx\n";
    folder.write("kept", "kept");
    for (rejects, complaint) in [
        ("kept", "kept exists: name another file"),
        ("rows.jsonl", "rows.jsonl exists"),
        ("absent/rejects", "no folder absent"),
    ] {
        let ran = import(&folder, "rows.jsonl", rows, &["--rejects", rejects]);
        assert!(ran.code == 2 && ran.error.contains(complaint), "{}", ran.error);
    }
    assert_eq!(
        (folder.read("kept").as_str(), folder.read("rows.jsonl").as_str()),
        ("kept", rows)
    );

    let ran = import(&folder, "rows.jsonl", rows, &["--rejects", "rejects"]);
    assert!(ran.error.contains("3 read, 1 written, 2 rejected"), "{}", ran.error);
    let rejects = folder.read("rejects");
    assert!(
        rejects.contains(r#""row":{"N":7,"PartitionKey":"p","RowKey":"a/b"}"#),
        "{rejects}"
    );
}

#[test]
fn a_member_that_is_there_twice_is_rejected() {
    let folder = Folder::new();
    let row = r#"{"PartitionKey":"p","RowKey":"1","N":1,"N":2}"#;
    for (name, rows) in [("rows.jsonl", row.to_owned()), ("rows.json", format!("[{row}]"))] {
        let ran = import(&folder, name, &rows, &[]);
        assert!(
            ran.code == 1 && ran.error.contains("it has \"N\" twice"),
            "{}",
            ran.error
        );
        assert!(ran.error.contains("1 read, 1 rejected"), "{}", ran.error);
    }
}

#[tokio::test]
async fn the_last_row_of_a_key_stays() {
    let folder = Folder::new();
    let row = |number| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"N\":{number}}}\n");
    import(&folder, "rows.jsonl", &(0..300).map(row).collect::<String>(), &[]).done();
    assert_eq!(get(&folder, "p", "1").await.get("N"), Some(&299_i32.into()));
}

#[test]
fn a_position_that_is_absent_is_an_error() {
    let folder = Folder::new();
    folder.write("rows.jsonl", "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n");
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    folder.write("out.jsonl", "kept");
    for command in [
        &["import", "rows.jsonl", "Rows"][..],
        &["export", "Rows", "out.jsonl"],
        &["copy", "Rows", "Copy"],
        &["delete", "Rows", "--all"],
    ] {
        let ran = folder.local(&[command, &["--yes", "--resume", "typo.position"]].concat());
        assert!(
            ran.code == 2 && ran.error.contains("no position typo.position"),
            "{command:?} {}",
            ran.error
        );
    }
    for export in [
        &["export", "Absent", "out.jsonl", "--overwrite"][..],
        &["export", "Rows", "out.jsonl", "--overwrite", "--filter", "Value gt"],
    ] {
        assert_eq!(folder.local(export).code, 1, "{export:?}");
    }
    assert_eq!(folder.read("out.jsonl"), "kept");
    folder.done(&["export", "Rows", "out.jsonl", "--overwrite"]);
    let mode = std::os::unix::fs::MetadataExt::mode(&folder.file("out.jsonl").metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_pipe_has_a_position_that_a_command_line_can_name() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("stdin.position")).unwrap();
    let error = folder.local(&["import", "-", "Rows", "--yes"]).failed(1);
    assert!(error.contains("stdin.position: "), "{error}");
}

#[test]
fn position_that_cannot_be_stored_is_an_error_before_the_first_write() {
    let folder = Folder::new();
    folder.write("rows.jsonl", "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n");
    let import = ["import", "rows.jsonl", "Rows", "--yes"];
    let error = folder
        .local(&[&import[..], &["--position", "absent/position"]].concat())
        .failed(1);
    assert!(
        error.contains("absent/position: no position can be stored") && error.contains("another --position"),
        "{error}"
    );
    assert!(!error.contains(" read") && !folder.file("tables").exists(), "{error}");
    folder.done(&[&import[..], &["--position", "elsewhere"]].concat());
    assert!(!folder.file("elsewhere").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_counted_even_if_no_position_can_be_stored_any_more() {
    let server = Server::start(Emulator::new()).await;
    let row = |row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}\n");
    server
        .folder
        .write("rows.jsonl", (0..20_000).map(row).collect::<String>());
    let import = ["import", "rows.jsonl", "Rows", "--yes", "--max-rate", "4000"];
    let position = server.folder.file("rows.jsonl.position");
    let blocked = tokio::task::spawn_blocking(move || {
        while !position.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // A file does not replace a folder.
        while std::fs::remove_file(&position).is_ok() && std::fs::create_dir(&position).is_err() {}
    });
    let ran = server.run(&import).await;
    blocked.await.unwrap();
    let (_, error) = ran.error.split_once("error: ").unwrap();
    assert!(ran.code == 1 && error.contains(" read, "), "{}", ran.error);
    assert!(error.contains("rows.jsonl.position: "), "{error}");
    assert!(error.contains("--resume=rows.jsonl.position"), "{error}");
}

#[test]
fn columns_of_the_service_are_left_out_beside_named_keys() {
    let folder = Folder::new();
    let csv = "City,Street,Timestamp,ETag,Age\nx,1,2026-01-02T03:04:05Z,W/1,7\n";
    let ran = import(&folder, "rows.csv", csv, &["--keys", "City,Street"]);
    assert!(
        ran.code == 0 && ran.error.contains("1 read, 1 written"),
        "{}",
        ran.error
    );
}

#[tokio::test]
async fn digits_of_keys_are_padded_as_numbers_of_a_struct_are() {
    let folder = Folder::new();
    let csv = "shop,id,N\nno,4242,1\nno,17,2\n";
    let warning = "id has digits of different lengths";
    let ran = import(&folder, "rows.csv", csv, &["--keys", "shop,id"]);
    assert!(ran.code == 0 && ran.error.contains(warning), "{}", ran.error);
    assert!(ran.error.contains("--pad id=10"), "{}", ran.error);
    let pad = ["--keys", "shop,id", "--pad", "id=10"];
    let ran = import(&folder, "rows.csv", csv, &pad);
    assert!(ran.code == 0 && !ran.error.contains(warning), "{}", ran.error);
    assert_eq!(get(&folder, "no", "0000004242").await.get("N"), Some(&1_i32.into()));
    assert_eq!(get(&folder, "no", "0000000017").await.get("N"), Some(&2_i32.into()));
    for pad in ["N=10", "absent=10", "id=ten", "id"] {
        let ran = import(&folder, "rows.csv", csv, &["--keys", "shop,id", "--pad", pad]);
        assert!(ran.code == 2 && ran.error.contains("--pad"), "{pad} {}", ran.error);
    }
}

#[test]
fn progress_has_the_part_of_the_file_that_is_written() {
    let folder = Folder::new();
    let row = |row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}\n");
    import(&folder, "rows.jsonl", &(0..3_000).map(row).collect::<String>(), &[]).done();
    for name in ["rows.jsonl.gz", "rows.csv", "rows.parquet"] {
        folder.done(&["export", "Rows", name]);
    }
    for (name, percent) in [
        ("rows.jsonl", json!(100)),
        ("rows.jsonl.gz", json!(100)),
        ("rows.csv", json!(100)),
        ("rows.parquet", json!(100)),
        ("-", json!(null)),
    ] {
        let mut command = folder.command(&["import", name, "Rows", "--local", "tables", "--yes", "--json"]);
        if name == "-" {
            command.stdin(std::fs::File::open(folder.file("rows.jsonl")).unwrap());
        }
        let ran = Ran::from(command.output().unwrap());
        let progress = ran.error.lines().rfind(|line| line.contains("\"progress\"")).unwrap();
        let progress = serde_json::from_str::<serde_json::Value>(progress).unwrap();
        assert_eq!(progress["percent"], percent, "{name}: {}", ran.error);
    }
}

#[test]
fn unfinished_export_is_no_file_to_import() {
    let folder = Folder::new();
    let ran = import(&folder, "rows.jsonl.part", "", &[]);
    assert!(
        ran.code == 2 && ran.error.contains("unfinished export"),
        "{}",
        ran.error
    );
}

/// The number of rows of the imports that are stopped.
const ROWS: usize = 20_000;

fn kill(signal: &str, id: u32) {
    let mut kill = Command::new("kill");
    assert!(kill.args([signal, &id.to_string()]).status().unwrap().success());
}

/// Runs the program until a file exists, and stops it.
fn stopped(mut command: Command, file: &std::path::Path) -> Ran {
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < LIMIT, "no {} after {LIMIT:?}", file.display());
        std::thread::sleep(Duration::from_millis(5));
    }
    kill("-INT", running.id());
    running.wait_with_output().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_and_exports_of_columns_resume_after_signals() {
    let folder = Folder::new();
    let mut csv = "PartitionKey,RowKey,Number,Text\n".to_owned();
    for number in 0..ROWS {
        writeln!(csv, "s{},{number:06},{number},{}", number % 3, number % 10).unwrap();
    }
    folder.write("rows.csv", &csv);
    let slow = ServiceModel::new()
        .write_latency(Duration::from_millis(50))
        .read_latency(Duration::from_millis(100));
    let emulator = Emulator::new().service_model(slow);
    let server = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let account = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        command.env("AZURE_STORAGE_CONNECTION_STRING", server.connection_string());
        command
    };
    let run = |arguments: &[&str]| Ran::from(account(arguments).output().unwrap());

    let import = ["import", "rows.csv", "Rows", "--yes", "--max-rate", "8000"];
    let ran = stopped(account(&import), &folder.file("rows.csv.position"));
    assert_eq!(ran.code, 130, "{}", ran.error);
    let ran = run(&import);
    assert!(ran.code == 2 && ran.error.contains("add --resume"), "{}", ran.error);
    let resume = [&import[..], &["--resume", "rows.csv.position"]].concat();
    // Another file of the same length.
    folder.write("rows.csv", csv.replacen("s0,", "s9,", 1));
    let ran = run(&resume);
    assert!(
        ran.code == 2 && ran.error.contains("its rows have changed"),
        "{}",
        ran.error
    );
    folder.write("rows.csv", &csv);
    let ran = run(&[&resume[..], &["--rejects", "rows.csv"]].concat());
    assert!(ran.code == 1 && folder.read("rows.csv") == csv, "{}", ran.error);
    let ran = run(&resume);
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert!(ran.error.contains("20,000 read, 20,000 written"), "{}", ran.error);
    let table = TableServiceClient::from_transport(emulator.clone())
        .dynamic_table("Rows")
        .unwrap();
    let original = rows(&table).await;
    assert_eq!(original.len(), ROWS);

    for file in ["copy.csv", "copy.parquet"] {
        let export = ["export", "Rows", file];
        let position = format!("{file}.position");
        let ran = stopped(account(&export), &folder.file(&position));
        assert_eq!(ran.code, 130, "{}", ran.error);
        assert!(folder.file(&format!("{file}.rows.jsonl.zst")).exists() && !folder.file(file).exists());
        let resume = [&export[..], &["--resume", &position]].concat();
        for time in [150, 300] {
            let mut killed = account(&resume).stderr(Stdio::null()).spawn().unwrap();
            tokio::time::sleep(Duration::from_millis(time)).await;
            kill("-KILL", killed.id());
            killed.wait().unwrap();
        }
        let ran = run(&resume);
        assert_eq!(ran.code, 0, "{}", ran.error);
        assert!(ran.error.contains("20,000 read, 20,000 written"), "{}", ran.error);
        assert!(!folder.file(&format!("{file}.rows.jsonl.zst")).exists() && !folder.file(&position).exists());
        folder.done(&["import", file, "Copy", "--yes"]);
        assert_eq!(folder.rows("Copy").await, original, "{file}");
        folder.done(&["rm", "Copy", "--yes"]);
    }
}
