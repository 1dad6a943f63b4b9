//! `sas`, `policies`, `cors` and `properties`, on a folder and on an account over HTTP.

use std::fs;

use azure_table::{
    DynamicEntity, Emulator, EmulatorServer, ErrorKind, RunningEmulator, TableClient, TableServiceClient,
};

use crate::program::{Folder, Ran};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// An account that listens, with two orders.
async fn account() -> (RunningEmulator, String) {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let secret = server.connection_string().to_owned();
    let orders = TableServiceClient::from_connection_string(&secret)
        .unwrap()
        .dynamic_table("Orders")
        .unwrap();
    orders.create_table().await.unwrap();
    for customer in ["ada", "ben"] {
        orders.insert(&DynamicEntity::new(customer, "1")).await.unwrap();
    }
    (server, secret)
}

/// Runs the program on the account, while the server answers.
async fn run(folder: &Folder, secret: &str, arguments: &'static [&'static str]) -> Ran {
    let (path, secret) = (folder.path().to_owned(), secret.to_owned());
    tokio::task::spawn_blocking(move || Ran::in_folder(&path, arguments, &[(CONNECTION_STRING, &secret)]))
        .await
        .unwrap()
}

async fn read(url: &str, customer: &str) -> Result<bool, ErrorKind> {
    let orders = TableClient::<DynamicEntity>::from_sas_url(url.trim()).unwrap();
    let order = orders.get((customer, "1")).await.map_err(|error| error.kind())?;
    Ok(order.is_some())
}

#[tokio::test(flavor = "multi_thread")]
async fn signature_has_the_rights_that_it_was_made_for() {
    let (_server, secret) = account().await;
    let folder = Folder::new();
    let made = run(
        &folder,
        &secret,
        &["sas", "Orders", "--permissions", "r", "--partition", "ada"],
    )
    .await;
    let url = made.done();
    assert_eq!(read(&url, "ada").await, Ok(true));
    assert_eq!(read(&url, "ben").await, Ok(false));
    let orders = TableClient::<DynamicEntity>::from_sas_url(url.trim()).unwrap();
    let error = orders.insert(&DynamicEntity::new("ada", "2")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);

    // What was printed is what the other commands take.
    fs::write(folder.path().join("url"), &url).unwrap();
    let row = run(&folder, &secret, &["get", "@url/Orders", "ada", "1"]).await;
    assert!(row.done().starts_with("PartitionKey  ada\n"));
    let shown = run(&folder, &secret, &["sas", "show", "@url"]).await.done();
    let signature = url.trim().split_once("sig=").unwrap().1;
    assert!(!shown.contains(signature), "{shown}");
    for line in [
        "state         valid, if its key is",
        "table         Orders",
        "permissions   r",
        "first row     (\"ada\", \"\")",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }

    let made = run(&folder, &secret, &["sas", "--permissions", "rl", "--hours", "2"]).await;
    let service = TableServiceClient::from_sas_url(made.done().trim()).unwrap();
    assert_eq!(service.list_tables().all().await.unwrap(), ["Orders"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_policy_revokes_its_signatures() {
    let (_server, secret) = account().await;
    let folder = Folder::new();
    run(&folder, &secret, &["policies", "add", "Orders", "others"])
        .await
        .done();
    let readers = &[
        "policies",
        "add",
        "Orders",
        "readers",
        "--permissions",
        "r",
        "--expiry",
        "2999-01-01T00:00:00Z",
    ];
    run(&folder, &secret, readers).await.done();
    let listed = run(&folder, &secret, &["policies", "Orders", "--json"]).await.done();
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(
        listed.contains(r#"{"expiry":"2999-01-01T00:00:00Z","name":"readers","permissions":"r","start":null}"#),
        "{listed}"
    );

    let url = run(&folder, &secret, &["sas", "Orders", "--policy", "readers"])
        .await
        .done();
    assert_eq!(read(&url, "ada").await, Ok(true));
    let asked = run(&folder, &secret, &["policies", "remove", "Orders", "readers"])
        .await
        .failed(2);
    assert!(
        asked.contains("remove the policy readers of Orders") && asked.contains("--yes"),
        "{asked}"
    );
    assert_eq!(read(&url, "ada").await, Ok(true));
    run(&folder, &secret, &["policies", "remove", "Orders", "readers", "--yes"])
        .await
        .done();
    assert_eq!(read(&url, "ada").await, Err(ErrorKind::Unauthenticated));
    let gone = run(&folder, &secret, &["policies", "set", "Orders", "readers", "--yes"])
        .await
        .failed(1);
    assert!(gone.contains("readers"), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cosmos_db_has_statistics_and_no_policies() {
    let server = EmulatorServer::bind(Emulator::cosmos(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let secret = server.connection_string().to_owned();
    let orders = TableServiceClient::from_connection_string(&secret)
        .unwrap()
        .dynamic_table("Orders")
        .unwrap();
    orders.create_table().await.unwrap();
    for number in 0..60 {
        orders
            .insert(&DynamicEntity::new(format!("p{}", number % 20), format!("{number:03}")))
            .await
            .unwrap();
    }
    let folder = Folder::new();
    let stats = run(&folder, &secret, &["stats", "Orders"]).await.done();
    assert!(
        stats.starts_with("60 rows, ") && stats.contains(", 20 partitions, "),
        "{stats}"
    );
    let schema = run(&folder, &secret, &["schema", "Orders", "--all"]).await.done();
    assert!(schema.contains("3 digits") && schema.contains("60 (100 %)"), "{schema}");
    let error = run(&folder, &secret, &["policies", "Orders"]).await.failed(1);
    assert!(error.contains("405 MethodNotAllowed"), "{error}");
}

#[test]
fn expired_signature_is_called_so_and_no_signature_is_taken_from_the_command_line() {
    let folder = Folder::new();
    fs::write(
        folder.path().join("token"),
        "?sv=2019-02-02&tn=Orders&sp=r&se=2020-01-01T00:00:00Z&sig=c2VjcmV0",
    )
    .unwrap();
    let shown = folder.local(&["sas", "show", "@token"]).done();
    assert!(
        shown.starts_with("state         expired\n") && !shown.contains("c2VjcmV0"),
        "{shown}"
    );
    let error = folder.local(&["sas", "show", "sv=1&sig=c2VjcmV0"]).failed(2);
    assert!(error.contains("@FILE") && !error.contains("c2VjcmV0"), "{error}");
    folder.done(&["create", "Orders"]);
    let error = folder.local(&["sas", "Orders", "--permissions", "x"]).failed(2);
    assert!(error.contains("letters of raud"), "{error}");
    let error = folder
        .local(&["sas", "Orders", "--permissions", "r", "--hours", "0"])
        .failed(2);
    assert!(error.contains("--hours"), "{error}");
    let error = folder
        .local(&["sas", "--permissions", "r", "--partition", "7"])
        .failed(2);
    assert!(error.contains("TABLE"), "{error}");
}

#[test]
fn settings_are_shown_and_changed_after_a_question() {
    let folder = Folder::new();
    let add = [
        "cors",
        "add",
        "--origin",
        "https://contoso.com",
        "--method",
        "GET,PUT",
        "--header",
        "content-type",
    ];
    folder.done(&["create", "Rows"]);
    let asked = folder.local(&add).failed(2);
    assert!(asked.contains("set at local:tables: {\"cors\":["), "{asked}");
    assert_eq!(folder.local(&["cors", "show"]).done(), "");
    folder.local(&[add.as_slice(), &["--yes"]].concat()).done();
    let rule = "{\"expose\":[],\"headers\":[\"content-type\"],\"max_age\":3600,\"methods\":[\"GET\",\"PUT\"],\
                \"origins\":[\"https://contoso.com\"]}\n";
    assert_eq!(folder.local(&["cors", "show"]).done(), rule);

    let shown = folder.local(&["properties"]).done();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let metrics = serde_json::json!({ "enabled": false, "apis": false, "keep_days": null });
    assert_eq!(shown["hour_metrics"], metrics);
    assert_eq!(shown["logging"]["write"], false);
    assert_eq!(shown["cors"][0]["origins"][0], "https://contoso.com");
    folder.local(&["cors", "clear", "--yes"]).done();
    assert_eq!(folder.local(&["cors", "show"]).done(), "");
}

#[test]
fn the_program_alone_says_where_tables_are() {
    let (account, key) = ("AccountName=contoso", "AccountKey=c2VjcmV0");
    let secret = format!("DefaultEndpointsProtocol=https;{account};{key};EndpointSuffix=core.windows.net");
    let error = Ran::in_folder(Folder::new().path(), &[], &[(CONNECTION_STRING, &secret)]).failed(2);
    assert!(
        error.contains("TABLE alone is at https://contoso.table.core.windows.net"),
        "{error}"
    );
    assert!(!error.contains("c2VjcmV0"), "{error}");
}

#[cfg(unix)]
#[test]
fn the_page_takes_the_form_of_a_whole_row() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpStream;
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    let mut command = folder.command(&["ui", "--local", "tables"]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut address = String::new();
    let mut output = BufReader::new(running.stdout.take().unwrap());
    output.read_line(&mut address).unwrap();
    let (host, token) = address
        .trim()
        .strip_prefix("http://")
        .unwrap()
        .split_once("/#")
        .unwrap();
    let (_, port) = host.split_once(':').unwrap();
    // 900 KB at the service, and three times as many in a form.
    let value = "%C3%A9".repeat(30_000);
    let property = |number| format!("&name=P{number}&type=string&value={value}");
    let body = "partition=p&row=1&etag=".to_owned() + &(0..15).map(property).collect::<String>();
    let request = format!(
        "POST /tables/Rows/row HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: aztable-{port}={token}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let mut kill = Command::new("kill");
    assert!(
        kill.args(["-INT", &running.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(running.wait().unwrap().code(), Some(0));
    assert!(response.starts_with("HTTP/1.1 303"), "{response:.300}");
    let row = folder.done(&["get", "Rows", "p", "1", "--json"]).output;
    assert_eq!(row.matches('é').count(), 450_000);
}
