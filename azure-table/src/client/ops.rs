//! The futures of single operations.

pub(crate) mod access_policies;
pub(crate) mod call;
pub(crate) mod call_future;
pub(crate) mod ensure_tables;
pub(crate) mod get_entity;
pub(crate) mod modify_entity;
pub(crate) mod recreate_table;
pub(crate) mod resolve;
pub(crate) mod start;
pub(crate) mod steps;
pub(crate) mod submission;
pub(crate) mod user_delegation_key;
pub(crate) mod warm_up;
pub(crate) mod write_spec;
