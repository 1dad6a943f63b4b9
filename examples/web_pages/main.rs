//! A web service: a channel of blogs page by page, and a form whose save is rejected if somebody else was faster.
//!
//! Source: "Windows Azure Table" (2009): the paged view of a channel, its continuation token, and concurrent updates by
//! `If-Match` and 412.
//!
//! `cargo run -p azure-table-examples --features web --example web_pages` serves `http://127.0.0.1:8080` from an
//! emulator inside of this process, and another address if it is the argument. With
//! `AZURE_STORAGE_CONNECTION_STRING` the blogs are on that account. Ctrl-C deletes the table with all blogs, even the
//! visitors'. To see a conflict, edit one blog in two tabs.
//!
//! `service.rs` has the routes and the status of each error, `html.rs` the pages.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a person")]

mod html;
mod service;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::key::Day;
use azure_table::{Descending, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};
use tokio::net::TcpListener;

use self::service::{Blog, CHANNEL, router};

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    // The limit of each call, a read of a page of rows or a save, with its retries. A visitor may wait for several.
    let service = connect()?.timeout(Duration::from_secs(5));
    on_own_tables(&service, serve).await
}

async fn serve(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let blogs = service.table::<Blog>("Blogs")?;
    blogs.create_table().await?;
    let days = (10..=11).flat_map(|month| (1..=30).filter_map(move |day| Day::new(2026, month, day)));
    let report = blogs.bulk().insert(days.take(52).map(blog)).await?;
    report.ensure_no_leftovers()?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = TcpListener::bind(&address).await?;
    println!(
        "listening  http://{}/ with {} blogs, until Ctrl-C",
        listener.local_addr()?,
        report.applied()
    );
    let end = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    axum::serve(listener, router(blogs)).with_graceful_shutdown(end).await?;
    Ok(())
}

/// A blog to begin with.
fn blog(day: Day) -> Blog {
    const TITLES: [&str; 4] = ["Kick-off", "A draw", "Extra time", "The final"];
    let title = TITLES[usize::from(day.day()) % TITLES.len()];
    Blog {
        channel: CHANNEL.into(),
        day: Descending(day),
        title: title.into(),
        text: format!("{title}, as seen from the stands on {day}."),
    }
}
