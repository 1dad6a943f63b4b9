//! The emulator from outside, request by request: what was recorded, what other SDKs send, and what nobody should send; and as
//! something to run and to keep: on a port, over HTTPS, seen from a socket, as a snapshot.
//!
//! `replay` compares it with the live service. Byte by byte tests of single rules stand beside the rules.

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

/// The text with each `%` and its two digits as the byte that they name.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match (
            first,
            after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()),
        ) {
            (b'%', Some(digits)) => {
                bytes.push(u8::from_str_radix(digits, 16).unwrap());
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
