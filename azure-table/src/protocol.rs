//! Requests and responses of the REST API as plain values: no network, no clock.
//!
//! One file per operation or family. Each converts its inputs to an `http::Request<Bytes>`, and an
//! `http::Response<Bytes>` to an output or an [`Error`](crate::Error). `pipeline` sends the requests; `codec` reads and
//! writes bodies and URL text.

pub(crate) mod access_policy;
pub(crate) mod account_key;
pub(crate) mod addressed_account;
pub(crate) mod answer;
pub(crate) mod batch;
pub(crate) mod batch_answer;
pub(crate) mod connection_string;
pub(crate) mod continuation;
mod encoded_operation;
pub(crate) mod endpoint;
pub(crate) mod get;
pub(crate) mod http_date;
pub(crate) mod http_request;
#[cfg(feature = "inbound")]
pub(crate) mod inbound;
pub(crate) mod operation;
mod other_service;
pub(crate) mod position;
pub(crate) mod profile;
pub(crate) mod query;
pub(crate) mod read_back;
pub(crate) mod request;
pub(crate) mod row_hash;
pub(crate) mod row_write;
pub(crate) mod sas_builder;
pub(crate) mod sas_parameters;
pub(crate) mod sas_permissions;
pub(crate) mod sas_token;
pub(crate) mod sas_url;
pub(crate) mod sent_batch;
pub(crate) mod service_operations;
pub(crate) mod service_properties;
pub(crate) mod service_statistics;
pub(crate) mod signature;
pub(crate) mod table_acl;
pub(crate) mod table_result;
pub(crate) mod tables;
pub(crate) mod user_delegation_key;
#[cfg(test)]
mod vectors;
pub(crate) mod via_batch;
