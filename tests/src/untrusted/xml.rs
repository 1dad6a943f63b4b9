//! XML documents of the service: read or rejected, and written again as they were read.

use azure_table::service::ServiceProperties;
use azure_table::{ErrorKind, Result};

use super::{Kind, assert_presentable, on_runtime, responded, response, things};
use crate::canned::{Canned, Step};

/// XML documents of the service.
pub const KIND: Kind = Kind {
    name: "xml",
    check: |body| {
        check_properties(body);
        check_policies(body);
        check_statistics(body);
    },
    samples: &[PROPERTIES, POLICIES, STATISTICS],
    pieces: PIECES,
};

/// Properties of a service.
pub const PROPERTIES: &[&str] = &[
    "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Logging><Version>1.0</Version><Read>true</Read><Write>false</Write><Delete>false</Delete><RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics><Cors><CorsRule><AllowedOrigins>http://a,*</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-*</AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>",
    "<StorageServiceProperties><Cors /></StorageServiceProperties>",
];
/// Access policies of a table.
pub const POLICIES: &[&str] = &[
    "<?xml version='1.0' encoding='utf-8'?>\n<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy><Start>2011-10-11</Start><Expiry>2011-10-12T01:02:03.4567890Z</Expiry><Permission>raud</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><Id>x</Id></SignedIdentifier></SignedIdentifiers>",
];
/// Statistics of a service.
pub const STATISTICS: &[&str] = &[
    "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Mon, 19 Jan 2026 22:28:43 GMT</LastSyncTime></GeoReplication></StorageServiceStats>",
];
/// Parts of all documents.
pub const PIECES: &[&str] = &[
    "<",
    ">",
    "</",
    "/>",
    "<a>",
    "</a>",
    "<a/>",
    "=",
    "\"",
    "&",
    ";",
    "&amp;",
    "&#0;",
    "&#x10FFFF;",
    "&#xD800;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>",
    "&b;",
    "<?xml version='1.0'?>",
    "xmlns:m='x'",
    "m:",
    "true",
    "-1",
    "4294967296",
    "<StorageServiceProperties>",
    "</StorageServiceProperties>",
    "<SignedIdentifiers>",
    "</SignedIdentifiers>",
    "<Days>",
    "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>",
];

fn document(body: &[u8]) -> Step {
    response(200, &[("content-type", "application/xml")], body)
}

/// Checks a rule for each document: one that cannot be read is reported as such.
fn check_error<T>(read: &Result<T>) {
    if let Err(error) = read {
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        assert_presentable(error);
    }
}

/// `IncludeAPIs` is not written for disabled metrics: the service accepts that element only for enabled ones.
fn as_written(mut properties: ServiceProperties) -> ServiceProperties {
    let both = [&mut properties.hour_metrics, &mut properties.minute_metrics];
    for metrics in both.into_iter().flatten() {
        metrics.include_apis &= metrics.enabled;
    }
    properties
}

/// Checks that properties are written as they were read.
///
/// # Panics
/// They are not.
pub fn check_properties(body: &[u8]) {
    let canned = Canned::new([document(body), Step::status(202)]);
    let service = canned.service();
    let read = on_runtime(async { service.properties().await });
    check_error(&read);
    // The client does not send documents that the service would reject.
    if let Ok(read) = read
        && on_runtime(async { service.set_properties(read.clone()).await }).is_ok()
    {
        let written = document(canned.sent()[1].body());
        let again = on_runtime(async { responded([written]).properties().await });
        assert_eq!(again.unwrap(), as_written(read));
    }
}

/// Checks that access policies are written as they were read.
///
/// # Panics
/// They are not.
pub fn check_policies(body: &[u8]) {
    let canned = Canned::new([document(body), Step::status(204)]);
    let service = canned.service();
    let read = on_runtime(async { things(&service).access_policies().await });
    check_error(&read);
    if let Ok(read) = read
        && on_runtime(async { things(&service).set_access_policies(read.clone()).await }).is_ok()
    {
        let written = document(canned.sent()[1].body());
        let again = on_runtime(async { things(&responded([written])).access_policies().await });
        assert_eq!(again.unwrap(), read);
    }
}

/// Checks that statistics are read or rejected.
pub fn check_statistics(body: &[u8]) {
    let service = responded([document(body)]);
    check_error(&on_runtime(async { service.statistics().await }));
}

/// Checks that the samples are read.
///
/// # Panics
/// A sample is not.
pub fn check_samples() {
    let sample = |text: &str| responded([document(text.as_bytes())]);
    on_runtime(async {
        for text in PROPERTIES {
            sample(text).properties().await.unwrap();
        }
        things(&sample(POLICIES[0])).access_policies().await.unwrap();
        sample(STATISTICS[0]).statistics().await.unwrap();
    });
}
