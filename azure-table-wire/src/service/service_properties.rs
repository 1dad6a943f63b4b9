//! Properties of the service: logging, metrics, and access from browsers.
//!
//! Defines [`ServiceProperties`] as a value and its XML in both directions. The response to a read and the body of a
//! write are the same document. `analytics.rs` has logging and metrics, `cors.rs` the rules for browsers, each with its
//! limits.
//!
//! Each file has a value with its XML and its limits, because the emulator parses the documents of the client and vice
//! versa. A property test checks that a written document parses to the same value.
//!
//! Source: REST "Get Table Service Properties", "Set Table Service Properties"; recorded bodies.

pub mod analytics;
pub mod cors;

use bytes::Bytes;

use crate::codec::xml::Element;
use crate::error::{Error, Result, ValueError};
use crate::service::service_properties::analytics::{Logging, Metrics};
use crate::service::service_properties::cors::CorsRule;

/// The maximum number of CORS rules per service.
const MAX_CORS_RULES: usize = 5;

/// The properties of an account's Table service.
///
/// A read returns all of them. A write leaves those that are `None` unchanged. An empty `cors` list removes all rules.
///
/// ```
/// use azure_table::service::{CorsRule, Metrics, ServiceProperties};
/// let properties = ServiceProperties::default()
///     .hour_metrics(Metrics { enabled: true, include_apis: true, retention_days: Some(7), ..Metrics::default() })
///     .cors([CorsRule::new(["https://contoso.com"], ["GET"])]);
/// assert_eq!(properties.logging, None);
/// ```
///
/// Source: REST "Set Table Service Properties".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceProperties {
    /// The requests that are logged.
    pub logging: Option<Logging>,
    /// The hourly metrics.
    pub hour_metrics: Option<Metrics>,
    /// The metrics per minute.
    pub minute_metrics: Option<Metrics>,
    /// The CORS rules for browsers: at most 5.
    ///
    /// The first matching rule applies.
    pub cors: Option<Vec<CorsRule>>,
}

impl ServiceProperties {
    /// Sets the logging.
    #[must_use]
    pub fn logging(mut self, logging: Logging) -> Self {
        self.logging = Some(logging);
        self
    }

    /// Sets the hourly metrics.
    #[must_use]
    pub fn hour_metrics(mut self, metrics: Metrics) -> Self {
        self.hour_metrics = Some(metrics);
        self
    }

    /// Sets the metrics per minute.
    #[must_use]
    pub fn minute_metrics(mut self, metrics: Metrics) -> Self {
        self.minute_metrics = Some(metrics);
        self
    }

    /// Replaces the CORS rules.
    #[must_use]
    pub fn cors(mut self, rules: impl IntoIterator<Item = CorsRule>) -> Self {
        self.cors = Some(rules.into_iter().collect());
        self
    }
}

/// Returns the document with the properties that are set.
pub fn to_xml(properties: &ServiceProperties) -> Bytes {
    let logging = properties.logging.as_ref().map(Logging::element);
    let metrics = |metrics: &Option<Metrics>, name| metrics.as_ref().map(|metrics| metrics.element(name));
    let hours = metrics(&properties.hour_metrics, "HourMetrics");
    let minutes = metrics(&properties.minute_metrics, "MinuteMetrics");
    let cors = properties
        .cors
        .as_ref()
        .map(|rules| Element::new("Cors").with(rules.iter().map(CorsRule::element)));
    Element::new("StorageServiceProperties")
        .with([logging, hours, minutes, cors].into_iter().flatten())
        .write()
}

/// Parses a document. Unknown elements are ignored.
pub fn from_xml(document: &[u8]) -> Result<ServiceProperties, ValueError> {
    let root = Element::read_root(document, "StorageServiceProperties", "of service properties")?;
    let metrics = |name| root.child(name).map(Metrics::read).transpose();
    Ok(ServiceProperties {
        logging: root.child("Logging").map(Logging::read).transpose()?,
        hour_metrics: metrics("HourMetrics")?,
        minute_metrics: metrics("MinuteMetrics")?,
        cors: root
            .child("Cors")
            .map(|cors| cors.children("CorsRule").map(CorsRule::read).collect())
            .transpose()?,
    })
}

/// Rejects properties that the service would reject.
pub fn check(properties: &ServiceProperties) -> Result<()> {
    if let Some(logging) = &properties.logging {
        analytics::check("logging", &logging.version, logging.retention_days)?;
    }
    for (what, metrics) in [
        ("hour metrics", &properties.hour_metrics),
        ("minute metrics", &properties.minute_metrics),
    ] {
        if let Some(metrics) = metrics {
            analytics::check(what, &metrics.version, metrics.retention_days)?;
        }
    }
    let rules = properties.cors.as_deref().unwrap_or_default();
    if rules.len() > MAX_CORS_RULES {
        return Err(Error::invalid_input(format!(
            "CORS: {} rules, more than the limit of {MAX_CORS_RULES}",
            rules.len()
        )));
    }
    rules.iter().try_for_each(CorsRule::check)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// The response that was recorded in 2017.
    const RECORDED: &str = concat!(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Logging><Version>1.0</Version>",
        "<Read>false</Read><Write>false</Write><Delete>false</Delete><RetentionPolicy><Enabled>false</Enabled>",
        "</RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy>",
        "<Enabled>false</Enabled></RetentionPolicy></HourMetrics><MinuteMetrics><Version>1.0</Version>",
        "<Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors />",
        "</StorageServiceProperties>"
    );

    fn off() -> ServiceProperties {
        ServiceProperties::default()
            .logging(Logging::default())
            .hour_metrics(Metrics::default())
            .minute_metrics(Metrics::default())
            .cors([])
    }

    #[test]
    fn recorded_response_is_parsed_and_written_byte_for_byte() {
        assert_eq!(from_xml(RECORDED.as_bytes()).unwrap(), off());
        assert_eq!(to_xml(&off()), RECORDED.trim_start_matches('\u{feff}').as_bytes());
    }

    #[test]
    fn recorded_body_is_parsed_in_any_case_and_order() {
        let python = "<?xml version='1.0' encoding='utf-8'?>\n<StorageServiceProperties><Logging><Version>1.0</Version><Delete>False</Delete><Read>False</Read><Write>True</Write><RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></Logging><Cors /><Other>1</Other></StorageServiceProperties>";
        let read = from_xml(python.as_bytes()).unwrap();
        let logging = Logging {
            write: true,
            ..Logging::default()
        };
        assert_eq!(read, ServiceProperties::default().logging(logging).cors([]));
        let go = "<StorageServiceProperties><MinuteMetrics><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy><Version>1.0</Version></MinuteMetrics></StorageServiceProperties>";
        let read = from_xml(go.as_bytes()).unwrap();
        assert_eq!(
            check(&read).unwrap_err().to_string(),
            "minute metrics: 366 days of retention, it must be 1 to 365"
        );
    }

    #[test]
    fn invalid_documents_are_rejected() {
        for wrong in [
            "",
            "<a/>",
            "<StorageServiceProperties>",
            "<StorageServiceProperties><Logging><Read>yes</Read></Logging></StorageServiceProperties>",
            "<StorageServiceProperties><Logging><RetentionPolicy><Enabled>true</Enabled></RetentionPolicy></Logging></StorageServiceProperties>",
            "<StorageServiceProperties><Cors><CorsRule><MaxAgeInSeconds>-1</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>",
        ] {
            assert!(from_xml(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn documented_limits_are_enforced() {
        let rule = || CorsRule::new(["*"], ["GET"]);
        let cors = |rule: CorsRule| ServiceProperties::default().cors([rule]);
        let names = |n: usize, end: &str| (0..n).map(|n| format!("h{n}{end}")).collect::<Vec<_>>();
        let metrics = |days| Metrics {
            retention_days: Some(days),
            ..Metrics::default()
        };
        assert!(check(&ServiceProperties::default()).is_ok());
        assert!(check(&ServiceProperties::default().cors(vec![rule(); 5])).is_ok());
        let headers = [names(64, ""), names(2, "*")].concat();
        assert!(
            check(&cors(CorsRule {
                allowed_headers: headers,
                ..rule()
            }))
            .is_ok()
        );
        for (properties, why) in [
            (
                ServiceProperties::default().cors(vec![rule(); 6]),
                "6 rules, more than the limit of 5",
            ),
            (ServiceProperties::default().hour_metrics(metrics(0)), "0 days"),
            (
                ServiceProperties::default().logging(Logging {
                    version: "2.0".into(),
                    ..Logging::default()
                }),
                "version must be",
            ),
            (
                cors(CorsRule::new(Vec::<String>::new(), ["GET"])),
                "at least one origin",
            ),
            (cors(CorsRule::new(["*"], ["get"])), "method \"get\""),
            (
                cors(CorsRule::new(names(65, ""), ["GET"])),
                "65 allowed origins, more than the limit of 64",
            ),
            (
                cors(CorsRule::new(["x".repeat(257)], ["GET"])),
                "257 characters, more than the limit of 256",
            ),
            (cors(CorsRule::new(["a,b"], ["GET"])), "without commas"),
            (
                cors(CorsRule {
                    allowed_headers: names(65, ""),
                    ..rule()
                }),
                "65 allowed headers, more than the limit of 64",
            ),
            (
                cors(CorsRule {
                    exposed_headers: names(3, "*"),
                    ..rule()
                }),
                "3 exposed headers with * at their end, more than the limit of 2",
            ),
            (
                cors(CorsRule {
                    max_age: Duration::from_secs(1 << 31),
                    ..rule()
                }),
                "2147483648 seconds of age",
            ),
        ] {
            let error = check(&properties).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    fn days() -> impl Strategy<Value = Option<u32>> {
        proptest::option::of(1_u32..=365)
    }

    fn any_metrics() -> impl Strategy<Value = Metrics> {
        (any::<bool>(), any::<bool>(), days()).prop_map(|(enabled, include_apis, retention_days)| Metrics {
            enabled,
            include_apis: enabled && include_apis,
            retention_days,
            ..Metrics::default()
        })
    }

    fn any_rule() -> impl Strategy<Value = CorsRule> {
        let words = || proptest::collection::vec("[!-+--~]{1,10}", 1..4);
        (words(), words(), words(), words(), 0_u32..1_000).prop_map(|(origins, methods, allowed, exposed, age)| {
            CorsRule {
                allowed_headers: allowed,
                exposed_headers: exposed,
                max_age: Duration::from_secs(age.into()),
                ..CorsRule::new(origins, methods)
            }
        })
    }

    proptest! {
        #[test]
        fn written_documents_parse_to_the_same_properties(
            flags in proptest::option::of((any::<[bool; 3]>(), days())),
            hour_metrics in proptest::option::of(any_metrics()),
            minute_metrics in proptest::option::of(any_metrics()),
            cors in proptest::option::of(proptest::collection::vec(any_rule(), 0..6)),
        ) {
            let logging = flags.map(|([read, write, delete], retention_days)| Logging {
                read, write, delete, retention_days, ..Logging::default()
            });
            let properties = ServiceProperties { logging, hour_metrics, minute_metrics, cors };
            prop_assert_eq!(from_xml(&to_xml(&properties)).unwrap(), properties);
        }
    }
}
