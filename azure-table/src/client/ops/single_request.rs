//! The operations of one request on a table or on the service of an account.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::sas::user_delegation_key::{KeyInfo, UserDelegationKey};
use azure_table_wire::service::access_policy::StoredAccessPolicy;
use azure_table_wire::service::service_properties::ServiceProperties;
use azure_table_wire::service::service_statistics::ServiceStatistics;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::ops::call_future::{CallFuture, Prepared, Spec, operation};
use crate::pipeline::Pipeline;
use crate::request::service_operations;
use crate::request::table_acl;
use crate::request::tables::{self, Creation, Deletion};
use crate::request::user_delegation;
use crate::write::call::Call;

/// Defines a builder of one request: its output, its kind, its request and the reading of its response. The `table` is
/// `None` for a request on the service.
macro_rules! single_request {
    ($(#[$doc:meta])+ $name:ident -> $output:ty, $kind:ident, $call:expr, $response:expr) => {
        operation! {
            $(#[$doc])+
            $name -> $output, CallFuture<Prepared<$output>>
        }

        impl $name {
            pub(crate) fn new(pipeline: &Arc<Pipeline>, table: Option<&TableName>) -> Self {
                let call: fn(&Endpoint, &str) -> Result<Call> = $call;
                let call = call(&pipeline.endpoint, table.map_or("", TableName::as_str));
                Self {
                    operation: CallFuture::new(pipeline, OperationKind::$kind, table, Prepared::new(call, $response)),
                }
            }
        }
    };
}

single_request! {
    /// Creates a table. See [`TableClient::create_table`](crate::TableClient::create_table).
    CreateTable -> (), CreateTable, tables::create, |response, _| tables::created(response)
}

single_request! {
    /// Creates a table unless it exists. See
    /// [`TableClient::create_table_if_not_exists`](crate::TableClient::create_table_if_not_exists).
    CreateTableIfNotExists -> Creation, CreateTable, tables::create_if_not_exists, tables::created_or_existed
}

single_request! {
    /// Deletes a table. See [`TableClient::delete_table`](crate::TableClient::delete_table).
    DeleteTable -> (), DeleteTable, tables::delete, |response, _| tables::deleted(response)
}

single_request! {
    /// Deletes a table if it exists. See
    /// [`TableClient::delete_table_if_exists`](crate::TableClient::delete_table_if_exists).
    DeleteTableIfExists -> Deletion, DeleteTable, tables::delete_if_exists, tables::deleted_or_missing
}

single_request! {
    /// Checks that a table exists. See [`TableClient::table_exists`](crate::TableClient::table_exists).
    TableExists -> bool, GetTable, tables::get, |response, _| tables::is_there(response)
}

single_request! {
    /// Reads the stored access policies of a table. See
    /// [`TableClient::access_policies`](crate::TableClient::access_policies).
    GetAccessPolicies -> Vec<StoredAccessPolicy>, GetAccessPolicies, table_acl::get,
    |response, _| table_acl::policies(response)
}

single_request! {
    /// Reads the properties of the service. See
    /// [`TableServiceClient::properties`](crate::TableServiceClient::properties).
    GetServiceProperties -> ServiceProperties, GetServiceProperties, |endpoint, _| service_operations::get_properties(endpoint),
    |response, _| service_operations::properties(response)
}

operation! {
    /// Changes the properties of the service. See
    /// [`TableServiceClient::set_properties`](crate::TableServiceClient::set_properties).
    SetServiceProperties -> (), CallFuture<Prepared<()>>
}

impl SetServiceProperties {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, properties: &ServiceProperties) -> Self {
        let call = service_operations::set_properties(&pipeline.endpoint, properties);
        let spec = Prepared::new(call, |response, _| service_operations::properties_set(response));
        Self {
            operation: CallFuture::new(pipeline, OperationKind::SetServiceProperties, None, spec),
        }
    }
}

single_request! {
    /// Reads the replication status of the secondary. See
    /// [`TableServiceClient::statistics`](crate::TableServiceClient::statistics).
    GetServiceStatistics -> ServiceStatistics, GetServiceStatistics, |endpoint, _| service_operations::get_statistics(endpoint),
    |response, _| service_operations::statistics(response)
}

single_request! {
    /// Checks that the service is reachable. See [`TableServiceClient::ping`](crate::TableServiceClient::ping).
    Ping -> (), Ping, |endpoint, _| service_operations::ping(endpoint),
    |response, _| service_operations::pinged(response)
}

struct KeySpec {
    /// The current time, unless set.
    start: Option<DateTime>,
    expiry: DateTime,
    delegated_tenant: Option<Guid>,
    sends_tokens: bool,
}

impl Spec for KeySpec {
    type Output = UserDelegationKey;

    fn call(&mut self, endpoint: &Endpoint, _: &str) -> Result<Call> {
        if !self.sends_tokens {
            let why = "a user delegation key requires an Entra ID token, and this client has another credential: use \
                       an `EntraCredential`";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        let info = KeyInfo {
            start: self.start.unwrap_or_else(DateTime::now),
            expiry: self.expiry,
            delegated_tenant_id: self.delegated_tenant.map(|tenant| tenant.to_string()),
        };
        user_delegation::get(endpoint, &info)
    }

    fn read_response(&mut self, response: Response<Bytes>, _: bool) -> Result<UserDelegationKey> {
        user_delegation::got(response)
    }
}

operation! {
    /// Requests a key that signs shared access signatures.
    ///
    /// See [`TableServiceClient::user_delegation_key`](crate::TableServiceClient::user_delegation_key).
    GetUserDelegationKey -> UserDelegationKey, CallFuture<KeySpec>
}

impl GetUserDelegationKey {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, expiry: DateTime) -> Self {
        let spec = KeySpec {
            start: None,
            expiry,
            delegated_tenant: None,
            sends_tokens: pipeline.sends_tokens(),
        };
        Self {
            operation: CallFuture::new(pipeline, OperationKind::GetUserDelegationKey, None, spec),
        }
    }

    /// Sets the time from which the key is valid, to the second; now by default, by the clock of this machine.
    ///
    /// Set it some minutes before now to allow for a service whose clock is behind.
    pub fn start(mut self, start: DateTime) -> Self {
        self.operation.spec.start = Some(start);
        self
    }

    /// Requests a key whose signatures can be bound to users of another tenant.
    ///
    /// Bind them with [`TableSas::for_user`](crate::TableSas::for_user).
    pub fn delegated_tenant(mut self, tenant_id: Guid) -> Self {
        self.operation.spec.delegated_tenant = Some(tenant_id);
        self
    }
}
