//! User delegation keys of Entra ID for shared access signatures: the request and the key.
//!
//! Defines [`UserDelegationKey`] and [`KeyInfo`] as values, the XML of both in both directions, and the request.
//! `sas_parameters.rs` builds the string that such a key signs. Not confirmed: the response for tables, which is
//! assumed to be the same as for blobs, and that `Start` may be missing in a request (it is always written).
//!
//! Source: REST "Get User Delegation Key", "Create a user delegation SAS".

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use zeroize::Zeroizing;

use crate::account::signature::{SigningKey, is_same_secret};
use crate::codec::xml::Element;
use crate::error::{Error, Result, ValueError};
use crate::value::datetime::DateTime;

/// The maximum life of a key.
pub const MAX_LIFE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A key that signs shared access signatures on behalf of an Entra ID identity, for at most 7 days.
///
/// `Debug` never shows it, and dropping it overwrites it.
///
/// Its signatures grant at most what the identity itself may do, and they expire with the key.
/// `TableServiceClient::user_delegation_key` requests it, and `TableSas::sign_delegated` signs with it.
///
/// Source: REST "Get User Delegation Key", "Create a user delegation SAS".
#[derive(Clone)]
pub struct UserDelegationKey {
    object_id: String,
    tenant_id: String,
    start: DateTime,
    expiry: DateTime,
    service: String,
    version: String,
    delegated_tenant_id: Option<String>,
    value: Zeroizing<String>,
}

impl UserDelegationKey {
    /// Returns the Entra ID object id, a GUID, of the identity behind the key.
    pub fn object_id(&self) -> &str {
        &self.object_id
    }

    /// Returns the tenant id, a GUID, of the identity behind the key.
    pub fn tenant_id(&self) -> &str {
        &self.tenant_id
    }

    /// Returns the time from which the key is valid.
    pub fn start(&self) -> DateTime {
        self.start
    }

    /// Returns the time at which the key expires.
    pub fn expiry(&self) -> DateTime {
        self.expiry
    }

    /// Returns the tenant to whose users signatures can be bound, if one was requested.
    pub fn delegated_tenant_id(&self) -> Option<&str> {
        self.delegated_tenant_id.as_deref()
    }
}

/// Parses the key of a response.
pub fn from_xml(document: &[u8]) -> Result<UserDelegationKey, ValueError> {
    let root = Element::read_root(document, "UserDelegationKey", "of a user delegation key")?;
    let text = |name: &str| match root.value(name) {
        None => Err(ValueError::new(format!("the key has no {name}"))),
        Some(text) => Ok(text.to_owned()),
    };
    let key = UserDelegationKey {
        object_id: text("SignedOid")?,
        tenant_id: text("SignedTid")?,
        start: root.moment("SignedStart")?,
        expiry: root.moment("SignedExpiry")?,
        service: text("SignedService")?,
        version: text("SignedVersion")?,
        delegated_tenant_id: text("SignedDelegatedUserTid").ok(),
        value: Zeroizing::new(text("Value")?),
    };
    match signing_key(&key) {
        Ok(_) => Ok(key),
        Err(_) => Err(ValueError::new("the key's Value is not base64")),
    }
}

/// Returns the key that signs.
pub fn signing_key(key: &UserDelegationKey) -> Result<SigningKey> {
    SigningKey::from_base64(&key.value).map_err(|e| Error::invalid_response(format!("user delegation key: {e}")))
}

/// Returns the response that contains the key.
pub fn to_xml(key: &UserDelegationKey) -> Bytes {
    let delegated = key.delegated_tenant_id.as_ref();
    Element::new("UserDelegationKey")
        .with([
            Element::of_text("SignedOid", &key.object_id),
            Element::of_text("SignedTid", &key.tenant_id),
            Element::of_text("SignedStart", key.start),
            Element::of_text("SignedExpiry", key.expiry),
            Element::of_text("SignedService", &key.service),
            Element::of_text("SignedVersion", &key.version),
        ])
        .with(delegated.map(|tenant| Element::of_text("SignedDelegatedUserTid", tenant)))
        .with([Element::of_text("Value", key.value.as_str())])
        .write()
}

/// Returns the parameters of a signature that describe its key: names and values.
pub fn parameters(key: &UserDelegationKey) -> [(&'static str, String); 7] {
    [
        ("skoid", key.object_id.clone()),
        ("sktid", key.tenant_id.clone()),
        ("skt", key.start.to_string()),
        ("ske", key.expiry.to_string()),
        ("sks", key.service.clone()),
        ("skv", key.version.clone()),
        ("skdutid", key.delegated_tenant_id.clone().unwrap_or_default()),
    ]
}

/// Creates a key as the service does, with the given value.
pub fn create(
    (object_id, tenant_id): (&str, &str),
    info: KeyInfo,
    version: &str,
    value: impl FnOnce(&UserDelegationKey) -> String,
) -> UserDelegationKey {
    let mut key = UserDelegationKey {
        object_id: object_id.to_owned(),
        tenant_id: tenant_id.to_owned(),
        start: info.start,
        expiry: info.expiry,
        service: SERVICE.to_owned(),
        version: version.to_owned(),
        delegated_tenant_id: info.delegated_tenant_id,
        value: Zeroizing::default(),
    };
    key.value = Zeroizing::new(value(&key));
    key
}

/// Compares in constant time.
impl PartialEq for UserDelegationKey {
    fn eq(&self, other: &Self) -> bool {
        parameters(self) == parameters(other) && is_same_secret(&self.value, &other.value)
    }
}

impl Eq for UserDelegationKey {}

/// The letter of the Table service in signatures.
const SERVICE: &str = "t";

impl fmt::Debug for UserDelegationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserDelegationKey")
            .field("object_id", &self.object_id)
            .field("tenant_id", &self.tenant_id)
            .field("start", &self.start)
            .field("expiry", &self.expiry)
            .finish_non_exhaustive()
    }
}

/// The request for a key: its validity, and the tenant to whose users signatures can be bound.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    pub start: DateTime,
    pub expiry: DateTime,
    pub delegated_tenant_id: Option<String>,
}

impl KeyInfo {
    /// Returns the body of the request. Times are written to the second.
    pub fn to_xml(&self) -> Bytes {
        let to_the_second = |time: DateTime| DateTime::from_unix_seconds(time.unix_seconds());
        let delegated = self.delegated_tenant_id.as_ref();
        Element::new("KeyInfo")
            .with([
                Element::of_text("Start", to_the_second(self.start)),
                Element::of_text("Expiry", to_the_second(self.expiry)),
            ])
            .with(delegated.map(|tenant| Element::of_text("DelegatedUserTid", tenant)))
            .write()
    }

    /// Parses the body of a request.
    pub fn from_xml(document: &[u8]) -> Result<Self, ValueError> {
        let root = Element::read_root(document, "KeyInfo", "that requests a key")?;
        Ok(Self {
            start: root.moment("Start")?,
            expiry: root.moment("Expiry")?,
            delegated_tenant_id: root.value("DelegatedUserTid").map(str::to_owned),
        })
    }

    /// Rejects a request that the service would reject.
    ///
    /// The service itself checks that the key expires within 7 days of now, because its clock counts.
    pub fn check(&self) -> Result<()> {
        let invalid = |why: String| Err(Error::invalid_input(format!("user delegation key: {why}")));
        if self.expiry <= self.start {
            return invalid(format!(
                "its expiry {} is not after its start {}",
                self.expiry, self.start
            ));
        }
        let life = self.expiry.abs_diff(self.start);
        if life > MAX_LIFE {
            let hours = life.as_secs().div_ceil(3_600);
            return invalid(format!(
                "it would be valid for {hours} hours, more than the limit of 168 (7 days)"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn info(start: i64, expiry: i64) -> KeyInfo {
        KeyInfo {
            start: DateTime::from_unix_seconds(start),
            expiry: DateTime::from_unix_seconds(expiry),
            delegated_tenant_id: None,
        }
    }

    fn key(delegated: Option<String>) -> UserDelegationKey {
        let info = KeyInfo {
            delegated_tenant_id: delegated,
            ..info(1_780_000_000, 1_780_003_600)
        };
        create(("object", "tenant"), info, "2025-07-05", |_| "U0VDUkVU".to_owned())
    }

    #[test]
    fn response_in_the_documented_form_is_parsed() {
        let document = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><UserDelegationKey><SignedOid>object</SignedOid><SignedTid>tenant</SignedTid><SignedStart>2026-05-28T20:26:40Z</SignedStart><SignedExpiry>2026-05-28T21:26:40Z</SignedExpiry><SignedService>t</SignedService><SignedVersion>2025-07-05</SignedVersion><Value>U0VDUkVU</Value></UserDelegationKey>";
        let read = from_xml(document.as_bytes()).unwrap();
        assert_eq!(read, key(None));
        assert_eq!(to_xml(&read), document.trim_start_matches('\u{feff}').as_bytes());
        assert_eq!((read.object_id(), read.tenant_id()), ("object", "tenant"));
        assert_eq!(read.delegated_tenant_id(), None);
        assert_eq!(key(Some("other".to_owned())).delegated_tenant_id(), Some("other"));
        let parameters = parameters(&read).map(|(name, value)| format!("{name}={value}"));
        assert_eq!(
            parameters.join("&"),
            "skoid=object&sktid=tenant&skt=2026-05-28T20:26:40Z&ske=2026-05-28T21:26:40Z&sks=t&skv=2025-07-05&skdutid="
        );
        for wrong in [
            document.replace("U0VDUkVU", "no base64!"),
            document.replace("<SignedOid>object</SignedOid>", ""),
            document.replace("2026-05-28T20:26:40Z", "now"),
            "<KeyInfo/>".to_owned(),
        ] {
            let error = from_xml(wrong.as_bytes()).unwrap_err().to_string();
            assert!(!error.contains("base64!"), "{error}");
        }
    }

    #[test]
    fn key_signs_and_is_never_shown() {
        let key = key(None);
        assert_eq!(
            signing_key(&key).unwrap().sign("x"),
            SigningKey::from_base64("U0VDUkVU").unwrap().sign("x")
        );
        let shown = format!("{key:?}");
        assert!(shown.contains("tenant") && !shown.contains("U0VDUkVU"), "{shown}");
    }

    #[test]
    fn keys_differ_by_each_of_their_fields() {
        let document = String::from_utf8(to_xml(&key(Some("other".to_owned()))).to_vec()).unwrap();
        let read = |document: &str| from_xml(document.as_bytes()).unwrap();
        for (part, other) in [
            (">object<", ">x<"),
            (">tenant<", ">x<"),
            ("20:26:40Z", "20:26:41Z"),
            ("21:26:40Z", "21:26:41Z"),
            (">t<", ">b<"),
            ("2025-07-05", "2026-02-06"),
            (">other<", ">x<"),
            ("U0VDUkVU", "U0VDUkVV"),
        ] {
            assert_ne!(read(&document), read(&document.replace(part, other)), "{part}");
        }
        assert_eq!(read(&document), read(&document));
    }

    #[test]
    fn validity_is_limited_to_seven_days() {
        let week = 7 * 24 * 3_600;
        assert!(info(0, week).check().is_ok());
        for (info, why) in [
            (
                info(0, week + 1),
                "it would be valid for 169 hours, more than the limit of 168",
            ),
            (info(5, 5), "is not after its start"),
        ] {
            let error = info.check().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn written_documents_parse_to_the_same_key(
            start in 0_i64..4_000_000_000,
            life in 1_i64..1_000_000,
            tenant in proptest::option::of("[a-f0-9&<-]{1,36}"),
        ) {
            let info = KeyInfo { delegated_tenant_id: tenant.clone(), ..info(start, start + life) };
            prop_assert_eq!(KeyInfo::from_xml(&info.to_xml()).unwrap(), info);
            let key = key(tenant);
            prop_assert_eq!(from_xml(&to_xml(&key)).unwrap(), key);
        }

        #[test]
        fn damaged_document_is_parsed_or_rejected(
            at in any::<proptest::sample::Index>(),
            damage in proptest::collection::vec(any::<u8>(), 0..4),
            lost in 0..40_usize,
        ) {
            for document in [to_xml(&key(None)), info(1_780_000_000, 1_780_003_600).to_xml()] {
                let mut bytes = document.to_vec();
                let start = at.index(bytes.len());
                bytes.splice(start..bytes.len().min(start + lost), damage.iter().copied());
                // A parsed key is complete: it can be written and it signs.
                if let Ok(read) = from_xml(&bytes) {
                    prop_assert_eq!(from_xml(&to_xml(&read)).unwrap(), read.clone());
                    prop_assert!(signing_key(&read).is_ok());
                }
                let _ = KeyInfo::from_xml(&bytes);
            }
        }
    }
}
