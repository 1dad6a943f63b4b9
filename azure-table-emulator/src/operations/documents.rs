//! Operations with XML bodies: properties and statistics of the service, a table's access policies, user delegation
//! keys.
//!
//! Owns their parsing, effects and responses. The documents are in `protocol/service_properties.rs`,
//! `protocol/service_statistics.rs`, `protocol/access_policy.rs` and `protocol/user_delegation_key.rs`.
//! `operations/cors.rs` applies the rules for browsers, `access/sas.rs` the policies and keys. Logging and metrics have
//! no effect.
//!
//! Not confirmed: the code for a well-formed document with invalid values (all that were seen beyond a limit were
//! InvalidXmlDocument), or with an unknown setting (ignored here); that statistics of the primary are rejected as an
//! invalid parameter; that two policies of the same name are rejected; the code for invalid times of a key, and the
//! permitted clock skew (none here).
//!
//! Source: REST "Set Table Service Properties", "Get Table Service Properties", "Get Table Service Stats", "Get Table
//! ACL", "Set Table ACL", "Get User Delegation Key"; recorded answers.

use azure_table_core::model::datetime::DateTime;
use azure_table_core::protocol::access_policy::{self};
use azure_table_core::protocol::service_properties::{self};
use azure_table_core::protocol::service_statistics::{self};
use azure_table_core::protocol::signature::SigningKey;
use azure_table_core::protocol::user_delegation_key::{self, KeyInfo, MAX_LIFE};

use crate::operations::Call;
use crate::response::{Answer, Trace};
use crate::rules::TENANT;
use crate::rules::refusal::{Refusal, Result};
use crate::store::Store;

/// Handles `GET /?restype=service&comp=properties`.
pub(crate) fn properties(store: &Store, call: &Call<'_>) -> Answer {
    Answer::xml(&service_properties::to_xml(&store.properties(call.replica())))
}

/// Handles `PUT /?restype=service&comp=properties`.
pub(crate) fn set_properties(store: &mut Store, call: &Call<'_>, trace: &Trace) -> Result<Answer> {
    let mut given = service_properties::from_xml(call.xml()).map_err(|_| Refusal::INVALID_XML)?;
    service_properties::check(&given).map_err(|_| Refusal::INVALID_XML)?;
    // Full names are returned before prefixes (recorded of azure-data-tables, `set_cors`, 2026).
    for rule in given.cors.iter_mut().flatten() {
        for names in [&mut rule.allowed_headers, &mut rule.exposed_headers] {
            names.sort_by_key(|name| name.ends_with('*'));
        }
    }
    let present = store.properties(call.replica());
    // Omitted properties stay unchanged (documented).
    given.logging = given.logging.or(present.logging);
    given.hour_metrics = given.hour_metrics.or(present.hour_metrics);
    given.minute_metrics = given.minute_metrics.or(present.minute_metrics);
    given.cors = given.cors.or(present.cors);
    store.set_properties(call.replica(), given, trace.time);
    Ok(Answer::set(202))
}

/// Handles `GET /?restype=service&comp=stats`.
pub(crate) fn statistics(call: &Call<'_>, trace: &Trace) -> Result<Answer> {
    if !call.site().is_secondary {
        return Err(Refusal::INVALID_QUERY_PARAMETER);
    }
    let statistics = service_statistics::live(trace.time - call.caller.settings.secondary_lag);
    Ok(Answer::xml(&service_statistics::to_xml(&statistics)))
}

/// Handles `GET /table?comp=acl`.
pub(crate) fn policies(store: &Store, call: &Call<'_>, table: &str) -> Result<Answer> {
    let table = store.table(call.replica(), table).ok_or(Refusal::TABLE_NOT_FOUND)?;
    Ok(Answer::xml(&access_policy::list_to_answer(&table.policies)))
}

/// Handles `PUT /table?comp=acl`.
pub(crate) fn set_policies(store: &mut Store, call: &Call<'_>, table: &str, trace: &Trace) -> Result<Answer> {
    // Recorded of a C++ SDK. Other operations with XML were not seen with this header.
    if call.accepts_anything() {
        return Err(Refusal::MEDIA_TYPE_NOT_SUPPORTED);
    }
    let policies = match call.xml() {
        // An empty body means no policies (recorded).
        [] => Vec::new(),
        document => access_policy::list_from_xml(document).map_err(|_| Refusal::INVALID_XML)?,
    };
    access_policy::check_list(&policies).map_err(|_| Refusal::INVALID_XML)?;
    store.set_policies(call.replica(), table, policies, trace.time)?;
    Ok(Answer::set(204))
}

/// Handles `POST /?restype=service&comp=userdelegationkey`.
pub(crate) fn user_delegation_key(call: &Call<'_>, trace: &Trace) -> Result<Answer> {
    let caller = call.caller;
    let info = KeyInfo::from_xml(call.xml()).map_err(|_| Refusal::INVALID_XML)?;
    if info.check().is_err() || info.expiry <= trace.time || info.expiry > trace.time + MAX_LIFE {
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
    let key = user_delegation_key::create((TENANT, TENANT), info, &trace.version, |key| {
        delegation_key_value(&user_delegation_key::parameters(key).map(|(_, value)| value), account)
    });
    Ok(Answer::xml(&user_delegation_key::to_xml(&key)))
}

/// Returns the value of a key, derived from all of its parameters.
pub(crate) fn delegation_key_value(parameters: &[String; 7], account: &SigningKey) -> String {
    account.sign(&format!("user delegation key\n{}", parameters.join("\n")))
}
