//! The Azure Functions handler: the host's POST, a managed identity, and HTTPS to the emulator.

use std::process::{Child, Stdio};
use std::time::Duration;

use azure_table::emulator::ServerCertificate;
use azure_table::{DynamicEntity, Emulator, EmulatorServer, TableServiceClient};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::program;

/// `{"alg":"none"}.{"aud":"https://storage.azure.com","exp":32503680000}.`
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJhdWQiOiJodHRwczovL3N0b3JhZ2UuYXp1cmUuY29tIiwiZXhwIjozMjUwMzY4MDAwMH0.";

/// Reads until the text contains `end`.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(end) {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}

/// Stands for the endpoint of App Service and Functions that issues tokens. Returns its port.
async fn identity_endpoint() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read_until(&mut stream, "\r\n\r\n").await.to_ascii_lowercase();
            assert!(request.contains("x-identity-header: secret"), "{request}");
            assert!(
                request.contains("resource=https%3a%2f%2fstorage.azure.com"),
                "{request}"
            );
            let body = format!(
                r#"{{"access_token":"{TOKEN}","expires_on":"32503680000","resource":"r","token_type":"Bearer"}}"#
            );
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}",
                body.len()
            );
            let response = format!("{head}\r\nConnection: close\r\n\r\n{body}");
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    });
    port
}

/// Sends the host's request for a message. Returns the response.
async fn invoke(port: u16, id: &str, message: &str) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    // The host serializes each value, and the map of them again.
    let body = serde_json::json!({
        "Data": { "order": quoted(message) },
        "Metadata": {
            "DequeueCount": "1",
            "Id": quoted(id),
            "InsertionTime": quoted("2026-11-30T09:00:00+00:00"),
            "sys": { "MethodName": "orders", "UtcNow": "2026-11-30T09:00:01Z" },
        },
    })
    .to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = "POST /orders HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json";
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

/// Ends the program with the test.
struct Handler(Child);

impl Drop for Handler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn messages_of_the_host_are_stored_once_with_a_managed_identity() {
    let certificate = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (pem, key) = (certificate.cert.pem(), certificate.signing_key.serialize_pem());
    let folder = std::env::temp_dir().join(format!("functions-handler-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("certificate.pem");
    std::fs::write(&file, &pem).unwrap();

    let emulator = Emulator::new().token_audience("https://storage.azure.com");
    let orders = TableServiceClient::from_transport(emulator.clone())
        .table::<DynamicEntity>("Orders")
        .unwrap();
    orders.create_table().await.unwrap();
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    let server = server.https(ServerCertificate::from_pem(&pem, &key).unwrap()).spawn();

    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut command = program("functions_handler");
    command
        .env("FUNCTIONS_CUSTOMHANDLER_PORT", port.to_string())
        .env("TABLES", format!("https://{}/devstoreaccount1", server.address()))
        .env(
            "IDENTITY_ENDPOINT",
            format!("http://127.0.0.1:{}/token", identity_endpoint().await),
        )
        .env("IDENTITY_HEADER", "secret")
        .env("SSL_CERT_FILE", &file)
        .env_remove("SSL_CERT_DIR")
        .stdout(Stdio::null());
    let mut handler = Handler(command.spawn().unwrap());
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(handler.0.try_wait().unwrap().is_none(), "the handler ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    for (id, log) in [("m1", "stored m1"), ("m1", "m1 was stored before"), ("m2", "stored m2")] {
        let response = invoke(port, id, r#"{"product": "tea"}"#).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        let body = response.split_once("\r\n\r\n").unwrap().1;
        assert_eq!(
            body,
            format!(r#"{{"Outputs":{{}},"Logs":["{log}"],"ReturnValue":null}}"#)
        );
    }
    let rows = orders.query().partition("2026-11-30").all().await.unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].get("text"), Some(&r#"{"product": "tea"}"#.into()));
    std::fs::remove_dir_all(&folder).unwrap();
}
