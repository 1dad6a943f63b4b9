//! An account key.
//!
//! Source: REST "Authorize with Shared Key".

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, Request};

use crate::model::error::Result;
use crate::pipeline::auth::Credential;
use crate::protocol::account_key::AccountKey;
use crate::protocol::request::header_value;
use crate::protocol::signature::{canonicalized_resource, shared_key};

const X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");

/// Signs with SharedKey in its form for tables.
#[derive(Debug)]
pub(crate) struct SharedKey(AccountKey);

impl SharedKey {
    pub(crate) fn new(key: AccountKey) -> Self {
        Self(key)
    }
}

impl Credential for SharedKey {
    fn authorize(&self, request: &mut Request<Bytes>, now: SystemTime) -> Result<()> {
        let date = httpdate::fmt_http_date(now);
        let uri = request.uri();
        let resource = canonicalized_resource(self.0.account(), uri.path(), uri.query());
        let to_sign = shared_key(
            request.method().as_str(),
            "",
            text(request.headers(), &CONTENT_TYPE),
            &date,
            &resource,
        );
        let authorization = format!("SharedKey {}:{}", self.0.account(), self.0.sign(&to_sign));
        let mut authorization = header_value("Authorization", &authorization)?;
        authorization.set_sensitive(true);
        let headers = request.headers_mut();
        headers.insert(X_MS_DATE, header_value("x-ms-date", &date)?);
        headers.insert(AUTHORIZATION, authorization);
        Ok(())
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}
