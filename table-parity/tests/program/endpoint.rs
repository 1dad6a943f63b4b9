//! A run on an endpoint: its files and exit codes.

use std::process::{Command, Output, Stdio};

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{Emulator, EmulatorServer};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::Value;

use super::{ACCOUNT, Folder, KEY, emulator};

/// An account in a cloud, to which nothing is sent.
const LIVE: &str = "https://contoso.table.core.windows.net";

/// Starts the program in the folder, and waits for its end.
async fn ended(folder: &Folder, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_table-parity"));
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null());
    let output: Output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// Answers every read of an entity with 410.
#[derive(Debug)]
struct Gone(Emulator);

impl Transport for Gone {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let is_read = request.method() == "GET" && request.uri().path().contains("RowKey=");
            let mut response = self.0.send(request).await?;
            if is_read {
                *response.status_mut() = StatusCode::GONE;
            }
            Ok(response)
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn report_badge_and_results_are_written_and_nothing_is_left() {
    let (emulator, folder) = (emulator(), Folder::new());
    let server = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0").await.unwrap();
    let behind = emulator.clone();
    let server = server.through(|_| Gone(behind)).spawn();
    let endpoint = format!("http://{}/{ACCOUNT}", server.address());
    std::fs::write(folder.path().join("key"), format!("{KEY}\n")).unwrap();
    let account = [
        "--endpoint",
        &endpoint,
        "--account",
        ACCOUNT,
        "--key",
        "@key",
        "--no-suite",
    ];
    let files = ["--report", "out.html", "--badge", "badge.json", "--json", "out.json"];

    let (code, text) = ended(&folder, &[account.as_slice(), files.as_slice()].concat()).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains(" facts as live\n") && !text.contains(KEY), "{text}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let page = read("out.html");
    assert!(
        page.contains("<mark>410</mark>") && !page.contains(ACCOUNT),
        "{page:.3000}"
    );
    let json = |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap();
    let [badge, results] = [json("badge.json"), json("out.json")];
    let message = format!("{} of {} facts", results["facts"]["alike"], results["facts"]["of"]);
    assert_eq!(badge["schemaVersion"], 1);
    assert_eq!(badge["message"], message.as_str());
    let differences = &results["different"][0]["differences"][0];
    assert_eq!(
        (&differences["part"], &differences["came"]),
        (&"status".into(), &"410".into())
    );
    assert_eq!(emulator.tables(), []);
    let mut left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["badge.json", "key", "out.html", "out.json"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_of_the_command_line_and_of_the_endpoint_are_usage() {
    let folder = Folder::new();
    let server = EmulatorServer::bind(emulator(), "127.0.0.1:0").await.unwrap().spawn();
    let endpoint = format!("http://{}/{ACCOUNT}", server.address());
    std::fs::write(folder.path().join("wrong"), "d3Jvbmc=").unwrap();
    for (arguments, why) in [
        (&[][..], "--endpoint URL"),
        (&["--report", "out.html"], "--endpoint URL"),
        (&["--endpoint", &endpoint, "--account", ACCOUNT], "its key is needed"),
        (
            &["--endpoint", &endpoint, "--account", ACCOUNT, "--key", KEY],
            "name it as @FILE",
        ),
        (
            &["--endpoint", &endpoint, "--account", ACCOUNT, "--key", "@wrong"],
            "check the account name and the key",
        ),
        (
            &["--endpoint", LIVE, "--account", ACCOUNT, "--key", "@wrong"],
            "--yes starts without the question",
        ),
        (
            &["--endpoint", &endpoint, "AccountKey=a2V5"],
            "every argument is an option",
        ),
    ] {
        let (code, text) = ended(&folder, arguments).await;
        assert_eq!(code, 2, "{arguments:?}: {text}");
        assert!(
            text.contains(why) && !text.contains(KEY) && !text.contains("a2V5"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn maximum_of_requests_stops_the_facts_and_keeps_their_results() {
    let (emulator, folder) = (emulator(), Folder::new());
    let server = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let endpoint = format!("http://{}/{ACCOUNT}", server.address());
    std::fs::write(folder.path().join("key"), KEY).unwrap();
    let account = [
        "--endpoint",
        &endpoint,
        "--account",
        ACCOUNT,
        "--key",
        "@key",
        "--no-suite",
    ];
    let (code, text) = ended(
        &folder,
        &[&account[..], &["--max-requests", "70", "--json", "out.json"]].concat(),
    )
    .await;
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("the next one would exceed the maximum of 70"), "{text}");
    let results = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    assert!(results["alike"].as_array().unwrap().len() > 5, "{results}");
    assert_eq!(emulator.tables(), []);
}
