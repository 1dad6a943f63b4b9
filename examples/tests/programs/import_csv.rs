//! Import of a CSV file.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use azure_table::emulator::ServiceModel;
use azure_table::{Emulator, EmulatorServer, TableServiceClient};

use crate::process::{self, wait_for};
use crate::{output, program};

const ROWS: usize = 20_000;

#[test]
fn types_are_guessed_from_all_values() {
    let text = output("import_csv");
    for part in [
        "Population       Edm.Int32    5 values",
        "Founded          Edm.Int32    4 values",
        "Areakm2          Edm.Double",
        "Capital          Edm.Boolean",
        "Postcode         Edm.String",
        "Surveyed         Edm.DateTime",
        "imported   5 applied",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// Starts an import into the account.
fn import(account: &str, file: &Path) -> Command {
    let mut command = program("import_csv");
    command.arg(file).arg("Readings");
    command.env("AZURE_STORAGE_CONNECTION_STRING", account);
    command
}

fn text(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    format!("{}{error}", String::from_utf8_lossy(&output.stdout))
}

#[tokio::test(flavor = "multi_thread")]
async fn import_resumes_after_ctrl_c() {
    let folder = std::env::temp_dir().join(format!("import-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("readings.csv");
    let position = folder.join("readings.csv-to-Readings.position");
    let mut csv = "Sensor,Number,Value\n".to_owned();
    for number in 0..ROWS {
        writeln!(csv, "s{},{number:06},{}", number % 3, number % 10).unwrap();
    }
    std::fs::write(&file, csv).unwrap();
    let slow = ServiceModel::new().write_latency(Duration::from_millis(50));
    let emulator = Emulator::new().service_model(slow);
    let server = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();

    let interrupted = import(server.connection_string(), &file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !position.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "no position after 30 s");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let id = interrupted.id();
    let mut kill = Command::new("kill");
    assert!(kill.args(["-INT", &id.to_string()]).status().unwrap().success());
    let interrupted = wait_for(id, "the end by -INT", || interrupted.wait_with_output().unwrap());
    let said = text(&interrupted);
    assert_eq!(interrupted.status.code(), Some(1), "{said}");
    assert!(said.contains("rows so far: the same command resumes"), "{said}");

    let resumed = process::output(&mut import(server.connection_string(), &file), "the second import");
    let said = text(&resumed);
    assert!(resumed.status.success(), "{said}");
    assert!(said.contains("resume     after "), "{said}");
    let service = TableServiceClient::from_transport(emulator);
    let readings = service.dynamic_table("Readings").unwrap();
    assert_eq!(readings.query().count().await.unwrap(), ROWS);
    assert!(!position.exists(), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn guessed_types_change_no_value_and_no_row_replaces_another() {
    let folder = std::env::temp_dir().join(format!("import-kept-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("kept.csv");
    let import = |csv: &str| {
        std::fs::write(&file, csv).unwrap();
        let mut import = program("import_csv");
        import.arg(&file).arg("Kept");
        text(&process::output(&mut import, "an import"))
    };
    let said = import("A,B,Id,Phone,Price,Grade,Share\nx,1,12345678901234567890,+4917,1.10,12E4,0.25\n");
    for column in ["Id", "Phone", "Price", "Grade"] {
        assert!(said.contains(&format!("{column:<16} Edm.String")), "{said}");
    }
    assert!(said.contains("Share            Edm.Double"), "{said}");
    let said = import("A,B,N\nx,1,5\nx,1,6\n");
    assert!(said.contains("line 3 has the key of line 2"), "{said}");
    let said = import("A,B,Area km2,Areakm2\nx,1,5,6\n");
    assert!(
        said.contains("the columns \"Area km2\" and \"Areakm2\" become one property"),
        "{said}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
