//! Files that are streams: `-`, `/dev/…`, pipes; and rows that are printed while they are read.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{DynamicEntity, Emulator};

use crate::program::server::Server;
use crate::program::{Folder, Ran};

/// Runs the program on the tables of a folder, with a text on the standard input.
fn piped(folder: &Folder, input: &str, arguments: &[&str]) -> Ran {
    let mut command = folder.command(&[arguments, &["--local", "tables", "--yes"]].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn rows_of_a_pipe_with_the_key_of_another_one_are_rejected() {
    let folder = Folder::new();
    let csv = "city,street,age\nx,1,5\nx,2,7\nx,1,6\n";
    let import = ["import", "-", "Rows", "--format", "csv", "--keys", "city,street"];
    let options = ["--type", "age=int32", "--rejects", "rejects"];
    let ran = piped(&folder, csv, &[&import[..], &options].concat());
    assert_eq!(ran.code, 1, "{}", ran.error);
    assert!(ran.error.contains("3 read, 2 written, 1 rejected"), "{}", ran.error);
    assert!(
        ran.error
            .contains(r#"line 4, its key ("x", "1") is that of an earlier line"#),
        "{}",
        ran.error
    );
    assert!(folder.read("rejects").contains("x,1,6"));
}

#[test]
fn devices_are_read_and_written_as_pipes_are() {
    let folder = Folder::new();
    let row = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"N\":1}\n";
    let ran = piped(&folder, row, &["import", "/dev/stdin", "Rows", "--format", "jsonl"]);
    assert!(ran.code == 0 && ran.error.contains("1 read, 1 written"), "{ran:?}");
    for (format, output) in [("jsonl", row), ("csv", "PartitionKey,RowKey,N:Edm.Int32\np,1,1\n")] {
        let ran = folder.done(&["export", "Rows", "/dev/stdout", "--format", format]);
        assert_eq!(ran.output, output);
        folder.done(&["export", "Rows", "/dev/null", "--format", format]);
    }
    folder.done(&["export", "Rows", "/dev/null"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn csv_of_a_query_with_named_columns_is_printed_page_by_page() {
    // The third page comes only after the time limit of its request, and then in another one.
    let mut faults = None;
    let hanging = |emulator| {
        let faults = faults.insert(Faults::new(emulator));
        faults.add(FaultRule::new(Fault::HangRequest).on_reads().nth(3));
        faults.clone()
    };
    let server = Server::through(Emulator::new(), hanging).await;
    let table = server.table("Rows").await;
    let rows = (0..5_000).map(|number| DynamicEntity::new("p", format!("{number:04}")));
    table.bulk().insert(rows).await.unwrap().ensure_no_leftovers().unwrap();
    let query = ["query", "Rows", "--csv", "--scan", "--select", "N"];
    let mut child = server
        .command(&query)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "PartitionKey,RowKey,N");
    assert_eq!(lines.next().unwrap().unwrap(), "p,0000,");
    let requests = faults.unwrap().requests();
    assert!(requests <= 3, "all pages at the end: {requests} requests");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(server.done(&query).await.output.lines().count(), 5_001);
}

#[tokio::test(flavor = "multi_thread")]
async fn export_that_the_service_ends_prints_how_to_go_on() {
    let forbidden = ResponseTemplate::new(403).code("AuthorizationPermissionMismatch");
    let faults = |emulator| {
        let faults = Faults::with_seed(emulator, 1);
        faults.add(FaultRule::new(Fault::Respond(forbidden)).on_reads().nth(3));
        faults
    };
    let server = Server::through(Emulator::cosmos(), faults).await;
    let table = server.table("Rows").await;
    let rows = (0..5_000).map(|number| DynamicEntity::new("p", format!("{number:04}")));
    table.bulk().insert(rows).await.unwrap().ensure_no_leftovers().unwrap();
    let stopped = server.run(&["export", "Rows", "rows.jsonl"]).await;
    assert!(stopped.code == 1 && stopped.error.contains("403"), "{}", stopped.error);
    assert!(!server.folder.file("rows.jsonl").exists());
    let resumed = server.resumed(&stopped).await;
    assert!(
        resumed.code == 0 && resumed.error.contains("5,000 read, 5,000 written"),
        "{}",
        resumed.error
    );
    assert_eq!(server.folder.read("rows.jsonl").lines().count(), 5_000);
    // Without a position, nothing goes on.
    let absent = server.run(&["export", "Absent", "absent.jsonl"]).await.failed(1);
    assert!(!absent.contains("--resume"), "{absent}");
}

#[test]
fn csv_for_a_reader_that_has_closed_its_pipe_ends_as_other_tools_do() {
    let folder = Folder::new();
    let row = |row| {
        format!(
            "{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"T\":\"{:0300}\"}}\n",
            row
        )
    };
    folder.write("rows.jsonl", (0..2_000).map(row).collect::<String>());
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    for command in [
        &["export", "Rows", "-", "--format", "csv"][..],
        &["query", "Rows", "--csv", "--scan"],
        &["query", "Rows", "--csv", "--scan", "--select", "T"],
    ] {
        let mut command = folder.command(&[command, &["--local", "tables", "--quiet"]].concat());
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(closed).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(141) && error.is_empty(),
            "{:?} {error}",
            output.status
        );
    }
}
