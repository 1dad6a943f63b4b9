//! Requests a user delegation key.

use std::sync::Arc;

use azure_table_core::model::datetime::DateTime;
use azure_table_core::model::error::{Error, ErrorInternals, ErrorKind, Result};
use azure_table_core::model::guid::Guid;
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::request::Call;
use azure_table_core::protocol::user_delegation_key::{self, KeyInfo, UserDelegationKey};
use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::pipeline::Pipeline;

struct GetSpec {
    /// The current time, unless set.
    start: Option<DateTime>,
    expiry: DateTime,
    delegated_tenant: Option<Guid>,
    asks_with_token: bool,
}

impl Spec for GetSpec {
    type Output = UserDelegationKey;

    fn subject(&self) -> (OperationKind, Option<&str>) {
        (OperationKind::GetUserDelegationKey, None)
    }

    fn call(&mut self, endpoint: &Endpoint) -> Result<Call> {
        if !self.asks_with_token {
            let why = "a user delegation key requires an Entra ID token, and this client has another credential: use \
                       an `EntraCredential`";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        let info = KeyInfo {
            start: self.start.unwrap_or_else(DateTime::now),
            expiry: self.expiry,
            delegated_tenant_id: self.delegated_tenant.map(|tenant| tenant.to_string()),
        };
        user_delegation_key::get(endpoint, &info)
    }

    fn answer(&mut self, response: Response<Bytes>, _: bool) -> Result<UserDelegationKey> {
        user_delegation_key::got(response)
    }
}

/// Requests a key that signs shared access signatures.
///
/// See [`TableServiceClient::user_delegation_key`](crate::TableServiceClient::user_delegation_key).
#[must_use = "nothing is sent until it is awaited"]
pub struct GetUserDelegationKey {
    operation: Operation<GetSpec>,
}
operation!(GetUserDelegationKey, UserDelegationKey);

impl GetUserDelegationKey {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, expiry: DateTime) -> Self {
        let spec = GetSpec {
            start: None,
            expiry,
            delegated_tenant: None,
            asks_with_token: pipeline.asks_with_token(),
        };
        Self {
            operation: Operation::new(pipeline, spec),
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
