//! Requests: what is addressed, with which options and which body.

pub(crate) mod address;
pub(crate) mod body;
pub(crate) mod continuation;
pub(crate) mod options;
