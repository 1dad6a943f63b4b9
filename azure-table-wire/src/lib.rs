#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    clippy::len_without_is_empty,
    clippy::new_without_default,
    reason = "they are for the interface of users, which this crate is not"
)]

// Paths such as `client/…` and `pipeline/…` in comments refer to azure-table.

#[doc(hidden)]
pub mod __private;
pub mod codec;
pub mod filter;
pub mod model;
pub mod protocol;
pub mod transport;
