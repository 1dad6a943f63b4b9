//! Shared access signatures that the client does not create: with fields missing, twice, or of another version.
//!
//! Source: REST "Create a service SAS", "Create an account SAS".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::service::mask::{decoded, encoded};

/// The first version that signs addresses and protocols.
const SIGNS_ADDRESSES: &str = "2015-04-05";
/// The first version that signs the service's name with the table's.
const SIGNS_SERVICE: &str = "2015-02-21";
/// The first version whose account signatures sign the encryption scope, which is empty if it is missing.
const SIGNS_ENCRYPTION_SCOPE: &str = "2020-12-06";

/// The permissions that a run needs, each with its name. Either of two letters is sufficient.
///
/// Source: REST "Create an account SAS", permissions of the Table service.
const PERMISSIONS: [(&str, &str); 6] = [
    ("r", "read"),
    ("a", "add"),
    ("u", "update"),
    ("d", "delete"),
    ("cw", "create"),
    ("l", "list"),
];
/// The types of resources that a run needs.
const TYPES: [(&str, &str); 2] = [("c", "container, for tables"), ("o", "object, for entities")];

/// Checks that a signature is sufficient for a run.
pub(crate) fn check(token: &str) -> Result<(), String> {
    let fields = fields(token);
    let field = |name: &str| value(&fields, name);
    let missing = |field: &str, needed: &[(&str, &str)]| -> Vec<String> {
        let missing = needed
            .iter()
            .filter(|(letters, _)| !field.contains(|c| letters.contains(c)));
        missing
            .map(|(letters, name)| format!("{} ({name})", &letters[..1]))
            .collect()
    };
    let lacks = if field("tn").is_empty() {
        [
            ("the service", missing(field("ss"), &[("t", "table")])),
            ("the resource type", missing(field("srt"), &TYPES)),
            ("the permission", missing(field("sp"), &PERMISSIONS)),
        ]
    } else {
        return Err("the signature is for one table, and the run creates tables: use an account SAS".to_owned());
    };
    let lacks: Vec<_> = lacks
        .iter()
        .filter(|(_, missing)| !missing.is_empty())
        .map(|(what, missing)| format!("{what} {}", missing.join(", ")))
        .collect();
    if lacks.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "the signature lacks {}: create an account SAS with ss=t, srt=co and sp=rdlacu",
            lacks.join(" and ")
        ))
    }
}

/// Returns the query of a signature with these fields. With `tn` it is for a table, otherwise for the account.
pub(crate) fn signed(fields: &[(String, String)], account: &str, key: &str) -> String {
    let field = |name: &str| value(fields, name);
    let lines = |names: &[&str]| names.iter().map(|name| field(name)).collect::<Vec<_>>().join("\n");
    let version = field("sv");
    let to_sign = match field("tn") {
        "" => {
            let scope = if version < SIGNS_ENCRYPTION_SCOPE {
                String::new()
            } else {
                format!("{}\n", field("ses"))
            };
            let fields = lines(&["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"]);
            format!("{account}\n{fields}\n{scope}")
        }
        table => {
            let service = if version < SIGNS_SERVICE { "" } else { "/table" };
            let resource = format!("{service}/{account}/{}", table.to_ascii_lowercase());
            let address = if version < SIGNS_ADDRESSES {
                String::new()
            } else {
                format!("{}\n", lines(&["sip", "spr"]))
            };
            let ends = lines(&["sv", "spk", "srk", "epk", "erk"]);
            format!(
                "{}\n{resource}\n{}\n{address}{ends}",
                lines(&["sp", "st", "se"]),
                field("si")
            )
        }
    };
    let key = STANDARD.decode(key).unwrap_or_default();
    let signature = Hmac::<Sha256>::new_from_slice(&key).map(|mut hmac| {
        hmac.update(to_sign.as_bytes());
        STANDARD.encode(hmac.finalize().into_bytes())
    });
    let mut query: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    query.push(format!("sig={}", encoded(&signature.unwrap_or_default())));
    query.join("&")
}

/// Returns the value of a field, which is empty if the field is missing.
fn value<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    let found = fields.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value)
}

/// Returns the fields of a signature, without the signature itself.
pub(crate) fn fields(token: &str) -> Vec<(String, String)> {
    let pairs = token
        .trim_start_matches('?')
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(name, _)| *name != "sig")
        .map(|(name, value)| (name.to_owned(), decoded(value)))
        .collect()
}

/// Returns the signature of a token, as it is in the URL.
pub(crate) fn signature(token: &str) -> &str {
    let mut pairs = token.trim_start_matches('?').split('&');
    pairs.find_map(|pair| pair.strip_prefix("sig=")).unwrap_or_default()
}
