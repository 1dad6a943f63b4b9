//! What comes from outside is bytes: whatever they are, reading them ends soon, without a panic, in a value or an error.
//!
//! Each module takes one kind of text that others write, as arbitrary bytes, as pieces of its grammar in any order, and as
//! good samples that were damaged (`document.rs`). All go through the public client, whose transport answers from a
//! script. `bounds.rs` has what is too large or too deep on purpose.
//!
//! `PROPTEST_CASES` says how often each property is tried, 256 times where it is not set; CONTRIBUTING names the number
//! for a longer run.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod batch;
mod bounds;
mod credentials;
mod document;
mod error;
mod filter;
mod json;
mod request;
mod snapshot;
mod xml;
