//! No credential at all.

use bytes::Bytes;
use http::Request;

use crate::model::error::Result;
use crate::pipeline::auth::{AuthorizationContext, Credential};
use crate::pipeline::transport::BoxFuture;

/// No proof of who asks: for services that ask for none, as an emulator may be told not to.
///
/// Azure answers 401 or 403 to it.
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
