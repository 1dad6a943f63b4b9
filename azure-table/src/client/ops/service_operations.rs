//! The operations of one call on the service of an account.

use std::sync::Arc;

use azure_table_core::model::error::Result;
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::request::Call;
use azure_table_core::protocol::service_operations;
use azure_table_core::protocol::service_properties::ServiceProperties;
use azure_table_core::protocol::service_statistics::ServiceStatistics;
use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::pipeline::Pipeline;

/// The part that differs between the operations on the service: `given` is the payload.
struct ServiceSpec<G, T> {
    operation: OperationKind,
    given: G,
    call: fn(&Endpoint, &G) -> Result<Call>,
    answer: fn(Response<Bytes>) -> Result<T>,
}

impl<G, T> Spec for ServiceSpec<G, T> {
    type Output = T;

    fn subject(&self) -> (OperationKind, Option<&str>) {
        (self.operation, None)
    }

    fn call(&mut self, endpoint: &Endpoint) -> Result<Call> {
        (self.call)(endpoint, &self.given)
    }

    fn answer(&mut self, response: Response<Bytes>, _: bool) -> Result<T> {
        (self.answer)(response)
    }
}

/// Defines a builder of one call on the service: its argument, its output, its name, its request and the reading of its
/// response.
macro_rules! service_operation {
    ($(#[$doc:meta])+ $name:ident($given:ty) -> $output:ty, $operation:expr, $call:expr, $answer:path) => {
        $(#[$doc])+
        #[must_use = "nothing is sent until it is awaited"]
        pub struct $name {
            operation: Operation<ServiceSpec<$given, $output>>,
        }
        operation!($name, $output);

        impl $name {
            pub(crate) fn new(pipeline: &Arc<Pipeline>, given: $given) -> Self {
                let spec = ServiceSpec {
                    operation: $operation,
                    given,
                    call: $call,
                    answer: $answer,
                };
                Self {
                    operation: Operation::new(pipeline, spec),
                }
            }
        }
    };
}

service_operation! {
    /// Reads the properties of the service. See
    /// [`TableServiceClient::properties`](crate::TableServiceClient::properties).
    GetServiceProperties(()) -> ServiceProperties,
    OperationKind::GetServiceProperties, |endpoint, ()| service_operations::get_properties(endpoint), service_operations::properties
}

service_operation! {
    /// Changes the properties of the service. See
    /// [`TableServiceClient::set_properties`](crate::TableServiceClient::set_properties).
    SetServiceProperties(ServiceProperties) -> (),
    OperationKind::SetServiceProperties, service_operations::set_properties, service_operations::properties_set
}

service_operation! {
    /// Reads the replication status of the secondary. See
    /// [`TableServiceClient::statistics`](crate::TableServiceClient::statistics).
    GetServiceStatistics(()) -> ServiceStatistics,
    OperationKind::GetServiceStatistics, |endpoint, ()| service_operations::get_statistics(endpoint), service_operations::statistics
}

service_operation! {
    /// Checks that the service is reachable. See [`TableServiceClient::ping`](crate::TableServiceClient::ping).
    Ping(()) -> (), OperationKind::Ping, |endpoint, ()| service_operations::ping(endpoint), service_operations::pinged
}
