//! The differences between the services that speak this protocol, in one place.
//!
//! Defines [`Profile`] and its [`ProfileRules`]. All other code reads the rules and never checks for a specific
//! service. `endpoint.rs` derives the profile from a URL. The emulator has its own rules for each service.
//!
//! Source: "Azure Cosmos DB for Table FAQ"; REST "Understanding the Table service data model"; recorded answers of
//! both.

use std::fmt;

use crate::codec::json::write::MAX_BODY_BYTES;
use crate::error::error_text::Shown;
use crate::error::{Error, ErrorKind, Result};
use crate::value::name;

/// The service behind an endpoint.
///
/// It decides how the client sends a merge, which limits it checks before sending, and which operations exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// Azure Table storage, Azurite, or the emulator of this crate.
    Storage,
    /// Azure Cosmos DB for Table.
    Cosmos,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rules().service)
    }
}

/// The rules of a profile.
#[derive(Debug)]
pub struct ProfileRules {
    /// The name of the service in messages.
    pub service: &'static str,
    /// The value of `db.system.name` in telemetry. Cosmos DB's is registered with OpenTelemetry, the other is ours.
    pub system: &'static str,
    /// The name of every batch in telemetry, if OpenTelemetry has one registered.
    pub batch_operation: Option<&'static str>,
    /// Merges are tunnelled through `POST` instead of being sent as `PATCH`.
    pub tunnels_merge: bool,
    /// A PartitionKey or a RowKey may be empty.
    pub takes_empty_keys: bool,
    /// The maximum length of a RowKey, in bytes of UTF-8, if shorter than the limit of every service.
    pub max_row_key_bytes: Option<usize>,
    /// The maximum entity in bytes of its JSON, for a service without the limits of Azure Storage on values and
    /// entities (FAQ: 2 MB, by the service's own encoding).
    pub max_entity_bytes: Option<usize>,
    /// Names that no property can have, in addition to the system properties.
    pub reserved_properties: &'static [&'static str],
    /// The maximum body of a batch in bytes: 4 MiB (REST "Performing entity group transactions"), 2 MB (FAQ).
    pub max_batch_bytes: usize,
    /// Returns the fault in a table name, for a service that does not accept every `TableName`.
    pub table_name_fault: fn(&str) -> Option<String>,
    /// Table names that differ only in case name the same table.
    pub ignores_case_of_table_names: bool,
    /// The service reports a missing table of a write with a code of its own.
    pub names_missing_tables: bool,
    /// The account's secondary has a URL of its own and can be read.
    pub has_secondary: bool,
    /// Requests can ask for a shorter timeout than the service's own.
    pub takes_timeout: bool,
    /// Offers the operations other than those on tables and entities.
    pub has_service_operations: bool,
    /// Pages are in the order of the keys.
    pub is_ordered: bool,
    /// A read may miss an earlier write ("Consistency levels in Azure Cosmos DB").
    pub reads_may_lag: bool,
    /// The account has roles of its own, apart from Azure's roles.
    pub has_own_roles: bool,
    /// The audience of tokens by the suffix of the endpoint's host: public cloud, China, US Government.
    pub token_audiences: [(&'static str, &'static str); 3],
}

const STORAGE: ProfileRules = ProfileRules {
    service: "Azure Table storage",
    system: "azure.table",
    batch_operation: None,
    tunnels_merge: false,
    takes_empty_keys: true,
    max_row_key_bytes: None,
    max_entity_bytes: None,
    reserved_properties: &[],
    max_batch_bytes: MAX_BODY_BYTES,
    table_name_fault: name::storage_table_name_fault,
    ignores_case_of_table_names: true,
    names_missing_tables: true,
    has_secondary: true,
    takes_timeout: true,
    has_service_operations: true,
    is_ordered: true,
    reads_may_lag: false,
    has_own_roles: false,
    // Source: the audiences that the official SDKs request, by cloud.
    token_audiences: [
        ("", "https://storage.azure.com"),
        (".chinacloudapi.cn", "https://storage.azure.cn"),
        (".usgovcloudapi.net", "https://storage.azure.us"),
    ],
};

const COSMOS: ProfileRules = ProfileRules {
    service: "Azure Cosmos DB for Table",
    system: "azure.cosmosdb",
    batch_operation: Some("execute_batch"),
    tunnels_merge: true,
    takes_empty_keys: false,
    max_row_key_bytes: Some(255),
    max_entity_bytes: Some(2_000_000),
    // `etag`, which the documentation names too, is stored like any other (recorded from azure-data-tables, 2024 and
    // 2026).
    reserved_properties: &["id", "ID", "rid", "ResourceId"],
    max_batch_bytes: 2_000_000,
    table_name_fault: |_| None,
    ignores_case_of_table_names: false,
    names_missing_tables: false,
    has_secondary: false,
    takes_timeout: false,
    has_service_operations: false,
    is_ordered: false,
    // Such filters return wrong rows or none (azure-sdk-for-net#31171, #32468).
    reads_may_lag: true,
    has_own_roles: true,
    token_audiences: [
        ("", "https://cosmos.azure.com"),
        (".azure.cn", "https://cosmos.azure.cn"),
        (".azure.us", "https://cosmos.azure.us"),
    ],
};

impl ProfileRules {
    /// Returns a text that is the same for all names of one table, for use in a set.
    pub fn table_in_set(&self, mut name: String) -> String {
        if self.ignores_case_of_table_names {
            name.make_ascii_lowercase();
        }
        name
    }

    /// Returns the audience of tokens for a service at this host, by its cloud.
    pub fn token_audience(&self, host: &str) -> &'static str {
        let host = host.to_ascii_lowercase();
        // The public cloud's ending is empty, so it comes last.
        let mut audiences = self.token_audiences.iter().rev();
        let found = audiences.find(|(ending, _)| host.ends_with(ending));
        found.map_or("", |(_, audience)| audience)
    }

    /// Returns `true` if tokens for this service, in any cloud, have this audience.
    pub fn is_token_audience(&self, audience: &str) -> bool {
        let mut audiences = self.token_audiences.iter();
        audiences.any(|(_, known)| known.eq_ignore_ascii_case(audience))
    }
}

impl Profile {
    /// Returns `true` if both names refer to the same table.
    ///
    /// On Storage, names are case-insensitive.
    ///
    /// Source: REST "Understanding the Table service data model", table names; "Azure Cosmos DB for Table FAQ".
    pub fn is_same_table(self, a: &str, b: &str) -> bool {
        if self.rules().ignores_case_of_table_names {
            a.eq_ignore_ascii_case(b)
        } else {
            a == b
        }
    }

    /// Returns `true` if a read may miss an earlier write, as with the weaker consistency levels of Cosmos DB.
    ///
    /// Source: "Consistency levels in Azure Cosmos DB".
    pub fn reads_may_lag(self) -> bool {
        self.rules().reads_may_lag
    }
}

/// Rejects an operation other than those on tables and entities if the service has none. `feature` is what it needs.
#[doc(hidden)]
pub fn require(profile: Profile, feature: &str) -> Result<()> {
    if profile.rules().has_service_operations {
        return Ok(());
    }
    let why = format!("{profile} does not offer {feature}");
    Err(Error::new(ErrorKind::Unsupported, why))
}

/// The internals of a profile, for the crates above.
#[doc(hidden)]
impl Profile {
    /// Returns the service at a host.
    ///
    /// Source: the host names of Cosmos DB for Table, today's and the older one.
    pub fn from_host(host: &str) -> Self {
        if host.contains(".table.cosmos.") || host.contains(".table.cosmosdb.") {
            Self::Cosmos
        } else {
            Self::Storage
        }
    }

    pub fn is_cosmos(self) -> bool {
        self == Self::Cosmos
    }

    /// Returns the profile that a recording is marked with. Returns `None` without a mark, so that the URL decides.
    pub fn marked(cosmos: bool) -> Option<Self> {
        cosmos.then_some(Self::Cosmos)
    }

    pub fn rules(self) -> &'static ProfileRules {
        match self {
            Self::Storage => &STORAGE,
            Self::Cosmos => &COSMOS,
        }
    }

    /// Rejects a table name that this service does not accept.
    pub fn check_table_name(self, name: &str) -> Result<()> {
        match (self.rules().table_name_fault)(name) {
            Some(why) => {
                let name = Shown(name);
                Err(Error::invalid_input(format!("table name {name}: {why}")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audience_depends_on_cloud_and_service() {
        for (profile, host, audience) in [
            (
                Profile::Storage,
                "contoso.table.core.windows.net",
                "https://storage.azure.com",
            ),
            (Profile::Storage, "tables.contoso.com", "https://storage.azure.com"),
            (
                Profile::Storage,
                "contoso.table.core.ChinaCloudApi.cn",
                "https://storage.azure.cn",
            ),
            (
                Profile::Storage,
                "contoso.table.core.usgovcloudapi.net",
                "https://storage.azure.us",
            ),
            (
                Profile::Cosmos,
                "contoso.table.cosmos.azure.com",
                "https://cosmos.azure.com",
            ),
            (
                Profile::Cosmos,
                "contoso.table.cosmos.azure.cn",
                "https://cosmos.azure.cn",
            ),
            (
                Profile::Cosmos,
                "contoso.table.cosmos.azure.us",
                "https://cosmos.azure.us",
            ),
        ] {
            assert_eq!(profile.rules().token_audience(host), audience, "{host}");
            assert!(profile.rules().is_token_audience(audience));
        }
        assert!(!STORAGE.is_token_audience("https://cosmos.azure.com"));
    }

    #[test]
    fn missing_feature_is_named_in_the_error() {
        assert!(require(Profile::Storage, "stored access policies").is_ok());
        let error = require(Profile::Cosmos, "stored access policies").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(
            error.to_string(),
            "Azure Cosmos DB for Table does not offer stored access policies"
        );
    }
}
