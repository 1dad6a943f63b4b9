//! Accounts as users specify them: table names, keys, connection strings, shared access signatures.
//!
//! `pipeline/auth` signs requests with them. The rules that the emulator shares are in azure-table-wire.

pub(crate) mod account_key;
pub(crate) mod connection_string;
pub(crate) mod sas_builder;
pub(crate) mod sas_token;
pub(crate) mod sas_url;
pub(crate) mod table_name;
