//! The defaults of the HTTP transports.

#[cfg(any(feature = "http", feature = "reqwest"))]
use std::time::Duration;

/// Leaves room for two transports in a process with 1,024 file handles, even while each replaces its connections.
///
/// Other clients: 100 in httpx (Python), 500 in Reactor Netty (Azure SDK for Java), 50 in the Azure SDK for .NET
/// Framework, no limit in Go and .NET.
pub(super) const MAX_CONNECTIONS: usize = 256;
#[cfg(any(feature = "http", feature = "reqwest"))]
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
#[cfg(any(feature = "http", feature = "reqwest"))]
/// Shorter than the time after which a load balancer drops idle connections.
pub(super) const POOL_IDLE: Duration = Duration::from_secs(20);
