//! A Table service and an authority of Entra ID over HTTPS, both with the certificate that the argument names.
//!
//! Writes the certificate to the file of the first argument, prints the addresses of both, and runs until its input
//! ends. The authority issues one unsigned token, which the emulator accepts.

use std::error::Error;
use std::io::Read as _;
use std::sync::Arc;

use azure_table_emulator::{Emulator, EmulatorServer, ServerCertificate};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// `{"alg":"none"}.{"aud":"https://storage.azure.com","exp":32503680000}.`
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJhdWQiOiJodHRwczovL3N0b3JhZ2UuYXp1cmUuY29tIiwiZXhwIjozMjUwMzY4MDAwMH0.";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: server CERTIFICATE")?;
    let generated = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let (certificate, key) = (generated.cert.pem(), generated.signing_key.serialize_pem());
    std::fs::write(file, &certificate)?;
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });

    let emulator = Emulator::new().token_audience("https://storage.azure.com");
    let tables = EmulatorServer::bind(emulator, "127.0.0.1:0").await?;
    let tables = tables.https(ServerCertificate::from_pem(&certificate, &key)?).spawn();

    let key = PrivateKeyDer::Pkcs8(generated.signing_key.serialize_der().into());
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![generated.cert.der().clone()], key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let authority = TcpListener::bind("127.0.0.1:0").await?;
    println!("{} {}", tables.address(), authority.local_addr()?);
    loop {
        let (client, _) = authority.accept().await?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            if let Err(error) = issue(client, &acceptor).await {
                eprintln!("authority: {error}");
            }
        });
    }
}

/// Answers one request with the token.
async fn issue(client: TcpStream, acceptor: &TlsAcceptor) -> std::io::Result<()> {
    let mut client = acceptor.accept(client).await?;
    let mut request = vec![0; 64 * 1024];
    let mut read = 0;
    // The body of a request for a token ends with its last field, at the latest in the second read.
    loop {
        read += client.read(&mut request[read..]).await?;
        let text = String::from_utf8_lossy(&request[..read]);
        if text.contains("\r\n\r\n") && text.contains("grant_type=") {
            break;
        }
    }
    let body = format!(
        "{{\"token_type\":\"Bearer\",\"expires_in\":3600,\"ext_expires_in\":3600,\"access_token\":\"{TOKEN}\"}}"
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length:";
    client
        .write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes())
        .await?;
    client.shutdown().await
}
