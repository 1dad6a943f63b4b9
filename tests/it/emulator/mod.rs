//! The emulator from outside. Requests: recorded ones, those of other SDKs, and invalid ones. As a program: on a port,
//! over HTTPS, on raw sockets, as a snapshot.
//!
//! `replay` compares it with the live service. Tests of single rules are next to the rules.

mod contents;
mod foreign;
mod https;
mod isolation;
mod malformed;
mod observer;
mod replay;
mod server;
pub(crate) mod signed;
mod snapshot;
mod sockets;
