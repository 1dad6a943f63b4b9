//! Exact requests: what stands on the wire for each operation, and what is made of rare answers.

mod answers;
mod batch;
mod connections;
mod entity;
mod max_connections;
mod options;
mod proxies;
mod query;
mod request_text;
mod server;
mod service;
mod sockets;
mod table;
mod via_batch;
mod warm_up;
