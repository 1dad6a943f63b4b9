//! Account keys: SharedKey and SharedKeyLite, in their variants for tables.
//!
//! Source: REST "Authorize with Shared Key".

use std::future::ready;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, Request};

use crate::model::error::{Error, Result};
use crate::pipeline::auth::{AuthorizationContext, AuthorizationFailure, Credential};
use crate::pipeline::transport::BoxFuture;
use crate::protocol::account_key::AccountKey;
use crate::protocol::http_request::header_value;
use crate::protocol::signature::{canonicalized_resource, shared_key, shared_key_lite};

const X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");

/// Signs with SharedKey.
impl Credential for AccountKey {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(sign(
            self,
            "SharedKey",
            request,
            context.now,
            |request, date, resource| {
                let content_type = text(request.headers(), &CONTENT_TYPE);
                shared_key(request.method().as_str(), "", content_type, date, resource)
            },
        )))
    }

    fn generation(&self) -> u64 {
        AccountKey::generation(self)
    }

    fn rejected(&self, refusal: &AuthorizationFailure<'_>) -> Option<String> {
        advice(self, refusal)
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
        let signed = sign(&self.0, "SharedKeyLite", request, context.now, |_, date, resource| {
            shared_key_lite(date, resource)
        });
        Box::pin(ready(signed))
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn rejected(&self, refusal: &AuthorizationFailure<'_>) -> Option<String> {
        advice(&self.0, refusal)
    }
}

fn sign(
    key: &AccountKey,
    scheme: &str,
    request: &mut Request<Bytes>,
    now: SystemTime,
    string_to_sign: impl FnOnce(&Request<Bytes>, &str, &str) -> String,
) -> Result<()> {
    // The text of a date has no year before 1970 or of five digits.
    const LAST_SECOND: u64 = 253_402_300_799;
    let is_date = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .is_ok_and(|since| since.as_secs() <= LAST_SECOND);
    if !is_date {
        return Err(Error::invalid_input(
            "the clock of this machine is before 1970 or after 9999",
        ));
    }
    let date = httpdate::fmt_http_date(now);
    let uri = request.uri();
    let resource = canonicalized_resource(key.account(), uri.path(), uri.query());
    let to_sign = string_to_sign(request, &date, &resource);
    let authorization = [scheme, " ", key.account(), ":", &key.sign(&to_sign)].concat();
    let mut authorization = header_value("Authorization", authorization)?;
    authorization.set_sensitive(true);
    let headers = request.headers_mut();
    headers.insert(X_MS_DATE, header_value("x-ms-date", date)?);
    headers.insert(AUTHORIZATION, authorization);
    Ok(())
}

fn advice(key: &AccountKey, refusal: &AuthorizationFailure<'_>) -> Option<String> {
    refusal.is_unauthenticated().then(|| {
        format!(
            "the key is none of account {}'s: it is of another account, or was made anew in the meantime; give the \
             present one, in a running process by `AccountKey::rotate`",
            key.account()
        )
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}
