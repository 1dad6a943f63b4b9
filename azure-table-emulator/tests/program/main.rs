//! The program `azure-table-emulator` as a user starts it: what it says, how it ends, and with which exit code.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod control;
mod control_access;
mod control_faults;
mod control_requests;
#[expect(unreachable_pub, reason = "a module of the crate of tests, too")]
#[path = "../../../tests/src/process.rs"]
mod process;
mod repeating;
mod stopping;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use azure_table::emulator::EmulatorSnapshot;
use azure_table::{DynamicEntity, Guid, TableServiceClient};
use process::{output, wait_for};

const PROGRAM: &str = env!("CARGO_BIN_EXE_azure-table-emulator");

/// The argument of `env` that no longer ignores SIGHUP, which a program inherits from a shell with `nohup`.
const SIGNALS: &[&str] = match cfg!(target_os = "linux") {
    true => &["--default-signal=HUP"],
    false => &[],
};

fn emulator(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command
        .args(SIGNALS)
        .arg(PROGRAM)
        .args(arguments)
        .env_remove("AZURE_TABLE_EMULATOR_ACCOUNTS")
        .env_remove("AZURE_TABLE_EMULATOR_CONTROL_TOKEN");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The outcome of a start that fails.
fn failed(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = output(&mut emulator(arguments), "a start that fails");
    assert!(stdout.is_empty(), "{}", String::from_utf8_lossy(&stdout));
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Sends a signal to a process.
fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    assert!(kill.args([signal, &process.to_string()]).status().unwrap().success());
}

/// One that runs, killed at the latest when it is dropped.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    connection_string: String,
    /// The output before it was ready.
    introduction: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        Self::of(emulator(arguments))
    }

    fn of(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (stdout, introduction) = wait_for(child.id(), "the start", move || {
            let mut introduction = String::new();
            while !introduction.ends_with("Ctrl-C stops it.\n") {
                assert_ne!(
                    stdout.read_line(&mut introduction).unwrap(),
                    0,
                    "it ended: {introduction}"
                );
            }
            (stdout, introduction)
        });
        let mut lines = introduction.lines().map(str::trim);
        let connection_string = lines.find(|line| line.starts_with("Default")).unwrap().to_owned();
        Self {
            child,
            stdout,
            connection_string,
            introduction,
        }
    }

    /// Returns the address of its control port.
    fn control(&self) -> &str {
        let (_, rest) = self.introduction.split_once("control    http://").unwrap();
        rest.split(['\n', ',']).next().unwrap()
    }

    /// Sends a request that is never answered, which keeps it from ending for 3 s after a signal. Needs `--control=0`.
    fn send_hanging_request(&self) -> TcpStream {
        let port = control::Port::of(self);
        port.ok("PUT /faults", "{\"fault\":\"hangRequest\"}");
        let client = self.send("GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\n\r\n");
        while !port.ok("GET /faults", "").contains("\"hits\":1") {
            std::thread::sleep(Duration::from_millis(5));
        }
        client
    }

    /// Sends text, and waits until it has arrived.
    fn send(&self, text: &str) -> TcpStream {
        let (_, address) = self.connection_string.split_once("http://").unwrap();
        let (address, _) = address.split_once('/').unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(text.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        client
    }

    /// Sends a signal, and waits until the process has seen it.
    fn signal(&mut self, signal: &str) {
        send(signal, self.child.id());
        self.wait_until_stopping();
    }

    fn wait_until_stopping(&mut self) {
        let mut line = String::new();
        while !line.contains(": stopping") {
            line.clear();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it ended");
        }
    }

    /// Sends it a signal; gives the exit code and what it said since it was ready.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id();
        send(signal, id);
        wait_for(id, &format!("the end by {signal}"), move || {
            let mut said = String::new();
            self.stdout.read_to_string(&mut said).unwrap();
            (self.child.wait().unwrap().code(), said)
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_signal_ends_it_and_its_tables_are_there_at_the_next_start() {
    let file: PathBuf = std::env::temp_dir().join(format!("azure-table-{}.json", Guid::random()));
    let arguments = ["--port", "0", "--snapshot", file.to_str().unwrap()];
    for (n, signal) in ["-TERM", "-INT", "-HUP"].into_iter().enumerate() {
        let running = Running::start(&arguments);
        let service = TableServiceClient::from_connection_string(&running.connection_string).unwrap();
        let blogs = service.dynamic_table("Blogs").unwrap();
        blogs.create_table_if_not_exists().await.unwrap();
        assert_eq!(blogs.query().all().await.unwrap().len(), n);
        blogs.insert(&DynamicEntity::new("p", n.to_string())).await.unwrap();
        assert_eq!(
            blogs.insert(&DynamicEntity::new("p", "0")).await.unwrap_err().status(),
            Some(409)
        );
        let (code, said) = running.end(signal);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(" POST /devstoreaccount1/Blogs 204 "), "{said}");
        assert!(
            said.contains(" POST /devstoreaccount1/Blogs 409 EntityAlreadyExists "),
            "{said}"
        );
        assert!(said.ends_with("stopped\n"), "{said}");
        assert_eq!(EmulatorSnapshot::read(&file).unwrap().entity_count(), n + 1);
    }
    fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn a_key_may_stand_in_a_file() {
    let file = std::env::temp_dir().join(format!("azure-table-{}.key", Guid::random()));
    fs::write(&file, "AAECAwQFBgc=\n").unwrap();
    let account = format!("contoso:@{}", file.display());
    let running = Running::start(&["--port=0", "--account", &account]);
    fs::remove_file(&file).unwrap();
    let connection = running.connection_string.replace("devstoreaccount1", "contoso");
    let (before, after) = connection.split_once("AccountKey=").unwrap();
    let (_, after) = after.split_once(';').unwrap();
    let connection = format!("{before}AccountKey=AAECAwQFBgc=;{after}");
    let service = TableServiceClient::from_connection_string(&connection).unwrap();
    assert_eq!(service.list_tables().await.unwrap().len(), 0);
}

#[test]
fn a_snapshot_that_cannot_be_written_says_what_is_lost() {
    let folder = std::env::temp_dir().join(format!("azure-table-{}", Guid::random()));
    fs::create_dir(&folder).unwrap();
    let file = folder.join("tables.json");
    let text = "{\"azure-table-snapshot\":1}\n{\"account\":\"a\"}\n{\"table\":\"Blogs\"}\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n";
    fs::write(&file, text).unwrap();
    let mut running = Running::start(&["--port", "0", "--snapshot", file.to_str().unwrap()]);
    fs::remove_dir_all(&folder).unwrap();
    let mut stderr = running.child.stderr.take().unwrap();
    let (code, _) = running.end("-TERM");
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.starts_with(&format!("error: snapshot {}: ", file.display())),
        "{said}"
    );
    assert!(
        said.ends_with(": it could not be written, 1 table, 1 entity are lost\n"),
        "{said}"
    );
}

#[test]
fn a_request_that_does_not_end_leaves_time_for_the_snapshot() {
    let file = std::env::temp_dir().join(format!("azure-table-{}.json", Guid::random()));
    let running = Running::start(&["--port=0", "--control=0", "--snapshot", file.to_str().unwrap()]);
    fs::remove_file(&file).unwrap();
    let _pending = running.send_hanging_request();
    let (code, said) = running.end("-TERM");
    assert_eq!(code, Some(0), "{said}");
    let first = "SIGTERM: stopping; another signal stops it at once, without the snapshot\n";
    assert!(said.contains(first), "{said}");
    // Docker kills a container after 10 s.
    assert!(
        said.contains("requests in flight were not answered within 3s\n"),
        "{said}"
    );
    EmulatorSnapshot::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn it_says_nothing_of_keys_and_where_asked_nothing_of_requests() {
    let running = Running::start(&["--port=0", "-q", "--account", "contoso:AAECAwQFBgc="]);
    assert!(
        running
            .introduction
            .contains("AccountName=contoso;AccountKey=<the key you gave>;")
    );
    assert!(!running.introduction.contains("AAECAwQFBgc="));
    let service = TableServiceClient::from_connection_string(&running.connection_string).unwrap();
    service.ping().await.unwrap();
    let (_, said) = running.end("-TERM");
    assert!(!said.contains("GET"), "{said}");
}

#[test]
fn key_that_others_can_see_or_use_is_warned_of() {
    for (arguments, expected) in [
        (&["--port=0"][..], ""),
        (
            &["--port=0", "--host=0.0.0.0"],
            "warning: other machines can reach 0.0.0.0, and the key of devstoreaccount1 is public: use --host 127.0.0.1, or \
             --account devstoreaccount1:@FILE with a key of your own\n",
        ),
        (
            &["--port=0", "--host=0.0.0.0", "--account=devstoreaccount1:AAECAwQFBgc="],
            "warning: all users of this machine can see the key of devstoreaccount1 in the list of processes: use \
             --account devstoreaccount1:@FILE, or AZURE_TABLE_EMULATOR_ACCOUNTS in the environment\n",
        ),
    ] {
        let mut running = Running::start(arguments);
        let mut stderr = running.child.stderr.take().unwrap();
        running.end("-TERM");
        let mut said = String::new();
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(said, expected, "{arguments:?}");
    }
}

#[tokio::test]
async fn cosmos_can_be_used_by_the_string_that_it_prints() {
    let running = Running::start(&["--port=0", "--profile=cosmos"]);
    let service = TableServiceClient::from_connection_string(&running.connection_string).unwrap();
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert_or_merge(&DynamicEntity::new("p", "r")).await.unwrap();
    let (_, endpoint) = running.connection_string.split_once("TableEndpoint=").unwrap();
    let rest = endpoint.strip_prefix("http://localhost:").unwrap();
    let (port, rest) = rest.split_once('/').unwrap();
    assert_eq!((port.parse::<u16>().is_ok(), rest), (true, ";"), "{endpoint}");
}

#[test]
fn program_listens_where_localhost_leads() {
    let has_ipv6 = TcpListener::bind("[::1]:0").is_ok();
    let connects = |running: &Running, host: &str| {
        let (_, rest) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
        let port = rest.split(['/', ':']).nth(1).unwrap();
        TcpStream::connect(format!("{host}:{port}")).is_ok()
    };
    for arguments in [&["--port=0"][..], &["--port=0", "--profile=cosmos", "--host=localhost"]] {
        let running = Running::start(arguments);
        assert!(connects(&running, "127.0.0.1"), "{arguments:?}");
        assert_eq!(connects(&running, "[::1]"), has_ipv6, "{arguments:?}");
    }
    let running = Running::start(&["--port=0", "--host=127.0.0.1"]);
    assert!(connects(&running, "127.0.0.1") && !connects(&running, "[::1]"));
}

#[test]
fn error_names_the_value_and_sets_the_exit_code() {
    let file = std::env::temp_dir().join(format!("azure-table-{}.json", Guid::random()));
    fs::write(&file, "{\"azure-table-snapshot\":1}\n{\"table\":\"Blogs\"}\n").unwrap();
    let running = Running::start(&["--port", "0"]);
    let endpoint = running.connection_string.split("127.0.0.1:").nth(1).unwrap();
    let taken = endpoint.split('/').next().unwrap();
    for (arguments, code, why) in [
        (&["--bogus"][..], 2, "unexpected argument '--bogus' found"),
        (&["--prot=1"], 2, "a similar argument exists: '--port'"),
        (
            &["--acount=contoso:*SECRET*"],
            2,
            "unexpected argument '--acount' found",
        ),
        (
            &["extra"],
            2,
            "\"extra\" is not a command: check, upgrade, import or export; --data DIR serves a folder\n\nFor more information, try '--help'.",
        ),
        (&["check"], 2, "check needs one folder"),
        (&["export", "/no/folder"], 2, "export needs a folder and a snapshot"),
        (&["check", "/no/folder"], 1, "/no/folder: not an emulator folder"),
        (&["--sync", "always"], 2, "--sync needs --data"),
        (
            &["--data", "d", "--sync", "soon"],
            2,
            "invalid value 'soon' for '--sync <WHEN>'\n  [possible values: always, interval, never]",
        ),
        (
            &["--data", "d", "--snapshot", "s"],
            2,
            "--snapshot cannot be combined with --data",
        ),
        (
            &["--port"],
            2,
            "a value is required for '--port <N>' but none was supplied",
        ),
        (
            &["--port", "65536"],
            2,
            "'65536' for '--port <N>': it must be 0 to 65535",
        ),
        (
            &["--host", "nowhere"],
            2,
            "'nowhere' for '--host <ADDRESS>': it must be an address",
        ),
        (&["--account", "contoso"], 2, "--account needs NAME:@FILE"),
        (
            &["--account", "contoso:*SECRET*"],
            2,
            "--account contoso: key of account \"contoso\": ",
        ),
        (
            &["--account", "a:AAAA", "--account", "b:AAAA", "--account", "a:BBBB"],
            2,
            "--account a: it is set twice",
        ),
        (&["--account", "a:@/no/key"], 2, "--account a: /no/key: "),
        (
            &["--account", "SECRET+SECRET==:contoso"],
            2,
            "--account: the text before the colon is not the name of an account",
        ),
        (
            &["--account", "contoso-secondary:AAAA"],
            2,
            "not -secondary at the end, which stands for a secondary endpoint",
        ),
        (&["--profile", "blob"], 2, "[possible values: storage, cosmos]"),
        (
            &["--max-connections", "0"],
            2,
            "'0' for '--max-connections <N>': it must be 1 to 1000000",
        ),
        (
            &["--max-bodies", "many"],
            2,
            "'many' for '--max-bodies <MIB>': it must be 1 to 1000000",
        ),
        (
            &["--timeout", "-1"],
            2,
            "'-1' for '--timeout <SECONDS>': it must be 1 to 1000000",
        ),
        (&["--certificate", "c.pem"], 2, "--certificate needs --key"),
        (
            &["--port", "0", "--certificate", "/no/c.pem", "--key", "/no/k.pem"],
            1,
            "/no/c.pem: ",
        ),
        (&["--port", taken], 1, "is in use"),
        (
            &["--port", "0", "--data", file.to_str().unwrap()],
            1,
            ".json: it is a file, --data needs a folder",
        ),
        (
            &["--port", "0", "--snapshot", "/no/tables.json"],
            1,
            "error: snapshot /no/tables.json: ",
        ),
        (
            &["--port", "0", "--snapshot", file.to_str().unwrap()],
            1,
            "line 2: a table, but no account before it",
        ),
    ] {
        let (found, said) = failed(arguments);
        assert_eq!(found, Some(code), "{arguments:?}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains(why),
            "{arguments:?}: {said}"
        );
        assert!(!said.contains("SECRET"), "{said}");
    }
    fs::remove_file(&file).unwrap();
    // The port is asked for before the file is made.
    let (code, _) = failed(&["--port", taken, "--snapshot", file.to_str().unwrap()]);
    assert_eq!((code, file.exists()), (Some(1), false));
    let version = output(&mut emulator(&["--version"]), "--version");
    assert_eq!(
        String::from_utf8(version.stdout).unwrap(),
        concat!("azure-table-emulator ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = output(&mut emulator(&["--help"]), "--help");
    assert!(help.status.success() && help.stdout.starts_with(b"Serves "));
}

#[tokio::test]
async fn program_reads_one_line_and_can_connect() {
    let mut command = emulator(&["--port=0", "--ready-json"]);
    command.env(
        "AZURE_TABLE_EMULATOR_ACCOUNTS",
        "contoso:AAECAwQFBgc=;fabrikam:BwYFBAMCAQA=",
    );
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let (mut stdout, line) = wait_for(child.id(), "the line of --ready-json", move || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        (stdout, line)
    });
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["processId"], child.id());
    assert_eq!(ready["address"], format!("127.0.0.1:{}", ready["port"]));
    assert_eq!(ready["profile"], "storage");
    let accounts = ready["accounts"].as_array().unwrap();
    let names: Vec<_> = accounts
        .iter()
        .map(|account| account["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["devstoreaccount1", "contoso", "fabrikam"]);
    let string = |n: usize| accounts[n]["connectionString"].as_str().unwrap();
    assert!(!line.contains("AAECAwQFBgc="), "{line}");
    let own = string(1).replace("<the key you gave>", "AAECAwQFBgc=");
    for connection in [string(0), &own] {
        let service = TableServiceClient::from_connection_string(connection).unwrap();
        assert_eq!(service.list_tables().await.unwrap().len(), 0);
    }
    send("-TERM", child.id());
    let (code, rest) = wait_for(child.id(), "the end by -TERM", move || {
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        (child.wait().unwrap().code(), rest)
    });
    assert_eq!(code, Some(0));
    assert_eq!(rest, "", "all else goes to standard error");
}

#[test]
fn account_of_a_snapshot_that_has_no_key_is_named_with_the_option_that_gives_it_one() {
    let file = std::env::temp_dir().join(format!("azure-table-{}.json", Guid::random()));
    let text = "{\"azure-table-snapshot\":1}\n{\"account\":\"contoso\"}\n{\"table\":\"Blogs\"}\n";
    fs::write(&file, text).unwrap();
    let running = Running::start(&["--port", "0", "--snapshot", file.to_str().unwrap()]);
    let line = "it has account contoso, which needs --account contoso:@FILE to be reached\n";
    assert!(running.introduction.contains(line), "{}", running.introduction);
    running.end("-TERM");
    fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn tables_in_a_folder_outlive_a_kill_and_can_be_checked_and_moved() {
    let [folder, other] = [(); 2].map(|()| std::env::temp_dir().join(format!("azure-table-{}", Guid::random())));
    let [data, copy] = [&folder, &other].map(|folder| folder.to_str().unwrap());
    for expected in 0..3 {
        let mut running = Running::start(&["--port=0", "--quiet", "--data", data]);
        assert!(running.introduction.contains(data), "{}", running.introduction);
        let service = TableServiceClient::from_connection_string(&running.connection_string).unwrap();
        let blogs = service.dynamic_table("Blogs").unwrap();
        blogs.create_table_if_not_exists().await.unwrap();
        assert_eq!(blogs.query().all().await.unwrap().len(), expected);
        blogs
            .insert(&DynamicEntity::new("p", expected.to_string()))
            .await
            .unwrap();
        let (code, said) = failed(&["--port=0", "--data", data]);
        let holder = format!("process {} has this folder open", running.child.id());
        assert!(code == Some(1) && said.contains(&holder), "{said}");
        // Without a chance to write anything.
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }
    let snapshot = folder.with_extension("json");
    let file = snapshot.to_str().unwrap();
    let said = |arguments: &[&str]| {
        let output = output(&mut emulator(arguments), arguments[0]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let checked = said(&["check", data]);
    assert!(
        checked.contains("format 1, 1 table, 3 entities, ") && checked.ends_with("; account devstoreaccount1\n"),
        "{checked}"
    );
    assert_eq!(
        said(&["export", data, file]),
        format!("{file}: 1 table, 3 entities exported\n")
    );
    assert_eq!(
        said(&["import", copy, file]),
        format!("{copy}: 1 table, 3 entities imported\n")
    );
    assert!(said(&["upgrade", copy]).contains(" 1 table, 3 entities, "));
    fs::remove_file(&snapshot).unwrap();
    for folder in [folder, other] {
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn closed_standard_error_ends_nothing() {
    // A shell that greps for the ready line has closed it by the time of the warnings.
    let unread = |arguments: &[&str]| {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut command = emulator(arguments);
        command.stderr(writer);
        command
    };
    for ready in ["-q", "--ready-json"] {
        let mut child = unread(&["--port=0", "--host=0.0.0.0", ready]).spawn().unwrap();
        let id = child.id();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        send("-TERM", id);
        let code = wait_for(id, "the end by -TERM", move || child.wait().unwrap().code());
        assert_eq!(code, Some(0), "{ready}: {line}");
    }
    let rejected = unread(&["--account", "contoso"]).status().unwrap();
    assert_eq!(rejected.code(), Some(2));
}

#[tokio::test]
async fn output_that_nobody_reads_stops_neither_requests_nor_the_end() {
    const REQUESTS: usize = 3_000;
    let file: PathBuf = std::env::temp_dir().join(format!("azure-table-{}.json", Guid::random()));
    let snapshot = file.to_str().unwrap();
    // Both streams are pipes, of which this process reads the ready line alone.
    let mut child = emulator(&["--port", "0", "--ready-json", "--snapshot", snapshot])
        .spawn()
        .unwrap();
    let id = child.id();
    let stdout = child.stdout.take().unwrap();
    let (ready, _unread) = wait_for(id, "the start", move || {
        let (mut stdout, mut ready) = (BufReader::new(stdout), String::new());
        stdout.read_line(&mut ready).unwrap();
        (ready, stdout)
    });
    let ready: serde_json::Value = serde_json::from_str(&ready).unwrap();
    let connection_string = ready["accounts"][0]["connectionString"].as_str().unwrap();
    let service = TableServiceClient::from_connection_string(connection_string).unwrap();
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    for _ in 0..REQUESTS {
        assert!(blogs.exists(("p", "r")).await.unwrap());
    }
    send("-TERM", id);
    let code = wait_for(id, "the end by -TERM", move || child.wait().unwrap().code());
    assert_eq!(code, Some(0));
    assert_eq!(EmulatorSnapshot::read(&file).unwrap().entity_count(), 1);
    fs::remove_file(file).unwrap();
}
