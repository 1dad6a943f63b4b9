//! Logging and metrics of the service.
//!
//! Defines [`Logging`] and [`Metrics`], their limits and their elements.
//! Not confirmed: whether `IncludeAPIs` may be missing where metrics are on (read as `false`).
//!
//! Source: REST "Set Table Service Properties".

use crate::codec::xml::Element;
use crate::error::{Error, Result, ValueError};

/// The only version of storage analytics.
const ANALYTICS_VERSION: &str = "1.0";
/// The days for which logs and metrics can be kept.
const RETENTION_DAYS: std::ops::RangeInclusive<u32> = 1..=365;
/// The requests that the service logs, in the container `$logs` of the account's blobs.
///
/// Source: REST "Set Table Service Properties", "About Storage Analytics logging".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// The version of storage analytics: `1.0`.
    pub version: String,
    /// Logs reads.
    pub read: bool,
    /// Logs writes.
    pub write: bool,
    /// Logs deletes.
    pub delete: bool,
    /// The days to keep logs, 1 to 365; `None` keeps them until someone deletes them.
    pub retention_days: Option<u32>,
}

/// Metrics of the service's requests, in tables whose names begin with `$Metrics`.
///
/// Source: REST "Set Table Service Properties", "Storage Analytics metrics (classic)".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// The version of storage analytics: `1.0`.
    pub version: String,
    /// Records metrics.
    pub enabled: bool,
    /// Also records each operation separately.
    ///
    /// Has no effect unless metrics are enabled.
    pub include_apis: bool,
    /// The days to keep metrics, 1 to 365; `None` keeps them until someone deletes them.
    pub retention_days: Option<u32>,
}

impl Default for Logging {
    /// Returns settings that log nothing.
    fn default() -> Self {
        Self {
            version: ANALYTICS_VERSION.to_owned(),
            read: false,
            write: false,
            delete: false,
            retention_days: None,
        }
    }
}

impl Logging {
    pub(super) fn element(&self) -> Element {
        Element::new("Logging").with([
            Element::of_text("Version", &self.version),
            Element::of_text("Read", self.read),
            Element::of_text("Write", self.write),
            Element::of_text("Delete", self.delete),
            retention(self.retention_days),
        ])
    }

    pub(super) fn read(element: &Element) -> Result<Self, ValueError> {
        Ok(Self {
            version: version(element),
            read: element.flag("Read")?,
            write: element.flag("Write")?,
            delete: element.flag("Delete")?,
            retention_days: retention_days(element)?,
        })
    }
}

impl Default for Metrics {
    /// Returns settings without metrics.
    fn default() -> Self {
        Self {
            version: ANALYTICS_VERSION.to_owned(),
            enabled: false,
            include_apis: false,
            retention_days: None,
        }
    }
}

impl Metrics {
    pub(super) fn element(&self, name: &str) -> Element {
        let include_apis = self.enabled.then(|| Element::of_text("IncludeAPIs", self.include_apis));
        Element::new(name)
            .with([
                Element::of_text("Version", &self.version),
                Element::of_text("Enabled", self.enabled),
            ])
            .with(include_apis)
            .with([retention(self.retention_days)])
    }

    pub(super) fn read(element: &Element) -> Result<Self, ValueError> {
        Ok(Self {
            version: version(element),
            enabled: element.flag("Enabled")?,
            include_apis: element.flag("IncludeAPIs")?,
            retention_days: retention_days(element)?,
        })
    }
}

/// Rejects settings that the service would reject.
pub(super) fn check(what: &str, version: &str, retention_days: Option<u32>) -> Result<()> {
    if version != ANALYTICS_VERSION {
        return Err(Error::invalid_input(format!("{what}: the version must be \"1.0\"")));
    }
    match retention_days {
        Some(days) if !RETENTION_DAYS.contains(&days) => Err(Error::invalid_input(format!(
            "{what}: {days} days of retention, it must be 1 to 365"
        ))),
        _ => Ok(()),
    }
}

fn retention(days: Option<u32>) -> Element {
    Element::new("RetentionPolicy")
        .with([Element::of_text("Enabled", days.is_some())])
        .with(days.map(|days| Element::of_text("Days", days)))
}

fn retention_days(element: &Element) -> Result<Option<u32>, ValueError> {
    match element.child("RetentionPolicy") {
        Some(policy) if policy.flag("Enabled")? => {
            let days = policy.number("Days")?;
            days.ok_or_else(|| ValueError::new("RetentionPolicy has no Days"))
                .map(Some)
        }
        _ => Ok(None),
    }
}

fn version(element: &Element) -> String {
    element
        .child("Version")
        .map_or(ANALYTICS_VERSION, Element::text)
        .trim()
        .to_owned()
}
