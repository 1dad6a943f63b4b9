//! Signatures of our own for what was recorded without: by the formulas as they are documented, not by the client.
//!
//! Source: REST "Authorize with Shared Key", "Create a service SAS", "Create an account SAS".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::session::Asked;

/// The key of every replayed account.
pub(super) const KEY: &str = "AAECAwQFBgcICQoLDA0ODw==";

fn sign(text: &str) -> String {
    let mut hmac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
    hmac.update(text.as_bytes());
    STANDARD.encode(hmac.finalize().into_bytes())
}

/// The value of `Authorization` by SharedKey.
pub(super) fn authorization(asked: &Asked, date: &str) -> String {
    let account = asked.account();
    let comp = parameter(&asked.url, "comp").map_or(String::new(), |comp| format!("?comp={comp}"));
    let to_sign = format!(
        "{}\n{}\n{}\n{date}\n/{account}/{}{comp}",
        asked.method,
        asked.header("content-md5").unwrap_or_default(),
        asked.header("content-type").unwrap_or_default(),
        asked.path(),
    );
    format!("SharedKey {account}:{}", sign(&to_sign))
}

/// A parameter of the query, decoded.
pub(super) fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let pair = query
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(known, _)| *known == name));
    pair.map(|(_, value)| super::super::requests::percent_decoded(value))
}

/// The address with a shared access signature that is good, where it had one.
pub(super) fn with_signature(asked: &Asked) -> Option<String> {
    const PLACE: &str = "sig=Sanitized";
    asked.url.contains(PLACE).then(|| {
        let field = |name: &str| parameter(&asked.url, name).unwrap_or_default();
        let account = asked.account();
        let to_sign = match parameter(&asked.url, "tn") {
            Some(table) => {
                let resource = format!("/table/{account}/{}", table.to_ascii_lowercase());
                let (before, behind) = (
                    ["sp", "st", "se"].map(field),
                    ["si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"].map(field),
                );
                format!("{}\n{resource}\n{}", before.join("\n"), behind.join("\n"))
            }
            None => {
                let fields = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"].map(field);
                format!("{account}\n{}\n", fields.join("\n"))
            }
        };
        let signature = sign(&to_sign)
            .replace('+', "%2B")
            .replace('/', "%2F")
            .replace('=', "%3D");
        asked.url.replace(PLACE, &format!("sig={signature}"))
    })
}
