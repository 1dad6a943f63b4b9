//! Statistics of the service: the replication to its secondary.
//!
//! Defines [`ServiceStatistics`] as a value and its XML in both directions. Only the secondary reports them, and only
//! for accounts with a readable secondary (RA-GRS, RA-GZRS).
//!
//! Source: REST "Get Table Service Stats"; recorded bodies.

use crate::codec::xml::Element;
use crate::error::ValueError;
use crate::value::datetime::DateTime;

/// The state of the replication to an account's secondary.
///
/// Source: REST "Get Table Service Stats".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceStatistics {
    /// The status of the secondary.
    pub status: GeoReplicationStatus,
    /// The last synchronization time, or `None` while it is unknown.
    ///
    /// All writes before this time, to the second, can be read in the secondary. Later ones may be readable.
    pub last_sync_time: Option<DateTime>,
}

/// The status of an account's secondary.
///
/// Source: REST "Get Table Service Stats".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GeoReplicationStatus {
    /// The secondary can be read and follows the primary.
    Live,
    /// The secondary is being created.
    ///
    /// It cannot be read before it is `Live`.
    Bootstrap,
    /// The secondary cannot be read at the moment.
    Unavailable,
    /// A status that this crate does not know.
    Other(String),
}

impl GeoReplicationStatus {
    fn of(text: &str) -> Self {
        match text {
            "live" => Self::Live,
            "bootstrap" => Self::Bootstrap,
            "unavailable" => Self::Unavailable,
            other => Self::Other(other.to_owned()),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Live => "live",
            Self::Bootstrap => "bootstrap",
            Self::Unavailable => "unavailable",
            Self::Other(text) => text,
        }
    }
}

/// Parses a response.
pub fn from_xml(document: &[u8]) -> Result<ServiceStatistics, ValueError> {
    let root = Element::read_root(document, "StorageServiceStats", "of service statistics")?;
    let replication = root.child("GeoReplication");
    let replication = replication.ok_or_else(|| ValueError::new("not a document of service statistics"))?;
    let last_sync_time = replication.value("LastSyncTime").map(|time| {
        let read = httpdate::parse_http_date(time).ok();
        let read = read.and_then(|time| DateTime::try_from(time).ok());
        read.ok_or_else(|| ValueError::new(format!("LastSyncTime is {time:?}, not a time")))
    });
    Ok(ServiceStatistics {
        status: GeoReplicationStatus::of(replication.value("Status").unwrap_or_default()),
        last_sync_time: last_sync_time.transpose()?,
    })
}

/// Returns the statistics of a secondary that follows the primary.
pub fn live(last_sync_time: DateTime) -> ServiceStatistics {
    ServiceStatistics {
        status: GeoReplicationStatus::Live,
        last_sync_time: Some(last_sync_time),
    }
}

/// Returns the response with these statistics.
pub fn to_xml(statistics: &ServiceStatistics) -> bytes::Bytes {
    let time = statistics.last_sync_time.and_then(|time| time.try_into().ok());
    let time = time.map_or(String::new(), httpdate::fmt_http_date);
    let replication = Element::new("GeoReplication").with([
        Element::of_text("Status", statistics.status.text()),
        Element::of_text("LastSyncTime", time),
    ]);
    Element::new("StorageServiceStats").with([replication]).write()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn recorded_response_is_parsed_and_written_byte_for_byte() {
        let recorded = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Wed, 08 Sep 2021 16:46:37 GMT</LastSyncTime></GeoReplication></StorageServiceStats>";
        let statistics = ServiceStatistics {
            status: GeoReplicationStatus::Live,
            last_sync_time: Some("2021-09-08T16:46:37Z".parse().unwrap()),
        };
        assert_eq!(from_xml(recorded.as_bytes()).unwrap(), statistics);
        assert_eq!(to_xml(&statistics), recorded.trim_start_matches('\u{feff}').as_bytes());
    }

    #[test]
    fn missing_time_is_none_and_invalid_time_an_error() {
        let with = |time: &str| {
            let document = format!(
                "<StorageServiceStats><GeoReplication><Status>warming</Status>{time}</GeoReplication></StorageServiceStats>"
            );
            from_xml(document.as_bytes())
        };
        for none in ["", "<LastSyncTime/>", "<LastSyncTime> </LastSyncTime>"] {
            let read = with(none).unwrap();
            assert_eq!(
                (read.status, read.last_sync_time),
                (GeoReplicationStatus::Other("warming".into()), None)
            );
        }
        assert!(with("<LastSyncTime>yesterday</LastSyncTime>").is_err());
        assert!(from_xml(b"<StorageServiceStats/>").is_err());
    }

    proptest! {
        #[test]
        fn written_documents_parse_to_the_same_statistics(
            status in prop_oneof![
                Just(GeoReplicationStatus::Live),
                Just(GeoReplicationStatus::Bootstrap),
                Just(GeoReplicationStatus::Unavailable),
                "[x-z]{1,5}".prop_map(GeoReplicationStatus::Other),
            ],
            seconds in proptest::option::of(0_i64..250_000_000_000),
        ) {
            let last_sync_time = seconds.map(DateTime::from_unix_seconds);
            let statistics = ServiceStatistics { status, last_sync_time };
            prop_assert_eq!(from_xml(&to_xml(&statistics)).unwrap(), statistics);
        }
    }
}
