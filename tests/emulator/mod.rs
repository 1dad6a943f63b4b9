//! The emulator as something to run and to keep: on a port, over HTTPS, seen from a socket, as a snapshot.

mod https;
mod observer;
mod server;
mod snapshot;
mod sockets;
