//! The builders of single operations. Each builder is a future.

pub(crate) mod access_policies;
pub(crate) mod call_future;
pub(crate) mod ensure_tables;
pub(crate) mod get_entity;
pub(crate) mod modify_entity;
pub(crate) mod procedure;
pub(crate) mod recreate_table;
pub(crate) mod resolve_doubt;
pub(crate) mod single_request;
pub(crate) mod submit_batch;
pub(crate) mod warm_up;
pub(crate) mod write_entity;
