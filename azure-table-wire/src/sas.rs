//! Shared access signatures as text: parameters, permissions, and the key that a service issues.

#[doc(hidden)]
pub mod parameters;
pub mod permissions;
pub mod user_delegation_key;
