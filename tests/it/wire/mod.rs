//! Exact requests: the bytes of each operation, and the handling of unusual responses.

mod azure_core_clients;
mod batch;
mod connection_races;
mod connections;
mod entity;
mod max_connections;
mod options;
mod policies;
mod proxies;
mod query;
mod request_text;
mod server;
mod service;
mod sockets;
mod table;
mod transport_settings;
mod unusual_responses;
mod via_batch;
mod warm_up;
