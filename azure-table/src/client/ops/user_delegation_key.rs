//! Requests a key that signs shared access signatures.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::sas::user_delegation_key::{KeyInfo, UserDelegationKey};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;
use http::Response;

use crate::client::ops::call_future::{CallFuture, Spec, call_future};
use crate::pipeline::Pipeline;
use crate::request::user_delegation;
use crate::write::operation_request::OperationRequest;

struct KeySpec {
    /// The current time, unless set.
    start: Option<DateTime>,
    expiry: DateTime,
    delegated_tenant: Option<Guid>,
    sends_tokens: bool,
}

impl Spec for KeySpec {
    type Output = UserDelegationKey;

    fn request(&mut self, endpoint: &Endpoint, _: &str) -> Result<OperationRequest> {
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

/// Requests a key that signs shared access signatures.
///
/// See [`TableServiceClient::user_delegation_key`](crate::TableServiceClient::user_delegation_key).
#[must_use = "nothing is sent until it is awaited"]
pub struct GetUserDelegationKey {
    operation: CallFuture<KeySpec>,
}

call_future!(GetUserDelegationKey -> UserDelegationKey);

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

    /// Sets the time from which the key is valid, in whole seconds. The default is now, by this machine's clock.
    ///
    /// Set it a few minutes earlier, in case the service's clock is behind.
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
