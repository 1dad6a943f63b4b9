//! Requests and responses of the REST API as plain values: no network, no clock.
//!
//! One file per operation or family. Each converts its inputs to an `http::Request<Bytes>`, and an
//! `http::Response<Bytes>` to an output or an [`Error`](crate::model::error::Error). `pipeline` sends the requests,
//! `inbound` parses received ones; `codec` reads and writes bodies and URL text.

pub mod access_policy;
pub mod account_key;
#[doc(hidden)]
pub mod addressed_account;
pub mod batch;
pub mod batch_request;
#[doc(hidden)]
pub mod batch_response;
#[doc(hidden)]
pub mod connection_string;
pub mod continuation;
pub mod doubt;
mod encoded_operation;
#[doc(hidden)]
pub mod endpoint;
#[doc(hidden)]
pub mod get;
#[doc(hidden)]
pub mod http_date;
#[doc(hidden)]
pub mod http_request;
#[cfg(feature = "inbound")]
#[doc(hidden)]
pub mod inbound;
pub mod operation;
mod other_service;
#[doc(hidden)]
pub mod position;
pub mod profile;
#[doc(hidden)]
pub mod query;
#[doc(hidden)]
pub mod read_back;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod requested_key;
#[doc(hidden)]
pub mod response;
#[doc(hidden)]
pub mod row_hash;
#[doc(hidden)]
pub mod row_write;
pub mod sas_builder;
#[doc(hidden)]
pub mod sas_parameters;
pub mod sas_permissions;
pub mod sas_token;
#[doc(hidden)]
pub mod sas_url;
#[doc(hidden)]
pub mod sealing;
#[doc(hidden)]
pub mod sent_batch;
#[doc(hidden)]
pub mod service_operations;
pub mod service_properties;
pub mod service_statistics;
#[doc(hidden)]
pub mod signature;
#[doc(hidden)]
pub mod table_acl;
pub mod table_result;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod user_delegation_key;
#[doc(hidden)]
pub mod via_batch;
