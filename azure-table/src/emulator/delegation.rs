//! Keys of Entra ID for shared access signatures.
//!
//! Owns who gets such a key, and what its value is: an HMAC by the account's key of all that the key says. So nothing is
//! stored, and a signature's own words (`skoid` and so on) are enough to make its key again.
//! All tokens are those of one user, whose object id is the tenant's id: zeros.
//! Not confirmed: the code for times that are refused, and which clock's skew is allowed (none here); how a user-bound
//! signature without its user's token fails (like a wrong signature).
//!
//! Source: REST "Get User Delegation Key", "Create a user delegation SAS".

use crate::emulator::answer::Answer;
use crate::emulator::auth::TENANT;
use crate::emulator::call::Call;
use crate::emulator::refusal::{Refusal, Result};
use crate::model::datetime::DateTime;
use crate::protocol::sas_parameters::{SasParameters, time};
use crate::protocol::signature::SigningKey;
use crate::protocol::user_delegation_key::{KeyInfo, MAX_LIFE, UserDelegationKey};

/// The first version in which tables take such signatures.
///
/// Source: the announcement of 2026; "Versioning for Azure Storage".
pub(crate) const FIRST_VERSION: &str = "2025-07-05";

/// `POST /?restype=service&comp=userdelegationkey`.
pub(crate) fn give(call: &Call<'_>) -> Result<Answer> {
    let caller = call.caller;
    let info = KeyInfo::from_xml(call.xml()).map_err(|_| Refusal::INVALID_XML)?;
    if info.check().is_err() || info.expiry <= caller.now || info.expiry > caller.now + MAX_LIFE {
        return Err(Refusal::INVALID_XML_NODE);
    }
    // Signatures repeat its times, to the second.
    let to_the_second = |time: DateTime| DateTime::from_unix_seconds(time.unix_seconds());
    let info = KeyInfo {
        start: to_the_second(info.start),
        expiry: to_the_second(info.expiry),
        ..info
    };
    let account = caller.settings.key(&caller.site.account);
    let account = account.ok_or(Refusal::AUTHENTICATION_FAILED)?;
    let key = UserDelegationKey::new((TENANT, TENANT), info, caller.version, |key| {
        value(&key.parameters().map(|(_, value)| value), account)
    });
    Ok(Answer::xml(&key.to_xml()))
}

/// The key that a signature says it was made with; `None` where there is no such key now.
pub(crate) fn key_of(sas: &SasParameters, account: &SigningKey, now: DateTime) -> Option<SigningKey> {
    let (start, expiry) = (time(sas.get("skt"))?, time(sas.get("ske"))?);
    if now < start || now >= expiry || (sas.get("sks"), sas.get("sktid")) != ("t", TENANT) {
        return None;
    }
    let said = [
        sas.get("skoid").to_owned(),
        sas.get("sktid").to_owned(),
        start.to_string(),
        expiry.to_string(),
        sas.get("sks").to_owned(),
        sas.get("skv").to_owned(),
        sas.get("skdutid").to_owned(),
    ];
    SigningKey::from_base64(&value(&said, account)).ok()
}

/// A key's value, made of all that is said of it.
fn value(said: &[String; 7], account: &SigningKey) -> String {
    account.sign(&format!("user delegation key\n{}", said.join("\n")))
}
