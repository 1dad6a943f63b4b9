//! Versions of the protocol: the supported versions, and the versions that introduced a behaviour.
//!
//! Versions are dates, so they compare as text.
//!
//! Source: REST "Versioning for Azure Storage".

use azure_table_wire::value::datetime;

/// The versions of the storage services, from the first with JSON on, whether they changed something about tables or
/// not, oldest first. Unknown versions between and before them are rejected, as seen.
///
/// Source: REST "Versioning for Azure Storage"; Azurite's list (3.37).
pub(crate) const VERSIONS: &str = "\
    2013-08-15 2014-02-14 2015-02-21 2015-04-05 2015-07-08 2015-12-11 2016-05-31 2017-04-17 2017-07-29 \
    2017-11-09 2018-03-28 2018-11-09 2019-02-02 2019-07-07 2019-10-10 2019-12-12 2020-02-10 2020-04-08 \
    2020-06-12 2020-08-04 2020-10-02 2020-12-06 2021-02-12 2021-04-10 2021-06-08 2021-08-06 2021-10-04 \
    2021-12-02 2022-11-02 2023-01-03 2023-08-03 2023-11-03 2024-02-04 2024-05-04 2024-08-04 2024-11-04 \
    2025-01-05 2025-05-05 2025-07-05 2025-11-05 2026-02-06 2026-04-06 2026-06-06";

/// The first version whose errors have `x-ms-error-code`.
///
/// Source: REST "Status and error codes"; recordings of 2014-02-14 and 2016-05-31.
pub(crate) const HAS_ERROR_CODE: &str = "2017-07-29";
/// The first version that returns a caller's own id without being asked for it.
pub(crate) const ECHOES_CLIENT_REQUEST_ID: &str = "2019-02-02";
/// The first version that answers a request without a credential with the token authority.
pub(crate) const CHALLENGES: &str = "2020-12-06";
/// The first version that accepts tokens of Entra ID.
///
/// Source: REST "Authorize with Microsoft Entra ID".
pub(crate) const TAKES_TOKENS: &str = "2017-11-09";
/// The first version of signatures for a table. Requests cannot have it, since it has no JSON.
pub(crate) const FIRST_SIGNATURES: &str = "2012-02-12";
/// The first version of signatures for an account.
pub(crate) const ACCOUNT_SIGNATURES: &str = "2015-04-05";
/// The first version in which tables accept signatures by a user delegation key.
///
/// Source: the announcement of 2026; "Versioning for Azure Storage".
pub(crate) const USER_DELEGATION: &str = "2025-07-05";

/// Returns `true` if a version is accepted: a known one, or a later date unless `is_strict`. The live service accepts
/// only its own versions. The versions of future clients are not known here, and behave like the newest.
pub(crate) fn is_taken(version: &str, is_strict: bool) -> bool {
    VERSIONS.split(' ').any(|known| known == version) || !is_strict && is_later(version)
}

fn is_later(version: &str) -> bool {
    let newest = VERSIONS.rsplit(' ').next().unwrap_or_default();
    version > newest && is_date(version)
}

/// Returns `true` if a version has the form of all versions.
pub(crate) fn is_date(version: &str) -> bool {
    version.len() == ACCOUNT_SIGNATURES.len() && datetime::of_service(version).is_ok()
}
