//! A shared access signature as a credential.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Request, Uri};

use crate::model::error::{Error, Result};
use crate::pipeline::auth::Credential;
use crate::protocol::sas_token::SasToken;

/// Puts the signature's parameters behind those of the request.
pub(crate) struct Sas(SasToken);

impl Sas {
    pub(crate) fn new(token: SasToken) -> Self {
        Self(token)
    }
}

impl fmt::Debug for Sas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sas(hidden)")
    }
}

impl Credential for Sas {
    fn authorize(&self, request: &mut Request<Bytes>, _: SystemTime) -> Result<()> {
        let uri = request.uri();
        let separator = if uri.query().is_some() { '&' } else { '?' };
        let signed = format!("{uri}{separator}{}", self.0.expose());
        *request.uri_mut() = Uri::try_from(signed)
            .map_err(|_| Error::invalid_input("the request's URL with its shared access signature is too long"))?;
        Ok(())
    }
}
