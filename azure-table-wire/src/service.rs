//! The documents of a service and of a table in XML: properties, statistics, access policies.

pub mod access_policy;
pub mod service_properties;
pub mod service_statistics;
