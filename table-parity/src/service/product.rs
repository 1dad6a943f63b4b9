//! The connection to a service, and what it says of itself.

use std::path::Path;
use std::sync::Arc;

use azure_table::transport::{HttpTransport, Transport};
use bytes::Bytes;
use http::Request;
use http::header::SERVER;

use crate::service::account::Account;
use crate::service::guard::Guard;
use crate::service::requests::LIMIT;

/// Builds the transport, which accepts this certificate too.
pub(crate) fn network(certificate: Option<&Path>) -> Result<Arc<dyn Transport>, String> {
    let mut builder = HttpTransport::builder();
    if let Some(file) = certificate {
        let pem = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        builder = builder.root_certificates(pem);
    }
    Ok(Arc::new(builder.build().map_err(|e| e.to_string())?))
}

/// Returns the name and version that the service states in each response.
pub(crate) async fn product(account: &Account, guard: &Guard) -> Option<String> {
    let request = Request::get(format!("{}/Tables", account.base))
        .body(Bytes::new())
        .ok()?;
    let response = tokio::time::timeout(LIMIT, guard.send(request)).await.ok()?.ok()?;
    Some(response.headers().get(SERVER)?.to_str().ok()?.to_owned())
}

/// Returns the name of a service for the suite, which knows some differences of Azurite.
pub(crate) async fn backend_name(account: &Account, guard: &Guard) -> &'static str {
    const UNKNOWN: &str = "account";
    if account.is_live {
        return UNKNOWN;
    }
    match product(account, guard).await {
        Some(product) if product.starts_with("Azurite") => "Azurite",
        _ => UNKNOWN,
    }
}
