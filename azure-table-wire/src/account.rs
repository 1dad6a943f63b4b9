//! Accounts: where a request goes, which service answers there, and the signatures of its keys.

#[doc(hidden)]
pub mod addressed_account;
#[doc(hidden)]
pub mod endpoint;
#[doc(hidden)]
pub mod other_service;
pub mod profile;
#[doc(hidden)]
pub mod signature;
