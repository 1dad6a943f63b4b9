//! `ui`: a page on this machine for the tables of an account.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table::CallOptions;
use azure_table::policy::HttpLog;
use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;

use crate::failure::Done;
use crate::place::AccountPlace;
use crate::session::Session;
use crate::ui::{Site, router};

/// The lines of the log that the page keeps.
const LOG: usize = 500;

#[derive(Args)]
pub(crate) struct Ui {
    /// An account: NAME, @FILE or local:DIR
    account: Option<AccountPlace>,
    /// The port on this machine: a free one, if it is 0
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Change nothing
    #[arg(long)]
    read_only: bool,
    /// The price of 10,000 requests, for the price of a query in any currency
    #[arg(long, value_name = "AMOUNT")]
    price_per_10k_requests: Option<f64>,
}

impl Ui {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let place = self.account.unwrap_or_default();
        let log = Arc::new(Mutex::new(VecDeque::new()));
        let lines = Arc::clone(&log);
        let http_log = HttpLog::new(move |line| {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push_front(line.to_owned());
            lines.truncate(LOG);
        });
        let service = session.connections.service(&place)?;
        let service = service.with(&CallOptions::new().policy(http_log));
        let service = if self.read_only { service.read_only() } else { service };
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await?;
        let port = listener.local_addr()?.port();
        let site = Site {
            account: session.connections.described(&place)?,
            service,
            log,
            is_read_only: self.read_only,
            price: self.price_per_10k_requests,
        };
        let (routes, token) = router(site, port)?;
        // The part behind `#` is never sent: the page exchanges it for a cookie.
        let url = format!("http://127.0.0.1:{port}/#{token}");
        session.terminal.either(json!({ "url": url }), &url)?;
        session.note("until Ctrl-C; whoever has this address can use the tables");
        session.interrupt.wait_for_position();
        let stopped = session.interrupt.clone().set();
        Ok(axum::serve(listener, routes).with_graceful_shutdown(stopped).await?)
    }
}
