//! Requests without a credential.

use azure_table_core::model::error::Result;
use azure_table_core::transport::BoxFuture;
use bytes::Bytes;
use http::Request;

use crate::pipeline::auth::{AuthorizationContext, Credential};

/// Sends requests without authorization, for services that need none, such as an emulator configured that way.
///
/// Azure answers 401 or 403.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

impl Credential for Anonymous {
    fn authorize<'a>(
        &'a self,
        _: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
