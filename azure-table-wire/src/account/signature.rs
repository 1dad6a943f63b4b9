//! Strings to sign and the signature over them, shared by the signer and the emulator.
//!
//! Pure functions of text. `pipeline/auth` decides which requests are signed, and when.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// An account key with its precomputed HMAC state. Never shown, and overwritten when it is dropped.
#[derive(Clone)]
pub struct SigningKey(Hmac<Sha256>);

impl SigningKey {
    /// Decodes the portal's base64 text. The error says "it" for the key, because the caller names the key.
    pub fn from_base64(key: &str) -> Result<Self> {
        let unusable = |why: &str| Error::invalid_input(why.to_owned());
        let bytes = STANDARD
            .decode(key.trim())
            .map(Zeroizing::new)
            .map_err(|_| unusable(&format!("its {} characters are not base64", key.trim().len())))?;
        if bytes.is_empty() {
            return Err(unusable("it is empty"));
        }
        let state = Hmac::new_from_slice(&bytes).map_err(|_| unusable("it has no usable length"))?;
        Ok(Self(state))
    }

    /// Returns the public key of the emulators' account.
    pub fn development() -> Self {
        Self(Hmac::new(&DEVELOPMENT_KEY_BYTES.into()))
    }

    /// Returns the base64 of HMAC-SHA256 over the text.
    pub fn sign(&self, string_to_sign: &str) -> String {
        let mut signature = String::new();
        self.sign_onto(&[string_to_sign], &mut signature);
        signature
    }

    /// Appends the base64 of HMAC-SHA256 over a text in pieces.
    pub fn sign_onto(&self, string_to_sign: &[&str], text: &mut String) {
        let mut hmac = self.0.clone();
        for piece in string_to_sign {
            hmac.update(piece.as_bytes());
        }
        STANDARD.encode_string(hmac.finalize().into_bytes(), text);
    }

    /// Returns `true` if `signature` is the base64 of HMAC-SHA256 over the text. Compares in constant time.
    pub fn verify(&self, string_to_sign: &str, signature: &str) -> bool {
        let mut hmac = self.0.clone();
        hmac.update(string_to_sign.as_bytes());
        STANDARD
            .decode(signature)
            .is_ok_and(|signature| hmac.verify_slice(&signature).is_ok())
    }
}

/// Compares two secrets in constant time.
pub fn is_same_secret(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let difference = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

/// The public key of the emulators' account.
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The same key, decoded: a constant needs no error handling.
const DEVELOPMENT_KEY_BYTES: [u8; 64] = [
    0x11, 0xbc, 0xbc, 0xbd, 0xd3, 0x34, 0xdb, 0x13, 0x4e, 0x72, 0xa1, 0x65, 0xa9, 0x4c, 0x09, 0x3c, 0xb9, 0x66, 0x12,
    0xd9, 0x42, 0x0d, 0x72, 0x75, 0x39, 0x4c, 0xc5, 0x4f, 0x9d, 0x2e, 0x49, 0x16, 0x7a, 0x20, 0x5b, 0x2e, 0x16, 0xad,
    0x94, 0x54, 0x4a, 0xc2, 0xcf, 0x82, 0x3a, 0xb6, 0xaf, 0xca, 0xd5, 0x26, 0x45, 0x3d, 0x33, 0xad, 0xaf, 0xf2, 0x81,
    0x1c, 0x17, 0xa4, 0xb2, 0x81, 0x8c, 0x1b,
];

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(hidden)")
    }
}

/// Returns the canonicalized resource of a URL: the account, the path as sent, and only `comp` from the query.
///
/// Strings to sign are lists of pieces: every request is signed, and no caller needs the joined text.
///
/// Source: REST "Authorize with Shared Key", canonicalized resource for the Table service.
pub fn canonicalized_resource<'a>(account: &'a str, path: &'a str, query: Option<&'a str>) -> [&'a str; 5] {
    let comp = query
        .unwrap_or_default()
        .split('&')
        .find_map(|pair| pair.strip_prefix("comp="));
    match comp {
        Some(comp) => ["/", account, path, "?comp=", comp],
        None => ["/", account, path, "", ""],
    }
}

/// Returns the string to sign for SharedKey, in its form for tables.
///
/// Source: REST "Authorize with Shared Key", Table service.
pub fn shared_key<'a>(
    method: &'a str,
    content_md5: &'a str,
    content_type: &'a str,
    date: &'a str,
    [slash, account, path, comp, value]: [&'a str; 5],
) -> [&'a str; 13] {
    let line = "\n";
    [
        method,
        line,
        content_md5,
        line,
        content_type,
        line,
        date,
        line,
        slash,
        account,
        path,
        comp,
        value,
    ]
}

/// Returns the string to sign for SharedKeyLite, in its form for tables.
///
/// Source: REST "Authorize with Shared Key", Table service.
pub fn shared_key_lite<'a>(date: &'a str, [slash, account, path, comp, value]: [&'a str; 5]) -> [&'a str; 7] {
    [date, "\n", slash, account, path, comp, value]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = "devstoreaccount1";
    const DATE: &str = "Mon, 02 Aug 2021 18:01:46 GMT";

    #[test]
    fn signatures_match_the_published_formulas() {
        let key = SigningKey::from_base64(DEVELOPMENT_KEY).unwrap();
        let sign = |method, content_type, path, query| {
            let resource = canonicalized_resource(ACCOUNT, path, query);
            key.sign(&shared_key(method, "", content_type, DATE, resource).concat())
        };
        assert_eq!(
            sign("POST", "application/json", "/Tables", None),
            "5F6N1BpqTY9L3XdMcg5L/ljluThuyDQbQ5jEE0wB8h4="
        );
        assert_eq!(
            sign("POST", "application/json", "/devstoreaccount1/Tables", None),
            "17i3E9LvfcBYodPTI2TX+pY0dfrg0YAJhLa/MV57rnk="
        );
        assert_eq!(
            sign("GET", "", "/t1", Some("timeout=5&comp=acl")),
            "1wP0TXxk8BiTMUhh7R50Tof80G5YPun5iW2NU3go8xY="
        );
        assert_eq!(SigningKey::development().sign("x"), key.sign("x"));
        {
            assert!(key.verify("x", &key.sign("x")));
            for wrong in [
                "",
                "x",
                &key.sign("y"),
                &key.sign("x")[..40],
                &format!("{}=", key.sign("x")),
            ] {
                assert!(!key.verify("x", wrong), "{wrong}");
            }
        }
        let lite = shared_key_lite(DATE, canonicalized_resource(ACCOUNT, "/Tables", None)).concat();
        assert_eq!(key.sign(&lite), "Q3ExhVRWQr1k2oUVjSnPL7YMdgIYnteoMcZyQA6/VPU=");
    }

    #[test]
    fn secrets_are_compared_completely() {
        for (a, b, same) in [
            ("", "", true),
            ("ab", "ab", true),
            ("ab", "ac", false),
            ("ab", "abc", false),
            ("", "a", false),
        ] {
            assert_eq!(is_same_secret(a, b), same, "{a} {b}");
        }
    }

    #[test]
    fn invalid_key_is_rejected_and_not_shown() {
        for (key, why) in [("not base64!", "11 characters are not base64"), ("", "empty")] {
            let error = SigningKey::from_base64(key).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(key.is_empty() || !error.contains(key));
        }
        assert_eq!(
            format!("{:?}", SigningKey::from_base64(DEVELOPMENT_KEY).unwrap()),
            "SigningKey(hidden)"
        );
    }
}
