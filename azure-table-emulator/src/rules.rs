//! Rules: the limits, formats and responses of Table storage and Cosmos DB for Table, as two values of one type.
//!
//! Defines [`ServiceRules`]: each limit, and each form in which the two services differ. The rest of the emulator reads
//! a rule and never checks for a specific service. Errors are in `rules/service_error.rs`, names of tables in
//! `rules/table_name.rs`, versions of the protocol in `rules/version.rs`.
//!
//! Deliberately independent of the client: this file repeats the numbers, so that the emulator does not repeat an error
//! of the client (`account/profile.rs` and `entity`). A test below compares both. Only rules that
//! `shared` reads are the client's own. Not confirmed, for Cosmos DB: the
//! codes for a reserved name, a RowKey that is too long, a batch that is too large and an unsupported method; its
//! formula of an entity's size (the formula of Table storage here); its limit on the number of properties (252). Not
//! imitated, for Cosmos DB: the order of tables, request units.
//!
//! Source: REST "Understanding the Table service data model", "Performing entity group transactions", "Query timeout
//! and pagination"; "Azure Cosmos DB for Table: frequently asked questions"; recorded responses of both.

pub(crate) mod service_error;
pub(crate) mod table_name;
pub(crate) mod version;

use std::time::Duration;

use azure_table_wire::account::profile::{self, Profile};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use serde::{Deserialize, Serialize};

use crate::rules::service_error::{RaisedBy, ServiceError};
use crate::rules::table_name::TableNames;

/// The maximum length of a URL, in bytes.
///
/// HTTP.sys, which is in front of the live service (its `Server` header shows that), counts the bytes of a URL in
/// UTF-16 in 16 bits. Whether the service is configured with a lower limit is not documented.
///
/// Source: Win32 "HTTP_COOKED_URL structure (http.h)".
pub(crate) const MAX_URL: usize = 32_767;

/// Returns the reason for rejecting a URL of this length.
pub(crate) fn url_too_long(length: usize) -> String {
    format!("the URL has {length} characters, more than the limit of {MAX_URL}")
}

/// The maximum size of a request body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 4 << 20;
/// The maximum number of rows per page.
pub(crate) const MAX_PAGE: usize = 1_000;
/// The maximum number of operations in a batch.
pub(crate) const MAX_BATCH_OPERATIONS: usize = 100;
/// The maximum length of a PartitionKey or RowKey, in UTF-16 units.
pub(crate) const MAX_KEY_UNITS: usize = 1_024;
/// The maximum length of a property's name, in UTF-16 units.
pub(crate) const MAX_PROPERTY_NAME: usize = 255;
/// The maximum number of properties of an entity, without system properties.
pub(crate) const MAX_PROPERTIES: usize = 252;
/// The tenant of all tokens, and their user's object id.
pub(crate) const TENANT: &str = "00000000-0000-0000-0000-000000000000";

/// The rules of a service. A flag's comment states what is true if it is set.
#[derive(Debug)]
pub(crate) struct ServiceRules {
    pub(crate) profile: Profile,
    /// The name of the service in a snapshot.
    pub(crate) name: ServiceName,

    pub(crate) table_names: TableNames,
    /// `Tables`, `$batch` and the table's own name after a table are ignored instead of rejected.
    pub(crate) ignores_further_segments: bool,
    /// Writes may be sent to the URL of the secondary.
    pub(crate) writes_at_secondary: bool,
    /// The response to a Create Table has an ETag.
    pub(crate) has_table_etags: bool,
    /// The time that a slow deletion of a table takes.
    pub(crate) slow_deletion: Duration,
    /// The service supports operations on itself and on access policies, and its rules for browsers apply.
    pub(crate) has_service_operations: bool,

    /// `x-ms-version` must be a known version.
    pub(crate) checks_version: bool,
    /// Filters on the Timestamp are evaluated. Otherwise they find no row.
    pub(crate) filters_by_timestamp: bool,
    /// A binary constant also equals the text with its bytes.
    pub(crate) compares_bytes_with_text: bool,
    /// `$format` takes precedence over `Accept`. Otherwise it is ignored.
    pub(crate) takes_format: bool,
    /// The maximum `$top`, if limited.
    pub(crate) max_top: Option<usize>,
    /// The maximum size of a batch's body, in bytes.
    pub(crate) max_batch_bytes: usize,
    /// The error for any filter that cannot be parsed; `None` if it depends on the fault.
    pub(crate) invalid_filter: Option<ServiceError>,

    /// The maximum length of a text property, in UTF-16 units.
    pub(crate) max_string_units: usize,
    /// The maximum size of a binary property, in bytes.
    pub(crate) max_binary_bytes: usize,
    /// The maximum size of an entity, in bytes.
    pub(crate) max_entity_bytes: usize,
    /// The error for a key that is not text.
    pub(crate) invalid_key: ServiceError,
    /// Keys in the body of a replace or a merge must be text too; otherwise their types are ignored.
    pub(crate) checks_keys_of_updates: bool,
    /// The error for a property's name repeats the name.
    pub(crate) repeats_property_name: bool,
    /// A property `Etag` is dropped if there is an `etag`.
    pub(crate) drops_second_etag: bool,
    /// A number that is annotated as text is stored as a number.
    pub(crate) takes_numbers_as_text: bool,
    /// A bare integer beyond Int64 is a double.
    pub(crate) takes_large_integers: bool,
    /// The keys are the first properties, and every write except an insert sorts the others. Otherwise an insert keeps
    /// the position of the keys, and no write sorts.
    pub(crate) sorts_properties: bool,

    /// The characters that are encoded in the keys of an entity's URL. A quote is doubled.
    pub(crate) encoded_in_addresses: &'static AsciiSet,
    /// A percent sign in a key is encoded twice.
    pub(crate) encodes_percent_twice: bool,
    /// The media types of JSON without, with minimal and with full metadata.
    pub(crate) media_types: [&'static str; 3],
    /// The media type of a response 204, and of the part of an upsert, if any.
    pub(crate) empty_media_type: Option<&'static str>,
    /// Responses have the headers of the storage services: version, server, error code, caching, the caller's own id.
    /// An error has the request's id and its time, in XML if the response would be. Otherwise it is always JSON, with
    /// an activity id if the request is invalid.
    pub(crate) has_storage_form: bool,
    pub(crate) member_order: MemberOrder,
    /// Times have all seven digits of their second.
    pub(crate) has_full_times: bool,
    pub(crate) continuation: Continuation,
    /// A full page of tables that match a filter is never the last one: an empty page follows.
    pub(crate) has_empty_last_page: bool,

    /// The index of the operation precedes the text of each error in a batch; see [`ServiceRules::at_index`].
    pub(crate) has_every_index: bool,
    /// The end of some lines in the response to a batch.
    pub(crate) batch_line_end: &'static str,
    /// The response to a batch numbers its changes by itself, from 1, and omits the number in an error.
    pub(crate) numbers_changes: bool,
    /// The service rejects a whole batch for an empty part, for an operation whose URL cannot be parsed, and for a
    /// second operation on a row. Otherwise the response to the batch contains the error, for an empty part in XML.
    pub(crate) rejects_whole_batches: bool,
    /// The error for a second partition in a batch.
    pub(crate) other_partition: ServiceError,
    /// An update without content confirms that preference.
    pub(crate) applies_preference_to_updates: bool,
    /// The error for an ETag of an entity with doubled quotes.
    pub(crate) doubled_quotes: ServiceError,
    /// A shared access signature may have a range of rows.
    pub(crate) takes_ranges: bool,
    /// The errors for exceeded capacity: of an account, and of a partition or the server of its range.
    pub(crate) account_busy: ServiceError,
    pub(crate) server_busy: ServiceError,
    /// A batch beyond the capacity is rejected in the only part of its response, otherwise as a whole.
    pub(crate) throttles_in_part: bool,
    /// The audience of tokens of Entra ID.
    pub(crate) token_audience: &'static str,
}

/// The name of a service in a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ServiceName {
    #[default]
    Storage,
    Cosmos,
}

/// The order of the members of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberOrder {
    /// `odata.metadata`, which repeats `$select`, type and id, ETag, edit link, the system properties, all others.
    MetadataFirst,
    /// Type, id and edit link, `odata.metadata`, ETag, the keys, all others, Timestamp. In lists `odata.metadata` is
    /// last.
    MetadataLast,
}

/// The order of rows, and the form of continuation tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// Rows are ordered by their keys. `1!`, a length, `!`, base64: one token for each key, or for a table's name.
    Keys,
    /// Rows are ordered by their insertion. An id of 16 bytes for a row and a shorter one for a table, with counts if
    /// the query has a filter.
    Places,
}

/// Recorded of azure-data-tables, `create_entity_basic` and `batch` of `test_encoder` (2024). Parentheses were not
/// seen.
const STORAGE_ADDRESS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'*')
    .remove(b'!')
    .remove(b'\'');
/// Recorded of the same and of `url_encoding_at_symbol` (2024 and 2026).
const COSMOS_ADDRESS: &AsciiSet = &STORAGE_ADDRESS.remove(b'@').remove(b'$');

/// Table storage.
pub(crate) static STORAGE: ServiceRules = ServiceRules {
    profile: Profile::Storage,
    name: ServiceName::Storage,
    table_names: TableNames::Alphanumeric,
    // Recorded of azure-data-tables, `client_with_url_ends_with_table_name` (2024 and 2026).
    ignores_further_segments: true,
    writes_at_secondary: false,
    has_table_etags: false,
    // Documented: at least as long.
    slow_deletion: Duration::from_secs(40),
    has_service_operations: true,
    checks_version: true,
    filters_by_timestamp: true,
    compares_bytes_with_text: false,
    takes_format: true,
    max_top: Some(MAX_PAGE),
    max_batch_bytes: MAX_BODY_BYTES,
    invalid_filter: None,
    max_string_units: 32_768,
    max_binary_bytes: 65_536,
    max_entity_bytes: 1 << 20,
    invalid_key: ServiceError::INVALID_INPUT,
    checks_keys_of_updates: false,
    repeats_property_name: false,
    drops_second_etag: false,
    takes_numbers_as_text: false,
    // Seen live by azure-sdk-for-python.
    takes_large_integers: true,
    sorts_properties: true,
    encoded_in_addresses: STORAGE_ADDRESS,
    encodes_percent_twice: false,
    media_types: [
        "application/json;odata=nometadata;streaming=true;charset=utf-8",
        "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
        "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
    ],
    empty_media_type: None,
    has_storage_form: true,
    member_order: MemberOrder::MetadataFirst,
    // Trailing zeros are omitted (recorded).
    has_full_times: false,
    continuation: Continuation::Keys,
    has_empty_last_page: false,
    has_every_index: false,
    batch_line_end: "\r\n",
    numbers_changes: false,
    rejects_whole_batches: false,
    other_partition: ServiceError::DIFFERENT_PARTITIONS,
    // Recorded of seven SDKs.
    applies_preference_to_updates: true,
    doubled_quotes: ServiceError::CONDITION_NOT_MET,
    takes_ranges: true,
    account_busy: ServiceError::ACCOUNT_BUSY,
    server_busy: ServiceError::SERVER_BUSY,
    throttles_in_part: false,
    token_audience: "https://storage.azure.com",
};

/// Cosmos DB for Table.
pub(crate) static COSMOS: ServiceRules = ServiceRules {
    profile: Profile::Cosmos,
    name: ServiceName::Cosmos,
    table_names: TableNames::AnyScript,
    ignores_further_segments: false,
    // Recorded of azure-data-tables, `table_client_location_mode`.
    writes_at_secondary: true,
    // Recorded.
    has_table_etags: true,
    // Never seen to take time.
    slow_deletion: Duration::ZERO,
    has_service_operations: false,
    // The version has no effect there.
    checks_version: false,
    // Documented in "Query tables and entities by using an OData filter"; seen live (data-migration-desktop-tool issue
    // 239).
    filters_by_timestamp: false,
    // Recorded of azure-data-tables (April 2021), of `eq`.
    compares_bytes_with_text: true,
    // Recorded of Go (2021).
    takes_format: false,
    max_top: None,
    max_batch_bytes: 2 << 20,
    invalid_filter: Some(ServiceError::INVALID_URL),
    // Only the entity as a whole is limited (azure-sdk-for-net issue 20533).
    max_string_units: usize::MAX,
    max_binary_bytes: usize::MAX,
    max_entity_bytes: 2 << 20,
    // Recorded of azure-data-tables, `encoder_create_entity_*` (2024 and 2026).
    invalid_key: ServiceError::UNREADABLE_VALUE,
    // Recorded of `encoder_upsert_entity_complex_keys` and `encoder_update_entity_complex_keys`.
    checks_keys_of_updates: true,
    // Recorded of `encoder_create_entity_atypical_values`.
    repeats_property_name: true,
    // Recorded of `etag_duplicate_field`. The effect on `Etag` alone was not seen: it is stored here.
    drops_second_etag: true,
    // Recorded of `entity_with_edmtypes` (2024).
    takes_numbers_as_text: true,
    takes_large_integers: false,
    sorts_properties: false,
    encoded_in_addresses: COSMOS_ADDRESS,
    encodes_percent_twice: true,
    // Without the words about the stream. Recorders that keep the bytes show no space (Python and Go, 2021), nor do the
    // parts of batches. Recordings with one come from recorders that parse the header and write it again.
    media_types: [
        "application/json;odata=nometadata",
        "application/json;odata=minimalmetadata",
        "application/json;odata=fullmetadata",
    ],
    // Recorded since 2024.
    // Recorded of azure-data-tables, `batch_all_operations_together`.
    empty_media_type: Some("application/json"),
    has_storage_form: false,
    // Recorded of azure-data-tables, also `get_entity_with_select` and `query_entities_with_select` (2024 and 2026).
    member_order: MemberOrder::MetadataLast,
    // Recorded.
    has_full_times: true,
    // Recorded of azure-data-tables: see `store/rows.rs`.
    continuation: Continuation::Places,
    // Recorded (2021); without a filter the last page has no continuation (`query_tables_with_marker`, 2026).
    has_empty_last_page: true,
    has_every_index: true,
    // Recorded.
    batch_line_end: "\n",
    // Recorded.
    numbers_changes: true,
    // Recorded of azure-data-tables, `table_name_errors_bad_chars`; the row that occurs twice, the partition and the
    // range of a signature of other SDKs.
    rejects_whole_batches: true,
    other_partition: ServiceError::OTHER_PARTITION,
    applies_preference_to_updates: false,
    doubled_quotes: ServiceError::CONDITION_NOT_SATISFIED,
    takes_ranges: false,
    account_busy: ServiceError::TOO_MANY_REQUESTS,
    server_busy: ServiceError::TOO_MANY_REQUESTS,
    // Seen of .NET (azure-sdk-for-net issues 26960 and 29718).
    throttles_in_part: true,
    token_audience: "https://cosmos.azure.com",
};

impl ServiceName {
    pub(crate) fn rules(self) -> &'static ServiceRules {
        match self {
            Self::Storage => &STORAGE,
            Self::Cosmos => &COSMOS,
        }
    }
}

impl ServiceRules {
    /// Returns the rules of the service at a host.
    pub(crate) fn at(host: &str) -> &'static Self {
        if Profile::from_host(host).is_cosmos() {
            &COSMOS
        } else {
            &STORAGE
        }
    }

    /// Returns the rules that the client knows too.
    pub(crate) fn shared(&self) -> &'static profile::ProfileRules {
        self.profile.rules()
    }

    /// Returns the compared form of a table's name.
    ///
    /// Source: REST "Understanding the Table service data model"; "Azure Cosmos DB for Table: frequently asked
    /// questions".
    pub(crate) fn table_key(&self, name: &str) -> String {
        if self.shared().ignores_case_of_table_names {
            name.to_ascii_lowercase()
        } else {
            name.to_owned()
        }
    }

    /// Returns the error for a property's name.
    pub(crate) fn invalid_property_name(&self, name: &str) -> ServiceError {
        if self.repeats_property_name {
            ServiceError::property_name(name)
        } else {
            ServiceError::PROPERTY_NAME_INVALID
        }
    }

    /// Returns the error of an operation in a batch of `count` operations. An error of the store for the only operation
    /// has no index, unless every error has one. In that case only the error for a missing table has none (recorded of
    /// azure-data-tables, `new_non_existent_table`).
    pub(crate) fn at_index(&self, service_error: ServiceError, index: usize, count: usize) -> ServiceError {
        if self.has_every_index && service_error.code == ServiceError::TABLE_NOT_FOUND.code {
            return service_error;
        }
        if count > 1 || service_error.raised_by != RaisedBy::Store || self.has_every_index {
            let message = format!("{index}:{}", service_error.message).into();
            return ServiceError {
                message,
                ..service_error
            };
        }
        service_error
    }
}

#[cfg(test)]
mod tests {
    use azure_table::{batch, entity};
    use azure_table_wire::codec::json::write;
    use azure_table_wire::value::{key_text, name};

    use super::*;

    /// The client may be stricter than the service, never more lenient.
    #[test]
    fn rules_match_those_of_the_client() {
        for rules in [&STORAGE, &COSMOS] {
            let client = rules.profile.rules();
            assert_eq!(client.has_service_operations, rules.has_service_operations);
            assert!(client.max_batch_bytes <= rules.max_batch_bytes);
            assert_eq!(rules.name.rules().profile, rules.profile);
            assert_eq!(rules.profile.rules().token_audience(""), rules.token_audience);
            // The client checks values and entities against the limits of Storage, for any service.
            assert!(entity::MAX_STRING_UNITS <= rules.max_string_units);
            assert!(entity::MAX_BINARY_BYTES <= rules.max_binary_bytes);
            assert!(entity::MAX_ENTITY_BYTES <= rules.max_entity_bytes);
        }
        assert_eq!(entity::MAX_STRING_UNITS, STORAGE.max_string_units);
        assert_eq!(entity::MAX_BINARY_BYTES, STORAGE.max_binary_bytes);
        assert_eq!(entity::MAX_ENTITY_BYTES, STORAGE.max_entity_bytes);
        assert_eq!(entity::MAX_PROPERTIES, MAX_PROPERTIES);
        assert_eq!(key_text::MAX_KEY_UNITS, MAX_KEY_UNITS);
        assert_eq!(name::MAX_PROPERTY_NAME, MAX_PROPERTY_NAME);
        assert_eq!(batch::MAX_BATCH_OPERATIONS, MAX_BATCH_OPERATIONS);
        assert_eq!(write::MAX_BODY_BYTES, MAX_BODY_BYTES);
    }
}
