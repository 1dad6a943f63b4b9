//! Strings to sign and the signature over them, shared by the signer and the emulator.
//!
//! Pure functions of text. Which requests are signed, and when, is `pipeline/auth`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::model::error::{Error, Result};

/// An account key, with the state of its HMAC computed once. Never shown.
#[derive(Clone)]
pub(crate) struct SigningKey(Hmac<Sha256>);

impl SigningKey {
    /// From the base64 text of the portal.
    pub(crate) fn from_base64(key: &str) -> Result<Self> {
        let unusable = |why: &str| Error::invalid_input(format!("account key: {why}"));
        let bytes = STANDARD
            .decode(key.trim())
            .map_err(|_| unusable(&format!("its {} characters are not base64", key.trim().len())))?;
        if bytes.is_empty() {
            return Err(unusable("it is empty"));
        }
        let state = Hmac::new_from_slice(&bytes).map_err(|_| unusable("it has no usable length"))?;
        Ok(Self(state))
    }

    /// The base64 of HMAC-SHA256 over the text.
    pub(crate) fn sign(&self, string_to_sign: &str) -> String {
        let mut hmac = self.0.clone();
        hmac.update(string_to_sign.as_bytes());
        STANDARD.encode(hmac.finalize().into_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(hidden)")
    }
}

/// What the signature says of the address: the account, the path as on the wire, and the query's `comp` alone.
///
/// Source: REST "Authorize with Shared Key", canonicalized resource for the Table service.
pub(crate) fn canonicalized_resource(account: &str, path: &str, query: Option<&str>) -> String {
    let comp = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("comp="));
    match comp {
        Some(comp) => format!("/{account}{path}?comp={comp}"),
        None => format!("/{account}{path}"),
    }
}

/// The string to sign of SharedKey, in its form for tables.
///
/// Source: REST "Authorize with Shared Key", Table service.
pub(crate) fn shared_key(method: &str, content_md5: &str, content_type: &str, date: &str, resource: &str) -> String {
    format!("{method}\n{content_md5}\n{content_type}\n{date}\n{resource}")
}

/// The string to sign of SharedKeyLite, in its form for tables.
///
/// Source: REST "Authorize with Shared Key", Table service.
#[cfg(any(test, feature = "emulator"))]
pub(crate) fn shared_key_lite(date: &str, resource: &str) -> String {
    format!("{date}\n{resource}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    const ACCOUNT: &str = "devstoreaccount1";
    const DATE: &str = "Mon, 02 Aug 2021 18:01:46 GMT";

    #[test]
    fn signatures_are_those_of_the_published_formulas() {
        let key = SigningKey::from_base64(KEY).unwrap();
        let sign = |method, content_type, path, query| {
            let resource = canonicalized_resource(ACCOUNT, path, query);
            key.sign(&shared_key(method, "", content_type, DATE, &resource))
        };
        assert_eq!(sign("POST", "application/json", "/Tables", None), "5F6N1BpqTY9L3XdMcg5L/ljluThuyDQbQ5jEE0wB8h4=");
        assert_eq!(
            sign("POST", "application/json", "/devstoreaccount1/Tables", None),
            "17i3E9LvfcBYodPTI2TX+pY0dfrg0YAJhLa/MV57rnk="
        );
        assert_eq!(
            sign("GET", "", "/t1", Some("timeout=5&comp=acl")),
            "1wP0TXxk8BiTMUhh7R50Tof80G5YPun5iW2NU3go8xY="
        );
        let lite = shared_key_lite(DATE, &canonicalized_resource(ACCOUNT, "/Tables", None));
        assert_eq!(key.sign(&lite), "Q3ExhVRWQr1k2oUVjSnPL7YMdgIYnteoMcZyQA6/VPU=");
    }

    #[test]
    fn a_bad_key_is_refused_without_being_shown() {
        for (key, why) in [("not base64!", "11 characters are not base64"), ("", "empty")] {
            let error = SigningKey::from_base64(key).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(key.is_empty() || !error.contains(key));
        }
        assert_eq!(format!("{:?}", SigningKey::from_base64(KEY).unwrap()), "SigningKey(hidden)");
    }
}
