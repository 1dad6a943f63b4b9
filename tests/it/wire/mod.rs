//! Exact requests: the bytes of each operation, and the handling of unusual responses.

mod batch;
#[cfg(feature = "http")]
mod connection_races;
#[cfg(feature = "http")]
mod connections;
mod default_transport;
mod entity;
#[cfg(feature = "http")]
mod max_connections;
mod options;
mod policies;
#[cfg(feature = "http")]
mod proxies;
mod query;
mod request_text;
mod server;
mod service;
mod sockets;
mod table;
#[cfg(feature = "http")]
mod tower_layers;
#[cfg(feature = "http")]
mod transport_settings;
mod unusual_responses;
mod via_batch;
mod warm_up;
