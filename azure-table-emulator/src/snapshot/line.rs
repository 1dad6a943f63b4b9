//! The lines of a snapshot other than rows: the first one, accounts and tables.
//!
//! Writes and parses their JSON. Also defines the version of the format, and finds the positions of faults in any line.
//! Default values are not written and can be omitted.

use std::collections::BTreeMap;
use std::time::Duration;

use azure_table_wire::error::Error;
use azure_table_wire::error::error_text::{OneLine, Shown};
use azure_table_wire::service::access_policy::{self, StoredAccessPolicy};
use azure_table_wire::service::service_properties::analytics::{Logging, Metrics};
use azure_table_wire::service::service_properties::cors::CorsRule;
use azure_table_wire::service::service_properties::{self, ServiceProperties};
use azure_table_wire::value::datetime::DateTime;
use serde::{Deserialize, Serialize};

use crate::rules::{Continuation, ServiceName, ServiceRules};
use crate::store::account::{Account, Table};
use crate::store::rows::Rows;

/// The version of the format that is written, and the only one that can be read.
pub(crate) const VERSION: u32 = 1;

/// A fault of a line, with its byte position if known.
#[derive(Debug)]
pub(crate) struct Fault {
    at: Option<usize>,
    what: String,
}

impl Fault {
    pub(crate) fn at(byte: usize, what: String) -> Self {
        Self { at: Some(byte), what }
    }

    pub(crate) fn of_line(what: String) -> Self {
        Self { at: None, what }
    }

    pub(crate) fn twice(partition_key: &str, row_key: &str) -> Self {
        Self::of_line("it occurs twice".to_owned()).of_entity(partition_key, row_key)
    }

    pub(crate) fn of_entity(mut self, partition_key: &str, row_key: &str) -> Self {
        self.what = format!("entity ({}, {}): {}", Shown(partition_key), Shown(row_key), self.what);
        self
    }

    /// Converts an error of serde_json, which has line and column at the end of its text.
    pub(crate) fn of_json(line: &str, error: &serde_json::Error) -> Self {
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        let byte = error.column().saturating_sub(1).min(line.len());
        Self::at(byte, what.to_owned())
    }

    pub(crate) fn in_line(self, number: usize, line: &str) -> Error {
        let what = OneLine(&self.what);
        Error::invalid_input(match self.at {
            Some(byte) => format!("line {number}, column {}: {what}", column(line, byte)),
            None => format!("line {number}: {what}"),
        })
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// Returns the column, counted from 1 in characters, as editors do.
fn column(line: &str, byte: usize) -> usize {
    line.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

type Result<T> = std::result::Result<T, Fault>;

fn of_json<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T> {
    serde_json::from_str(line).map_err(|e| Fault::of_json(line, &e))
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FirstLine {
    #[serde(rename = "azure-table-snapshot")]
    version: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    service: ServiceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_write: Option<DateTime>,
}

/// The member that the first line of every version has.
#[derive(Deserialize)]
struct VersionJson {
    #[serde(rename = "azure-table-snapshot")]
    version: u32,
}

impl FirstLine {
    pub(crate) fn of(rules: &ServiceRules, last_write: DateTime) -> Self {
        Self {
            version: VERSION,
            service: rules.name,
            last_write: Some(last_write).filter(|time| *time > DateTime::MIN),
        }
    }

    /// Returns the rules of the service, and the time of the last write.
    pub(crate) fn read(line: &str) -> Result<(&'static ServiceRules, DateTime)> {
        let VersionJson { version } = of_json(line).map_err(|fault: Fault| {
            let what = format!("not a snapshot, which begins with {{\"azure-table-snapshot\":{VERSION}}}");
            Fault { what, ..fault }
        })?;
        if version != VERSION {
            let why = format!("this is version {version} of the format, only {VERSION} is known");
            return Err(Fault::of_line(why));
        }
        let Self {
            service, last_write, ..
        } = of_json(line)?;
        Ok((service.rules(), last_write.unwrap_or(DateTime::MIN)))
    }
}

/// An account: its settings, and the table names that are not available yet.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AccountLine {
    account: String,
    #[serde(default, skip_serializing_if = "is_default")]
    logging: LoggingJson,
    #[serde(default, skip_serializing_if = "is_default")]
    hour_metrics: MetricsJson,
    #[serde(default, skip_serializing_if = "is_default")]
    minute_metrics: MetricsJson,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cors: Vec<CorsJson>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tables_being_deleted: BTreeMap<String, DateTime>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl AccountLine {
    pub(crate) fn of(name: &str, account: &Account) -> Self {
        let properties = account.properties.clone();
        let rules = properties.cors.unwrap_or_default().into_iter();
        Self {
            account: name.to_owned(),
            logging: properties.logging.unwrap_or_default().into(),
            hour_metrics: properties.hour_metrics.unwrap_or_default().into(),
            minute_metrics: properties.minute_metrics.unwrap_or_default().into(),
            cors: rules.map(CorsJson::from).collect(),
            tables_being_deleted: account.leaving.clone(),
        }
    }

    pub(crate) fn read(line: &str) -> Result<(String, Account)> {
        let json: Self = of_json(line)?;
        let properties = ServiceProperties::default()
            .logging(json.logging.into())
            .hour_metrics(json.hour_metrics.into())
            .minute_metrics(json.minute_metrics.into())
            .cors(json.cors.into_iter().map(CorsRule::from));
        service_properties::check(&properties).map_err(|e| Fault::of_line(e.to_string()))?;
        let account = Account {
            properties,
            leaving: json.tables_being_deleted,
            ..Account::default()
        };
        Ok((json.account, account))
    }
}

/// A table and its policies.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TableLine {
    table: String,
    /// Set for a table of Cosmos DB in an emulator that is Cosmos DB only at URLs of Cosmos DB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<ServiceName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyJson>,
}

impl TableLine {
    pub(crate) fn of(key: &str, table: &Table, rules: &ServiceRules) -> Self {
        let is_ordered = table.rows.have_places() && rules.continuation != Continuation::Places;
        let is_other = is_ordered || rules.table_key(&table.name) != key;
        Self {
            table: table.name.clone(),
            service: is_other.then_some(ServiceName::Cosmos),
            created: Some(table.created),
            policies: table.policies.iter().map(PolicyJson::of).collect(),
        }
    }

    /// Parses a table. Returns the compared form of its name, and the rules for its rows.
    pub(crate) fn read(
        line: &str,
        rules: &'static ServiceRules,
        now: impl FnOnce() -> DateTime,
    ) -> Result<(String, &'static ServiceRules, Table)> {
        let json: Self = of_json(line)?;
        let wrong = |why: String| Fault::of_line(format!("table {:?}: {why}", json.table));
        let rules = json.service.map_or(rules, ServiceName::rules);
        if let Some(why) = rules.table_names.fault(&json.table) {
            return Err(wrong(why));
        }
        let policies: Vec<StoredAccessPolicy> = json
            .policies
            .into_iter()
            .map(PolicyJson::read)
            .collect::<std::result::Result<_, _>>()
            .map_err(wrong)?;
        access_policy::check_list(&policies).map_err(|e| wrong(e.to_string()))?;
        let table = Table {
            created: json.created.unwrap_or_else(now),
            policies,
            rows: Rows::new(rules),
            name: json.table,
        };
        Ok((rules.table_key(&table.name), rules, table))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyJson {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expiry: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permissions: Option<String>,
}

impl PolicyJson {
    fn of(policy: &StoredAccessPolicy) -> Self {
        Self {
            id: policy.id.clone(),
            start: policy.start,
            expiry: policy.expiry,
            permissions: policy.permissions.map(|letters| letters.to_string()),
        }
    }

    fn read(self) -> std::result::Result<StoredAccessPolicy, String> {
        let why = |letters: &str| format!("permissions are {letters:?}, not letters of r, a, u and d");
        let permissions = self
            .permissions
            .map(|letters| letters.parse().map_err(|_| why(&letters)));
        Ok(StoredAccessPolicy {
            id: self.id,
            start: self.start,
            expiry: self.expiry,
            permissions: permissions.transpose()?,
        })
    }
}

/// Defines the JSON of a value of the service's properties, and the conversions in both directions, field by field.
macro_rules! mirror {
    ($json:ident of $value:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        #[derive(PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        struct $json { $($(#[$attribute])* $field: $type),+ }

        impl From<$value> for $json {
            fn from(value: $value) -> Self {
                Self { $($field: value.$field),+ }
            }
        }

        impl From<$json> for $value {
            fn from(json: $json) -> Self {
                Self { $($field: json.$field),+ }
            }
        }

        impl Default for $json {
            fn default() -> Self {
                $value::default().into()
            }
        }
    };
}

mirror!(LoggingJson of Logging {
    version: String,
    read: bool,
    write: bool,
    delete: bool,
    retention_days: Option<u32>,
});
mirror!(MetricsJson of Metrics {
    version: String,
    enabled: bool,
    include_apis: bool,
    retention_days: Option<u32>,
});
mirror!(CorsJson of CorsRule {
    allowed_origins: Vec<String>,
    allowed_methods: Vec<String>,
    allowed_headers: Vec<String>,
    exposed_headers: Vec<String>,
    #[serde(with = "seconds", rename = "maxAgeInSeconds")]
    max_age: Duration,
});

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_secs())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}
