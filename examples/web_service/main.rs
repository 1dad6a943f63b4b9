//! A web service of notes for programs: ETags, statuses, and an HTTP client shared with other Azure clients.
//!
//! `cargo run -p azure-table-examples --features web --example web_service` starts it on a port of 127.0.0.1, with its
//! table on an emulator on another port, makes some requests, and prints them with the spans of both sides. With
//! `AZURE_STORAGE_CONNECTION_STRING` the notes are on that account. The table client takes the `ClientOptions` of the
//! program: its `reqwest::Client`, and a policy that makes a span. `… -- client` takes the `reqwest::Client` alone.
//!
//! `service.rs` has the routes, the status of each error, and the options. `page_token.rs` signs the links from
//! page to page.
//!
//! Source: the guide "Web services".

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a person")]

mod page_token;
mod service;

use std::error::Error;
use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::time::Duration;

use azure_table::TableServiceClient;
use azure_table::filter::AccessPath;
use azure_table::transport::ReqwestTransport;
use azure_table_examples::{connect_on_port, finish, on_own_tables};
use tokio::net::TcpListener;
use tracing::Level;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::page_token::PageTokens;
use self::service::{Note, client, router, shared_options};

#[tokio::main]
async fn main() -> ExitCode {
    // The events in the spans of both sides.
    let shown = Targets::new()
        .with_target("tower_http", Level::DEBUG)
        .with_target(env!("CARGO_CRATE_NAME"), Level::INFO);
    let lines = tracing_subscriber::fmt::layer().with_target(false).without_time();
    let lines = lines.with_ansi(stdout().is_terminal()).with_filter(shown);
    tracing_subscriber::registry().with(lines).init();
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, _emulator) = connect_on_port().await?;
    // No route reads the whole table, also by mistake.
    let service = service
        .timeout(Duration::from_secs(5))
        .deny_access(AccessPath::TableScan);
    // Shared with the rest of the program.
    let client = client()?;
    let service = match std::env::args().nth(1).as_deref() {
        Some("client") => service.transport(ReqwestTransport::from_client(client.clone())),
        _ => service.client_options(shared_options(client.clone()))?,
    };
    on_own_tables(&service, async |service| visits(service, &client).await).await
}

/// Starts the service, and makes a program's requests.
async fn visits(service: &TableServiceClient, client: &reqwest::Client) -> Result<(), Box<dyn Error>> {
    let notes = service.table::<Note>("Notes")?;
    notes.create_table().await?;
    // The first visitors do not wait for connections.
    service.warm_up(4).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let site = format!("http://{}", listener.local_addr()?);
    let url = format!("{site}/notes/kick-off");
    let tokens = PageTokens::new([7; 64]); // in a service: random bytes from a secret store
    let server = tokio::spawn(async { axum::serve(listener, router(notes, tokens)).await });

    let missing = client.get(&url).send().await?;
    println!("GET {}", missing.status());
    let first = client.put(&url).body("half time").send().await?;
    println!("PUT {}", first.status());
    let seen = first.headers()["etag"].clone();
    for text in ["second half", "extra time"] {
        let put = client.put(&url).header("if-match", &seen).body(text).send().await?;
        println!("PUT with If-Match {}", put.status());
    }
    let found = client.get(&url).send().await?;
    println!("GET {} {}", found.status(), found.text().await?);

    for id in ["keeper", "kit"] {
        client.put(format!("{site}/notes/{id}")).body(id).send().await?;
    }
    let first = client.get(format!("{site}/lists/k")).send().await?;
    let link = first.headers()["link"].to_str()?;
    let next = link.strip_prefix('<').and_then(|link| link.split_once('>'));
    let next = first.url().join(next.ok_or("no link")?.0)?;
    println!("GET the list {} {}", first.status(), first.text().await?);
    let last = client.get(next).send().await?;
    println!("GET the next page {} {}", last.status(), last.text().await?);
    server.abort();
    Ok(())
}
