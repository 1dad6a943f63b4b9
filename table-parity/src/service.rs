//! A Table service: its account and credential, its requests, and what a run leaves there.

pub(crate) mod account;
pub(crate) mod check;
pub(crate) mod cleanup;
pub(crate) mod guard;
pub(crate) mod mask;
pub(crate) mod output;
pub(crate) mod product;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod requests;
pub(crate) mod sas;
pub(crate) mod seen;
pub(crate) mod side;
pub(crate) mod signer;
pub(crate) mod stop;
pub(crate) mod tables;
