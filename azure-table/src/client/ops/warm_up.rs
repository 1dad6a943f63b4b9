//! Opens connections before the first request needs them.

use std::sync::Arc;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use futures_util::TryStreamExt as _;
use futures_util::stream::FuturesUnordered;

use crate::client::ops::call::Call;
use crate::pipeline::Pipeline;
use crate::request::service_operations;

/// Returns the call that opens connections. It sends the requests concurrently. Most open a connection: one that still
/// opens its own may use the connection of another that has its response.
pub(crate) fn warm_up(pipeline: &Arc<Pipeline>, connections: usize) -> Call<usize> {
    let connections = within_limits(pipeline, connections);
    Call::steps(pipeline, OperationKind::Ping, async move |steps| {
        let connections = connections?;
        let pings = (0..connections).map(|_| {
            steps.call(service_operations::ping(steps.endpoint()), |response, _| {
                match service_operations::pinged(response) {
                    // A rejected ping came over an open connection.
                    Err(e) if matches!(e.kind(), ErrorKind::Unauthenticated | ErrorKind::Forbidden) => Ok(()),
                    pinged => pinged,
                }
            })
        });
        let mut pings: FuturesUnordered<_> = pings.collect();
        while pings.try_next().await?.is_some() {}
        Ok(connections)
    })
}

/// Returns the number of connections to open, or 0 if the transport opens none.
///
/// Fails above the limits of the client and the transport: a request that waits would reuse an open connection.
fn within_limits(pipeline: &Pipeline, connections: usize) -> Result<usize> {
    let Ok(transport) = &pipeline.transport else {
        // The first request returns the error.
        return Ok(connections.min(1));
    };
    if !transport.opens_connections() {
        return Ok(0);
    }
    let max_connections = transport.connection_limit().map(|limit| limit.get());
    let max_in_flight = pipeline.settings.in_flight.as_ref().map(|limit| limit.get());
    for (limit, setting) in [
        (max_connections, "`max_connections` of the transport"),
        (max_in_flight, "`max_in_flight` of the client"),
    ] {
        if let Some(limit) = limit.filter(|limit| *limit < connections) {
            return Err(Error::invalid_input(format!(
                "warm-up of {connections} connections: at most {limit} are possible, by {setting}"
            )));
        }
    }
    Ok(connections)
}
