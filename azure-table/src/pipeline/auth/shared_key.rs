//! Account keys: SharedKey and SharedKeyLite, in their variants for tables.
//!
//! Source: REST "Authorize with Shared Key".

use std::future::ready;
use std::time::SystemTime;

use azure_table_wire::account::signature::{canonicalized_resource, shared_key, shared_key_lite};
use azure_table_wire::error::Result;
use azure_table_wire::request::http_request::header_value;
use azure_table_wire::response::http_date::http_date;
use azure_table_wire::transport::BoxFuture;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, Request};

use crate::account::account_key::{self, AccountKey};
use crate::pipeline::auth::{AuthorizationContext, AuthorizationFailure, Credential, account_advice};

const X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");

/// The length of a signature: the base64 of 32 bytes.
const SIGNATURE: usize = 44;

/// Signs with SharedKey.
impl Credential for AccountKey {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(sign(self, Scheme::SharedKey, request, context.now)))
    }

    fn generation(&self) -> u64 {
        account_key::generation(self)
    }

    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        advice(self, failure)
    }
}

/// An account key that signs with SharedKeyLite.
///
/// SharedKeyLite does not sign the method and the content type. Use it behind a proxy that changes them.
///
/// ```
/// use azure_table::{AccountKey, TableServiceClient};
/// use azure_table::auth::SharedKeyLite;
/// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
/// let service = TableServiceClient::new("https://contoso.table.core.windows.net", SharedKeyLite(key))?;
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// Source: REST "Authorize with Shared Key".
#[derive(Clone, Debug)]
pub struct SharedKeyLite(pub AccountKey);

impl Credential for SharedKeyLite {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(sign(&self.0, Scheme::SharedKeyLite, request, context.now)))
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        advice(&self.0, failure)
    }
}

/// The forms of an account key's signature.
#[derive(Clone, Copy)]
enum Scheme {
    SharedKey,
    SharedKeyLite,
}

fn sign(key: &AccountKey, scheme: Scheme, request: &mut Request<Bytes>, now: SystemTime) -> Result<()> {
    let x_ms_date = http_date(now)?;
    let date = x_ms_date.to_str().unwrap_or_default();
    let uri = request.uri();
    let resource = canonicalized_resource(key.account(), uri.path(), uri.query());
    let (name, to_sign): (_, &[&str]) = match scheme {
        Scheme::SharedKey => {
            let content_type = text(request.headers(), &CONTENT_TYPE);
            let method = request.method().as_str();
            ("SharedKey ", &shared_key(method, "", content_type, date, resource))
        }
        Scheme::SharedKeyLite => ("SharedKeyLite ", &shared_key_lite(date, resource)),
    };
    let mut authorization = String::with_capacity(name.len() + key.account().len() + 1 + SIGNATURE);
    authorization.extend([name, key.account(), ":"]);
    account_key::sign_onto(key, to_sign, &mut authorization);
    let mut authorization = header_value("Authorization", authorization)?;
    authorization.set_sensitive(true);
    let headers = request.headers_mut();
    headers.insert(X_MS_DATE, x_ms_date);
    headers.insert(AUTHORIZATION, authorization);
    Ok(())
}

fn advice(key: &AccountKey, failure: &AuthorizationFailure<'_>) -> Option<String> {
    if !failure.is_unauthenticated() {
        return account_advice(failure.code());
    }
    Some(format!(
        "the key is not a current key of account {}: it belongs to another account, or was regenerated; set the \
         current key, in a running process with `AccountKey::rotate`",
        key.account()
    ))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}
