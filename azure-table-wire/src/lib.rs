#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    clippy::new_without_default,
    reason = "they are for the interface of users, which this crate is not"
)]

// Paths such as `client/…`, `entity/…` and `write/…` in comments refer to azure-table.

pub mod account;
pub mod codec;
pub mod error;
pub mod filter;
pub mod request;
pub mod response;
pub mod sas;
pub mod service;
pub mod transport;
pub mod value;
