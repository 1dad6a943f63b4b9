//! Operations with XML bodies: properties and statistics of the service, a table's access policies, user delegation
//! keys.
//!
//! Parses the requests, applies their effects, and builds the responses. The documents are in
//! `service/service_properties.rs`, `service/service_statistics.rs`, `service/access_policy.rs` and
//! `sas/user_delegation_key.rs`. `operations/cors.rs` applies the rules for browsers, `access/sas.rs` the policies
//! and keys. Logging and metrics have no effect.
//!
//! Not confirmed: the code for a well-formed document with invalid values (all that were seen beyond a limit were
//! InvalidXmlDocument), or with an unknown setting (ignored here); that two policies of the same name are rejected; the
//! code for invalid times of a key, and the permitted clock skew (none here).
//!
//! Source: REST "Set Table Service Properties", "Get Table Service Properties", "Get Table Service Stats", "Get Table
//! ACL", "Set Table ACL", "Get User Delegation Key"; recorded answers.

use azure_table_wire::account::signature::SigningKey;
use azure_table_wire::codec::xml::Element;
use azure_table_wire::sas::user_delegation_key::{self, KeyInfo, MAX_LIFE};
use azure_table_wire::service::access_policy;
use azure_table_wire::service::service_properties;
use azure_table_wire::service::service_properties::cors;
use azure_table_wire::service::service_statistics;
use azure_table_wire::value::datetime::DateTime;

use crate::operations::OperationCall;
use crate::response::{OperationResponse, Trace};
use crate::rules::TENANT;
use crate::rules::service_error::{Result, ServiceError};
use crate::store::Store;

/// Handles `GET /?restype=service&comp=properties`.
pub(crate) fn properties(store: &Store, call: &OperationCall<'_>) -> OperationResponse {
    OperationResponse::xml(&service_properties::to_xml(&store.properties(call.replica())))
}

/// Handles `PUT /?restype=service&comp=properties`.
pub(crate) fn set_properties(store: &mut Store, call: &OperationCall<'_>, trace: &Trace) -> Result<OperationResponse> {
    let mut properties = service_properties::from_xml(call.xml()).map_err(|_| ServiceError::INVALID_XML)?;
    // Both are read in the tests of the SDKs; of the second only the status.
    if properties.cors.iter().flatten().any(cors::has_too_many_names) {
        return Err(ServiceError::INVALID_XML_NODE);
    }
    let sets_version = |root: Element| root.child("DefaultServiceVersion").is_some();
    if Element::read(call.xml()).is_some_and(sets_version) {
        return Err(ServiceError::INVALID_XML);
    }
    service_properties::check(&properties).map_err(|_| ServiceError::INVALID_XML)?;
    // Full names are returned before prefixes (recorded of azure-data-tables, `set_cors`, 2026).
    for rule in properties.cors.iter_mut().flatten() {
        for names in [&mut rule.allowed_headers, &mut rule.exposed_headers] {
            names.sort_by_key(|name| name.ends_with('*'));
        }
    }
    let present = store.properties(call.replica());
    // Omitted properties stay unchanged (documented).
    properties.logging = properties.logging.or(present.logging);
    properties.hour_metrics = properties.hour_metrics.or(present.hour_metrics);
    properties.minute_metrics = properties.minute_metrics.or(present.minute_metrics);
    properties.cors = properties.cors.or(present.cors);
    store.set_properties(call.replica(), properties, trace.time);
    Ok(OperationResponse::set(202))
}

/// Handles `GET /?restype=service&comp=stats`.
pub(crate) fn statistics(call: &OperationCall<'_>, trace: &Trace) -> Result<OperationResponse> {
    if !call.site().is_secondary {
        return Err(ServiceError::STATISTICS_OF_PRIMARY);
    }
    let statistics = service_statistics::live(trace.time - call.caller.settings.secondary_lag);
    Ok(OperationResponse::xml(&service_statistics::to_xml(&statistics)))
}

/// Handles `GET /table?comp=acl`.
pub(crate) fn policies(store: &Store, call: &OperationCall<'_>, table: &str) -> Result<OperationResponse> {
    let table = store
        .table(call.replica(), table)
        .ok_or(ServiceError::TABLE_NOT_FOUND)?;
    Ok(OperationResponse::xml(&access_policy::list_for_response(
        &table.policies,
    )))
}

/// Handles `PUT /table?comp=acl`.
pub(crate) fn set_policies(
    store: &mut Store,
    call: &OperationCall<'_>,
    table: &str,
    trace: &Trace,
) -> Result<OperationResponse> {
    // Recorded of a C++ SDK. Other operations with XML were not seen with this header.
    if call.accepts_anything() {
        return Err(ServiceError::MEDIA_TYPE_NOT_SUPPORTED);
    }
    let policies = match call.xml() {
        // An empty body means no policies (recorded).
        [] => Vec::new(),
        document => access_policy::list_from_xml(document).map_err(|_| ServiceError::INVALID_XML)?,
    };
    if has_short_fraction(call.xml()) {
        return Err(ServiceError::INVALID_XML);
    }
    access_policy::check_list(&policies).map_err(|_| ServiceError::INVALID_XML)?;
    store.set_policies(call.replica(), table, policies, trace.time)?;
    Ok(OperationResponse::set(204))
}

/// Returns `true` if a time of a policy has a fraction of a second of other than seven digits. Recorded of three
/// digits, which are rejected, and of seven (azure-data-tables, 2020 and 2021).
fn has_short_fraction(document: &[u8]) -> bool {
    let Some(root) = Element::read(document) else {
        return false;
    };
    let bodies = root
        .children("SignedIdentifier")
        .filter_map(|signed| signed.child("AccessPolicy"));
    let mut times = bodies.flat_map(|body| ["Start", "Expiry"].map(|name| body.child(name)));
    times.any(|time| {
        let fraction = time.and_then(|time| time.text().trim().split_once('.'));
        fraction.is_some_and(|(_, digits)| digits.trim_end_matches('Z').len() != 7)
    })
}

/// Handles `POST /?restype=service&comp=userdelegationkey`.
pub(crate) fn user_delegation_key(call: &OperationCall<'_>, trace: &Trace) -> Result<OperationResponse> {
    let caller = call.caller;
    let info = KeyInfo::from_xml(call.xml()).map_err(|_| ServiceError::INVALID_XML)?;
    if info.check().is_err() || info.expiry <= trace.time || info.expiry > trace.time + MAX_LIFE {
        return Err(ServiceError::INVALID_XML_NODE);
    }
    // Signatures repeat its times, to the second.
    let to_the_second = |time: DateTime| DateTime::from_unix_seconds(time.unix_seconds());
    let info = KeyInfo {
        start: to_the_second(info.start),
        expiry: to_the_second(info.expiry),
        ..info
    };
    let account = caller.settings.key(&caller.site.account);
    let account = account.ok_or(ServiceError::AUTHENTICATION_FAILED)?;
    let key = user_delegation_key::create((TENANT, TENANT), info, &trace.version, |key| {
        delegation_key_value(&user_delegation_key::parameters(key).map(|(_, value)| value), account)
    });
    Ok(OperationResponse::xml(&user_delegation_key::to_xml(&key)))
}

/// Returns the value of a key, derived from all of its parameters.
pub(crate) fn delegation_key_value(parameters: &[String; 7], account: &SigningKey) -> String {
    account.sign(&format!("user delegation key\n{}", parameters.join("\n")))
}
