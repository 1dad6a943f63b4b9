//! The transport of a client that sets none: reqwest's, otherwise hyper's, otherwise none.

use std::sync::Arc;

use azure_table_core::model::error::{Error, ErrorInternals, ErrorKind, Result};
use azure_table_core::transport::Transport;

#[cfg(feature = "reqwest")]
use crate::pipeline::http::HttpTransport;
#[cfg(all(feature = "hyper-transport", not(feature = "reqwest")))]
use crate::pipeline::hyper_transport::HyperTransport;

/// Creates the default transport, or returns `None` in a build without one.
///
/// `https` requires support for TLS connections.
#[cfg(feature = "reqwest")]
pub(crate) fn default_transport(https: bool) -> Result<Option<Arc<dyn Transport>>> {
    Ok(Some(Arc::new(HttpTransport::new(https)?)))
}

/// Creates the default transport.
#[cfg(all(feature = "hyper-transport", not(feature = "reqwest")))]
pub(crate) fn default_transport(https: bool) -> Result<Option<Arc<dyn Transport>>> {
    Ok(Some(Arc::new(HyperTransport::new(https)?)))
}

/// Returns `None`. The client can be created, because `TableServiceClient::transport` may follow.
#[cfg(not(any(feature = "reqwest", feature = "hyper-transport")))]
pub(crate) fn default_transport(_: bool) -> Result<Option<Arc<dyn Transport>>> {
    Ok(None)
}

/// Returns the error of a call whose client has no transport.
pub(super) fn no_transport() -> Error {
    let why = "the client has no transport: enable the feature `reqwest` or `hyper-transport` of azure-table, \
               or set one with `TableServiceClient::transport`";
    Error::new(ErrorKind::Unsupported, why)
}
