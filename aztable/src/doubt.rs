//! Writes in doubt: each is resolved before it is reported.

use azure_table::operation::Resolution;
use azure_table::{Error, TableServiceClient};

/// Returns whether a write in doubt was applied, as far as its rows show it: `None` if they do not.
pub(crate) async fn was_applied(service: &TableServiceClient, error: &Error) -> Option<bool> {
    let doubt = error.in_doubt_write()?;
    match service.resolve(&doubt).await {
        Ok(Resolution::Applied) => Some(true),
        Ok(Resolution::NotApplied) => Some(false),
        _ => None,
    }
}
