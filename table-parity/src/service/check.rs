//! The check before a run: it creates and deletes one table, so that an unusable account costs two requests.

use std::time::Duration;

use azure_table::{Error, ErrorKind, ExponentialRetry};

use crate::service::account::{Account, Identity};
use crate::service::guard::Guard;

/// The limit of one attempt. It is longer than the limit of a connection, whose failure creates no table.
const ATTEMPT: Duration = Duration::from_secs(15);
/// The wait before the only retry.
const WAIT: Duration = Duration::from_millis(500);

/// The reason why a run cannot start.
#[derive(Debug)]
pub(crate) struct Unusable {
    pub(crate) why: String,
    /// The service responds, so that a cleanup can succeed.
    pub(crate) has_response: bool,
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self {
            why,
            has_response: true,
        }
    }
}

/// Creates and deletes a table.
pub(crate) async fn check(account: &Account, guard: &Guard, prefix: &str) -> Result<(), Unusable> {
    let service = account
        .client(guard.clone())?
        .attempt_timeout(ATTEMPT)
        .retry(ExponentialRetry::new(WAIT, WAIT, WAIT, 1));
    let table = service
        .dynamic_table(format!("{prefix}check"))
        .map_err(|e| e.to_string())?;
    table.create_table().await.map_err(|e| unusable(account, &e))?;
    table.delete_table().await.map_err(|e| unusable(account, &e))
}

fn unusable(account: &Account, error: &Error) -> Unusable {
    let credential = match account.identity {
        Identity::Key(_) => "the account name and the key",
        Identity::Sas(_) => "the signature, its start and its expiry",
        Identity::Token(_) => "the token, its audience and its expiry",
    };
    // A creation in doubt has a last failure.
    let last = error.last_failure();
    let failure = last.as_ref().unwrap_or(error);
    let is_network = matches!(failure.kind(), ErrorKind::Connection | ErrorKind::Timeout);
    let has_response = failure.status().is_some() || !is_network;
    let remedy = match failure.kind() {
        ErrorKind::Unauthenticated => format!("check {credential}, and the clock of this machine"),
        ErrorKind::Forbidden => format!("check {credential}, its permissions, and the firewall of the account"),
        _ if !has_response => "check the address of the account, and that this machine reaches it".to_owned(),
        ErrorKind::Throttled | ErrorKind::ServerFault | ErrorKind::Timeout => {
            "the service is overloaded or failed: start the run again later".to_owned()
        }
        // The name is new, so an earlier attempt created the table, and its response was lost.
        ErrorKind::AlreadyExists => "start the run again".to_owned(),
        _ => "check that the address belongs to a Table service".to_owned(),
    };
    Unusable {
        why: format!("the check before the run failed: {error}; {remedy}"),
        has_response,
    }
}
