//! Properties of the service: logging, metrics, and who may call it from a browser.
//!
//! Owns [`ServiceProperties`] and its parts as values, their limits, and their XML in both directions: the same document is
//! the answer to a read and the body of a write. The requests around it are the caller's.
//! Not confirmed: the service's limit of 2 KiB for all rules together, which is not checked here since it is not
//! documented how it counts; whether `IncludeAPIs` may be missing where metrics are on (read as `false`).
//!
//! Source: REST "Get Table Service Properties", "Set Table Service Properties", "Cross-Origin Resource Sharing (CORS)
//! support for Azure Storage"; recorded bodies.

use std::time::Duration;

use bytes::Bytes;

use crate::codec::xml::Element;
use crate::model::error::{Error, Result, ValueError};

/// The version of storage analytics, the only one there is.
const ANALYTICS_VERSION: &str = "1.0";
/// The days for which logs and metrics can be kept.
const RETENTION_DAYS: std::ops::RangeInclusive<u32> = 1..=365;
/// The most rules of a service.
const MAX_CORS_RULES: usize = 5;
/// The most origins of a rule, and the most whole names of headers in a list.
const MAX_CORS_NAMES: usize = 64;
/// The most beginnings of names, `x-ms-meta*` for example, in a list of headers.
const MAX_CORS_PREFIXES: usize = 2;
/// The most characters of an origin or a header.
const MAX_CORS_TEXT: usize = 256;
/// The verbs that a rule can name. `PATCH` is newer than the others.
const CORS_METHODS: &[&str] = &["DELETE", "GET", "HEAD", "MERGE", "PATCH", "POST", "OPTIONS", "PUT"];

/// Settings of the Table service of an account.
///
/// What is read has all of them. On a write a setting that is `None` stays as it is; `Some` of an empty list takes all rules
/// away.
///
/// ```
/// use azure_table::{CorsRule, Metrics, ServiceProperties};
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
    /// What is logged.
    pub logging: Option<Logging>,
    /// Statistics of each hour.
    pub hour_metrics: Option<Metrics>,
    /// Statistics of each minute.
    pub minute_metrics: Option<Metrics>,
    /// What pages of other origins may ask of the service, by a browser; at most 5 rules, the first that fits counts.
    pub cors: Option<Vec<CorsRule>>,
}

/// Which requests the service logs, in the container `$logs` of the account's blobs.
///
/// Source: REST "Set Table Service Properties", "About Storage Analytics logging".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// The version of storage analytics: `1.0`.
    pub version: String,
    /// Whether reads are logged.
    pub read: bool,
    /// Whether writes are logged.
    pub write: bool,
    /// Whether deletes are logged.
    pub delete: bool,
    /// For how many days logs are kept, 1 to 365; `None` keeps them until they are deleted.
    pub retention_days: Option<u32>,
}

/// Statistics that the service keeps of its requests, in tables whose names begin with `$Metrics`.
///
/// Source: REST "Set Table Service Properties", "Storage Analytics metrics (classic)".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// The version of storage analytics: `1.0`.
    pub version: String,
    /// Whether there are any.
    pub enabled: bool,
    /// Whether each operation is counted by itself too. Counts only where metrics are enabled.
    pub include_apis: bool,
    /// For how many days they are kept, 1 to 365; `None` keeps them until they are deleted.
    pub retention_days: Option<u32>,
}

/// A rule for requests that a browser makes for a page of another origin.
///
/// No text of it has commas, since its lists are written with them.
///
/// ```
/// use std::time::Duration;
/// use azure_table::CorsRule;
/// let rule = CorsRule {
///     allowed_headers: vec!["x-ms-*".into(), "content-type".into()],
///     max_age: Duration::from_secs(3_600),
///     ..CorsRule::new(["https://contoso.com"], ["GET", "POST"])
/// };
/// assert_eq!(rule.allowed_methods, ["GET", "POST"]);
/// ```
///
/// Source: REST "Cross-Origin Resource Sharing (CORS) support for Azure Storage".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorsRule {
    /// From where: 1 to 64 origins of at most 256 characters, `https://contoso.com` for example, or `*` for any.
    pub allowed_origins: Vec<String>,
    /// Which verbs: at least one of `DELETE`, `GET`, `HEAD`, `MERGE`, `OPTIONS`, `PATCH`, `POST`, `PUT`.
    pub allowed_methods: Vec<String>,
    /// Which headers a request may have: at most 64 names and 2 beginnings of names (`x-ms-meta*`), each of at most 256
    /// characters, or `*` for any.
    pub allowed_headers: Vec<String>,
    /// Which headers of the answer the page may see; limits as for `allowed_headers`.
    pub exposed_headers: Vec<String>,
    /// For how long the browser may remember what it was told, in whole seconds up to 2,147,483,647. A fraction is left
    /// out.
    pub max_age: Duration,
}

impl ServiceProperties {
    /// The same with this logging.
    #[must_use]
    pub fn logging(mut self, logging: Logging) -> Self {
        self.logging = Some(logging);
        self
    }

    /// The same with these statistics of hours.
    #[must_use]
    pub fn hour_metrics(mut self, metrics: Metrics) -> Self {
        self.hour_metrics = Some(metrics);
        self
    }

    /// The same with these statistics of minutes.
    #[must_use]
    pub fn minute_metrics(mut self, metrics: Metrics) -> Self {
        self.minute_metrics = Some(metrics);
        self
    }

    /// The same with these rules, and no others.
    #[must_use]
    pub fn cors(mut self, rules: impl IntoIterator<Item = CorsRule>) -> Self {
        self.cors = Some(rules.into_iter().collect());
        self
    }

    /// The document with what is set.
    pub(crate) fn to_xml(&self) -> Bytes {
        let logging = self.logging.as_ref().map(Logging::element);
        let hours = self.hour_metrics.as_ref().map(|metrics| metrics.element("HourMetrics"));
        let minutes = self
            .minute_metrics
            .as_ref()
            .map(|metrics| metrics.element("MinuteMetrics"));
        let cors = self
            .cors
            .as_ref()
            .map(|rules| Element::new("Cors").with(rules.iter().map(CorsRule::element)));
        Element::new("StorageServiceProperties")
            .with([logging, hours, minutes, cors].into_iter().flatten())
            .write()
    }

    /// What a document sets. Elements that are not known mean nothing.
    pub(crate) fn from_xml(document: &[u8]) -> Result<Self, ValueError> {
        let root = Element::read(document)
            .filter(|root| root.name() == "StorageServiceProperties")
            .ok_or_else(|| ValueError::new("this is no document of service properties"))?;
        let metrics = |name| root.child(name).map(Metrics::read).transpose();
        Ok(Self {
            logging: root.child("Logging").map(Logging::read).transpose()?,
            hour_metrics: metrics("HourMetrics")?,
            minute_metrics: metrics("MinuteMetrics")?,
            cors: root
                .child("Cors")
                .map(|cors| cors.children("CorsRule").map(CorsRule::read).collect())
                .transpose()?,
        })
    }

    /// Refuses what the service would.
    pub(crate) fn check(&self) -> Result<()> {
        let logging = self.logging.as_ref();
        for (what, version, days) in [
            (
                "logging",
                logging.map(|l| &l.version),
                logging.and_then(|l| l.retention_days),
            ),
            (
                "hour metrics",
                self.hour_metrics.as_ref().map(|m| &m.version),
                days_of(&self.hour_metrics),
            ),
            (
                "minute metrics",
                self.minute_metrics.as_ref().map(|m| &m.version),
                days_of(&self.minute_metrics),
            ),
        ] {
            if version.is_some_and(|version| version != ANALYTICS_VERSION) {
                return Err(refuse(what, "the version must be \"1.0\"".to_owned()));
            }
            if let Some(days) = days.filter(|days| !RETENTION_DAYS.contains(days)) {
                return Err(refuse(what, format!("{days} days of retention, it must be 1 to 365")));
            }
        }
        let rules = self.cors.as_deref().unwrap_or_default();
        if rules.len() > MAX_CORS_RULES {
            return Err(refuse(
                "CORS",
                format!("{} rules, the limit is {MAX_CORS_RULES}", rules.len()),
            ));
        }
        rules.iter().try_for_each(CorsRule::check)
    }
}

fn days_of(metrics: &Option<Metrics>) -> Option<u32> {
    metrics.as_ref().and_then(|metrics| metrics.retention_days)
}

fn refuse(what: &str, why: String) -> Error {
    Error::invalid_input(format!("{what}: {why}"))
}

impl Default for Logging {
    /// Nothing is logged.
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
    fn element(&self) -> Element {
        Element::new("Logging").with([
            Element::of_text("Version", &self.version),
            Element::of_text("Read", self.read),
            Element::of_text("Write", self.write),
            Element::of_text("Delete", self.delete),
            retention(self.retention_days),
        ])
    }

    fn read(element: &Element) -> Result<Self, ValueError> {
        Ok(Self {
            version: version(element),
            read: flag(element, "Read")?,
            write: flag(element, "Write")?,
            delete: flag(element, "Delete")?,
            retention_days: retention_days(element)?,
        })
    }
}

impl Default for Metrics {
    /// There are none.
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
    fn element(&self, name: &str) -> Element {
        let include_apis = self.enabled.then(|| Element::of_text("IncludeAPIs", self.include_apis));
        Element::new(name)
            .with([
                Element::of_text("Version", &self.version),
                Element::of_text("Enabled", self.enabled),
            ])
            .with(include_apis)
            .with([retention(self.retention_days)])
    }

    fn read(element: &Element) -> Result<Self, ValueError> {
        Ok(Self {
            version: version(element),
            enabled: flag(element, "Enabled")?,
            include_apis: flag(element, "IncludeAPIs")?,
            retention_days: retention_days(element)?,
        })
    }
}

impl CorsRule {
    /// A rule for simple requests: no headers are allowed or shown, nothing is remembered.
    pub fn new<O: Into<String>, M: Into<String>>(
        origins: impl IntoIterator<Item = O>,
        methods: impl IntoIterator<Item = M>,
    ) -> Self {
        Self {
            allowed_origins: origins.into_iter().map(Into::into).collect(),
            allowed_methods: methods.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    fn element(&self) -> Element {
        let list = |name, items: &[String]| Element::of_text(name, items.join(","));
        Element::new("CorsRule").with([
            list("AllowedOrigins", &self.allowed_origins),
            list("AllowedMethods", &self.allowed_methods),
            list("AllowedHeaders", &self.allowed_headers),
            list("ExposedHeaders", &self.exposed_headers),
            Element::of_text("MaxAgeInSeconds", self.max_age.as_secs()),
        ])
    }

    fn read(element: &Element) -> Result<Self, ValueError> {
        let list = |name| {
            let items = element.child(name).map_or("", Element::text).split(',');
            items
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(str::to_owned)
                .collect()
        };
        Ok(Self {
            allowed_origins: list("AllowedOrigins"),
            allowed_methods: list("AllowedMethods"),
            allowed_headers: list("AllowedHeaders"),
            exposed_headers: list("ExposedHeaders"),
            max_age: Duration::from_secs(number(element, "MaxAgeInSeconds")?.unwrap_or_default().into()),
        })
    }

    fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(refuse("CORS rule", why));
        if self.allowed_origins.is_empty() || self.allowed_methods.is_empty() {
            return refuse("it needs at least one origin and one method".to_owned());
        }
        if let Some(method) = self
            .allowed_methods
            .iter()
            .find(|method| !CORS_METHODS.contains(&method.as_str()))
        {
            return refuse(format!(
                "method {method:?}, it must be one of {}",
                CORS_METHODS.join(", ")
            ));
        }
        let is_prefix = |name: &&String| name.len() > 1 && name.ends_with('*');
        for (what, items, prefixes) in [
            ("allowed origins", &self.allowed_origins, 0),
            (
                "allowed headers",
                &self.allowed_headers,
                self.allowed_headers.iter().filter(is_prefix).count(),
            ),
            (
                "exposed headers",
                &self.exposed_headers,
                self.exposed_headers.iter().filter(is_prefix).count(),
            ),
        ] {
            if items.len() - prefixes > MAX_CORS_NAMES {
                let found = items.len() - prefixes;
                return refuse(format!("{found} {what}, the limit is {MAX_CORS_NAMES}"));
            }
            if prefixes > MAX_CORS_PREFIXES {
                return refuse(format!(
                    "{prefixes} {what} with * at their end, the limit is {MAX_CORS_PREFIXES}"
                ));
            }
            for item in items {
                let length = item.chars().count();
                if length > MAX_CORS_TEXT {
                    return refuse(format!(
                        "one of the {what} has {length} characters, the limit is {MAX_CORS_TEXT}"
                    ));
                }
                let is_text = |c: char| c != ',' && !c.is_control() && !c.is_whitespace();
                if item.is_empty() || !item.chars().all(is_text) {
                    return refuse(format!("{item:?} in {what}: it must be one word without commas"));
                }
            }
        }
        let seconds = self.max_age.as_secs();
        if i32::try_from(seconds).is_err() {
            return refuse(format!("{seconds} seconds of age, the limit is {}", i32::MAX));
        }
        Ok(())
    }
}

fn retention(days: Option<u32>) -> Element {
    Element::new("RetentionPolicy")
        .with([Element::of_text("Enabled", days.is_some())])
        .with(days.map(|days| Element::of_text("Days", days)))
}

fn retention_days(element: &Element) -> Result<Option<u32>, ValueError> {
    match element.child("RetentionPolicy") {
        Some(policy) if flag(policy, "Enabled")? => {
            let days = number(policy, "Days")?;
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

/// `true` or `false`, in any case: an SDK writes `False`. Nothing is `false`.
fn flag(element: &Element, name: &str) -> Result<bool, ValueError> {
    match element.child(name).map(|child| child.text().trim()) {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(ValueError::new(format!("{name} is {text:?}, not true or false"))),
    }
}

fn number(element: &Element, name: &str) -> Result<Option<u32>, ValueError> {
    element
        .child(name)
        .map(|child| {
            let text = child.text().trim();
            text.parse()
                .map_err(|_| ValueError::new(format!("{name} is {text:?}, not a whole number")))
        })
        .transpose()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The answer that was recorded in 2017.
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
    fn a_recorded_answer_is_read_and_written_byte_by_byte() {
        assert_eq!(ServiceProperties::from_xml(RECORDED.as_bytes()).unwrap(), off());
        assert_eq!(off().to_xml(), RECORDED.trim_start_matches('\u{feff}').as_bytes());
    }

    #[test]
    fn a_recorded_body_is_read_whatever_its_case_and_order() {
        let python = "<?xml version='1.0' encoding='utf-8'?>\n<StorageServiceProperties><Logging><Version>1.0</Version><Delete>False</Delete><Read>False</Read><Write>True</Write><RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></Logging><Cors /><Other>1</Other></StorageServiceProperties>";
        let read = ServiceProperties::from_xml(python.as_bytes()).unwrap();
        let logging = Logging {
            write: true,
            ..Logging::default()
        };
        assert_eq!(read, ServiceProperties::default().logging(logging).cors([]));
        let go = "<StorageServiceProperties><MinuteMetrics><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy><Version>1.0</Version></MinuteMetrics></StorageServiceProperties>";
        let read = ServiceProperties::from_xml(go.as_bytes()).unwrap();
        assert_eq!(
            read.check().unwrap_err().to_string(),
            "minute metrics: 366 days of retention, it must be 1 to 365"
        );
    }

    #[test]
    fn what_is_no_document_of_properties_is_refused() {
        for wrong in [
            "",
            "<a/>",
            "<StorageServiceProperties>",
            "<StorageServiceProperties><Logging><Read>yes</Read></Logging></StorageServiceProperties>",
            "<StorageServiceProperties><Logging><RetentionPolicy><Enabled>true</Enabled></RetentionPolicy></Logging></StorageServiceProperties>",
            "<StorageServiceProperties><Cors><CorsRule><MaxAgeInSeconds>-1</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>",
        ] {
            assert!(ServiceProperties::from_xml(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_are_those_that_are_documented() {
        let rule = || CorsRule::new(["*"], ["GET"]);
        let cors = |rule: CorsRule| ServiceProperties::default().cors([rule]);
        let names = |n: usize, end: &str| (0..n).map(|n| format!("h{n}{end}")).collect::<Vec<_>>();
        let metrics = |days| Metrics {
            retention_days: Some(days),
            ..Metrics::default()
        };
        assert!(ServiceProperties::default().check().is_ok());
        assert!(ServiceProperties::default().cors(vec![rule(); 5]).check().is_ok());
        let headers = [names(64, ""), names(2, "*")].concat();
        assert!(
            cors(CorsRule {
                allowed_headers: headers,
                ..rule()
            })
            .check()
            .is_ok()
        );
        for (properties, why) in [
            (
                ServiceProperties::default().cors(vec![rule(); 6]),
                "6 rules, the limit is 5",
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
                "65 allowed origins, the limit is 64",
            ),
            (
                cors(CorsRule::new(["x".repeat(257)], ["GET"])),
                "257 characters, the limit is 256",
            ),
            (cors(CorsRule::new(["a,b"], ["GET"])), "without commas"),
            (
                cors(CorsRule {
                    allowed_headers: names(65, ""),
                    ..rule()
                }),
                "65 allowed headers, the limit is 64",
            ),
            (
                cors(CorsRule {
                    exposed_headers: names(3, "*"),
                    ..rule()
                }),
                "3 exposed headers with * at their end, the limit is 2",
            ),
            (
                cors(CorsRule {
                    max_age: Duration::from_secs(1 << 31),
                    ..rule()
                }),
                "2147483648 seconds of age",
            ),
        ] {
            let error = properties.check().unwrap_err().to_string();
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
        fn what_is_written_reads_the_same(
            flags in proptest::option::of((any::<[bool; 3]>(), days())),
            hour_metrics in proptest::option::of(any_metrics()),
            minute_metrics in proptest::option::of(any_metrics()),
            cors in proptest::option::of(proptest::collection::vec(any_rule(), 0..6)),
        ) {
            let logging = flags.map(|([read, write, delete], retention_days)| Logging {
                read, write, delete, retention_days, ..Logging::default()
            });
            let properties = ServiceProperties { logging, hour_metrics, minute_metrics, cors };
            prop_assert_eq!(ServiceProperties::from_xml(&properties.to_xml()).unwrap(), properties);
        }
    }
}
