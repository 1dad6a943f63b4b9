//! The state of the page.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use azure_table::TableServiceClient;

/// The account, and what the page shows of it.
pub(crate) struct Site {
    pub(crate) account: String,
    pub(crate) service: TableServiceClient,
    pub(crate) log: Arc<Mutex<VecDeque<String>>>,
    pub(crate) is_read_only: bool,
    /// The price of 10,000 requests.
    pub(crate) price: Option<f64>,
}

pub(super) type Shared = State<Arc<Site>>;
