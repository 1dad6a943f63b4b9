//! The documents that the service writes about itself: read or refused, and written again as they were read.

use azure_table::{ErrorKind, Result, ServiceProperties};
use azure_table_tests::canned::{Canned, Step};
use proptest::prelude::*;

use crate::document::{Document, document};
use crate::{answer, answered, is_presentable, on_runtime, things};

const PROPERTIES: &[&str] = &[
    "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Logging><Version>1.0</Version><Read>true</Read><Write>false</Write><Delete>false</Delete><RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics><Cors><CorsRule><AllowedOrigins>http://a,*</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-*</AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>",
    "<StorageServiceProperties><Cors /></StorageServiceProperties>",
];
const POLICIES: &[&str] = &[
    "<?xml version='1.0' encoding='utf-8'?>\n<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy><Start>2011-10-11</Start><Expiry>2011-10-12T01:02:03.4567890Z</Expiry><Permission>raud</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><Id>x</Id></SignedIdentifier></SignedIdentifiers>",
];
const STATISTICS: &[&str] = &[
    "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Mon, 19 Jan 2026 22:28:43 GMT</LastSyncTime></GeoReplication></StorageServiceStats>",
];
const PIECES: &[&str] = &[
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

fn document_answer(Document(body): &Document) -> Step {
    answer(200, &[("content-type", "application/xml")], body)
}

/// What holds for each: an answer that cannot be read is said to be one.
fn refused<T>(read: &Result<T>) -> std::result::Result<(), TestCaseError> {
    if let Err(error) = read {
        prop_assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{}", error);
        is_presentable(error).map_err(TestCaseError::fail)?;
    }
    Ok(())
}

/// Whether metrics that are off include APIs is not written: the service takes that element of those only that are on.
fn as_written(mut properties: ServiceProperties) -> ServiceProperties {
    let both = [&mut properties.hour_metrics, &mut properties.minute_metrics];
    for metrics in both.into_iter().flatten() {
        metrics.include_apis &= metrics.enabled;
    }
    properties
}

proptest! {
    #[test]
    fn properties_are_written_as_they_were_read(document in document(PROPERTIES, PIECES)) {
        let canned = Canned::new([document_answer(&document), Step::status(202)]);
        let service = canned.service();
        let read = on_runtime(async { service.properties().await });
        refused(&read)?;
        // What the service would refuse is not sent.
        if let Ok(read) = read
            && on_runtime(async { service.set_properties(read.clone()).await }).is_ok()
        {
            let written = Document(canned.sent()[1].body().to_vec());
            let again = on_runtime(async { answered([document_answer(&written)]).properties().await });
            prop_assert_eq!(again.unwrap(), as_written(read));
        }
    }

    #[test]
    fn policies_are_written_as_they_were_read(document in document(POLICIES, PIECES)) {
        let canned = Canned::new([document_answer(&document), Step::status(204)]);
        let service = canned.service();
        let read = on_runtime(async { things(&service).access_policies().await });
        refused(&read)?;
        if let Ok(read) = read
            && on_runtime(async { things(&service).set_access_policies(read.clone()).await }).is_ok()
        {
            let written = Document(canned.sent()[1].body().to_vec());
            let again = on_runtime(async { things(&answered([document_answer(&written)])).access_policies().await });
            prop_assert_eq!(again.unwrap(), read);
        }
    }

    #[test]
    fn statistics_are_read_or_refused(document in document(STATISTICS, PIECES)) {
        let service = answered([document_answer(&document)]);
        refused(&on_runtime(async { service.statistics().await }))?;
    }
}

#[test]
fn every_sample_is_read() {
    let sample = |text: &str| answered([document_answer(&Document(text.into()))]);
    on_runtime(async {
        for text in PROPERTIES {
            sample(text).properties().await.unwrap();
        }
        things(&sample(POLICIES[0])).access_policies().await.unwrap();
        sample(STATISTICS[0]).statistics().await.unwrap();
    });
}
