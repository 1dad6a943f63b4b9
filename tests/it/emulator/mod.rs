//! The emulator from outside. Requests: recorded ones, requests of other SDKs, and invalid ones. As a program: on a port,
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

/// Decodes each `%` and its two digits into a byte.
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
