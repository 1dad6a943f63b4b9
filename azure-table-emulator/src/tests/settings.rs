//! Operations on the service itself: properties, statistics, access policies; documents and headers as recorded.

use super::*;

const PROPERTIES: &str = "?restype=service&comp=properties";
const STATISTICS: &str = "?restype=service&comp=stats";
const SECONDARY: &str = "http://127.0.0.1:10002/devstoreaccount1-secondary";
/// The text for every rejected document that was recorded.
const INVALID: &str = "XML specified is not syntactically valid.";

/// The headers of a response to an operation on settings (recorded): neither nosniff nor cache-control.
const SET: &[&str] = &["date", "server", "x-ms-request-id", "x-ms-version"];

fn document(response: &Response<Bytes>) -> &str {
    assert_eq!(response.status(), 200);
    assert_eq!(header(response, "content-type"), "application/xml");
    let body = body(response).strip_prefix('\u{feff}').expect("a byte order mark");
    body.strip_prefix("<?xml version=\"1.0\" encoding=\"utf-8\"?>").unwrap()
}

#[tokio::test]
async fn properties_are_set_and_read_as_recorded() {
    let emulator = Emulator::new();
    let recorded = "<?xml version='1.0' encoding='utf-8'?>\n<StorageServiceProperties><Logging><Version>1.0</Version><Delete>False</Delete><Read>False</Read><Write>True</Write><RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></Logging><Cors /></StorageServiceProperties>";
    let set = send(&emulator, "PUT", PROPERTIES, &[], recorded).await;
    assert_eq!((set.status().as_u16(), body(&set)), (202, ""));
    assert_eq!(header_names(&set), SET);
    let off =
        "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
    let read = send(&emulator, "GET", PROPERTIES, &[], "").await;
    assert_eq!(
        document(&read),
        format!(
            "<StorageServiceProperties><Logging><Version>1.0</Version><Read>false</Read><Write>true</Write>\
             <Delete>false</Delete><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>\
             <HourMetrics>{off}</HourMetrics><MinuteMetrics>{off}</MinuteMetrics><Cors /></StorageServiceProperties>"
        )
    );
    assert_eq!(header_names(&read), [&["content-type"][..], SET].concat());

    let hours = "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></HourMetrics></StorageServiceProperties>";
    assert_eq!(send(&emulator, "PUT", PROPERTIES, &[], hours).await.status(), 202);
    let read = send(&emulator, "GET", PROPERTIES, &[], "").await;
    let both = [
        "<Write>true</Write>",
        "<IncludeAPIs>true</IncludeAPIs>",
        "<Days>7</Days>",
    ];
    assert!(
        both.iter().all(|part| document(&read).contains(part)),
        "what is not said stays"
    );
    let accounts = emulator.account("other", "AAEC").unwrap();
    let mut other = unsigned_at("http://other.table.localhost", "GET", PROPERTIES, &[], "");
    sign(&mut other, "other", "AAEC");
    let other = accounts.send(other).await.unwrap();
    assert!(document(&other).contains("<Write>false</Write>"), "accounts are apart");
}

#[tokio::test]
async fn documents_that_were_rejected_live_are_rejected() {
    let emulator = Emulator::new();
    let rule = "<CorsRule><AllowedHeaders>x-ms-meta-data*</AllowedHeaders><AllowedMethods>PUT</AllowedMethods><AllowedOrigins>www.xyz.com</AllowedOrigins><ExposedHeaders>x-ms-meta-source*</ExposedHeaders><MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule>";
    let days = "<MinuteMetrics><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy><Version>1.0</Version></MinuteMetrics>";
    for body in [
        format!("<Cors>{}</Cors>", rule.repeat(6)),
        days.to_owned(),
        "<Logging><Read>maybe</Read></Logging>".to_owned(),
        "<Logging>".to_owned(),
    ] {
        let body = format!("<StorageServiceProperties>{body}</StorageServiceProperties>");
        let response = send(&emulator, "PUT", PROPERTIES, &[], &body).await;
        assert_eq!(error(&response), rejected(400, "InvalidXmlDocument", INVALID), "{body}");
        let names = [&["content-type"], &SET[..2], &["x-ms-error-code"], &SET[2..]].concat();
        assert_eq!(header_names(&response), names);
        assert_eq!(header(&response, "x-ms-error-code"), "InvalidXmlDocument");
    }
    let five = format!(
        "<StorageServiceProperties><Cors>{}</Cors></StorageServiceProperties>",
        rule.repeat(5)
    );
    assert_eq!(send(&emulator, "PUT", PROPERTIES, &[], &five).await.status(), 202);
}

#[tokio::test]
async fn errors_have_the_form_of_live_responses() {
    let response = send(&Emulator::new(), "GET", "None?comp=acl", &[], "").await;
    let id = header(&response, "x-ms-request-id");
    let text = body(&response);
    let start = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>TableNotFound</m:code><m:message xml:lang=\"en-US\">The table specified does not exist.\nRequestId:{id}\nTime:"
    );
    assert!(
        text.starts_with(&start) && text.ends_with("Z</m:message></m:error>"),
        "{text}"
    );
    let unsigned = unsigned("GET", PROPERTIES, &[], "");
    let response = Emulator::new().send(unsigned).await.unwrap();
    assert_eq!(error(&response).1, "ResourceNotFound");
    assert_eq!(header(&response, "content-type"), "application/xml");
}

#[tokio::test]
async fn statistics_are_reported_by_the_secondary_only() {
    let clock = EmulatorClock::fixed(DateTime::from_unix_seconds(1_631_119_597));
    let emulator = Emulator::new().shared_clock(clock);
    let reported = send_to(&emulator, SECONDARY, "GET", STATISTICS, &[], "").await;
    assert_eq!(
        document(&reported),
        "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Wed, 08 Sep 2021 16:46:37 GMT</LastSyncTime></GeoReplication></StorageServiceStats>"
    );
    let behind = emulator.clone().secondary_lag(Duration::from_secs(37));
    let reported = send_to(&behind, SECONDARY, "GET", STATISTICS, &[], "").await;
    assert!(document(&reported).contains("16:46:00 GMT"));
    let primary = send(&emulator, "GET", STATISTICS, &[], "").await;
    assert_eq!(error(&primary).1, "InvalidQueryParameterValue");
    // Recorded of Go (2021).
    assert_eq!(header(&primary, "content-type"), "application/xml");
    assert_eq!(
        ["x-ms-version", "x-ms-error-code"].map(|name| header(&primary, name)),
        ["2019-02-02", "InvalidQueryParameterValue"]
    );
    let write = send_to(&emulator, SECONDARY, "PUT", PROPERTIES, &[], "").await;
    assert_eq!(error(&write).1, "InsufficientAccountPermissions");
}

#[tokio::test]
async fn policies_are_set_and_read_as_recorded() {
    let emulator = with_table().await;
    let none = send(&emulator, "GET", "Blogs?comp=acl", &[], "").await;
    assert_eq!(document(&none), "<SignedIdentifiers />");
    let sent = "<?xml version='1.0' encoding='utf-8'?>\n<SignedIdentifiers><SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2011-10-11</Start><Expiry>2011-10-12</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><AccessPolicy /><Id>empty</Id></SignedIdentifier></SignedIdentifiers>";
    let set = send(&emulator, "PUT", "blogs?comp=acl", &[], sent).await;
    assert_eq!((set.status().as_u16(), body(&set)), (204, ""));
    assert_eq!(header_names(&set), SET);
    let read = send(&emulator, "GET", "Blogs?comp=acl", &[], "").await;
    assert_eq!(
        document(&read),
        "<SignedIdentifiers><SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2011-10-11T00:00:00.0000000Z</Start><Expiry>2011-10-12T00:00:00.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>"
    );
    let one = |id: &str| format!("<SignedIdentifier><Id>{id}</Id></SignedIdentifier>");
    for wrong in [
        one("5").repeat(6),
        one(&"x".repeat(65)),
        one(""),
        "<SignedIdentifier>".to_owned(),
        one("a</Id><AccessPolicy><Start>soon</Start></AccessPolicy><Id>"),
        // Recorded in June 2020; seven digits are accepted (2021).
        one("a</Id><AccessPolicy><Start>2020-06-01T00:00:13.000Z</Start></AccessPolicy><Id>"),
    ] {
        let wrong = format!("<SignedIdentifiers>{wrong}</SignedIdentifiers>");
        let response = send(&emulator, "PUT", "Blogs?comp=acl", &[], &wrong).await;
        assert_eq!(
            error(&response),
            rejected(400, "InvalidXmlDocument", INVALID),
            "{wrong}"
        );
    }
    let kept = send(&emulator, "GET", "Blogs?comp=acl", &[], "").await;
    assert_eq!(document(&kept), document(&read));
    assert_eq!(send(&emulator, "PUT", "Blogs?comp=acl", &[], "").await.status(), 204);
    let none = send(&emulator, "GET", "Blogs?comp=acl", &[], "").await;
    assert_eq!(document(&none), "<SignedIdentifiers />", "no body means no policies");
    for method in ["GET", "PUT"] {
        let missing = send(&emulator, method, "None?comp=acl", &[], "").await;
        assert_eq!(
            error(&missing),
            rejected(404, "TableNotFound", "The table specified does not exist.")
        );
    }
}

#[test]
fn debug_shows_the_service_and_the_page_ends() {
    let text = format!("{:?}", Emulator::cosmos().page_ends(PageEnds::new().examined(7)));
    assert!(
        text.contains("profile: Cosmos") && text.contains("page_ends: ") && text.contains("examined: Some(7)"),
        "{text}"
    );
    let plain = format!("{:?}", Emulator::new());
    assert!(
        plain.contains("profile: Storage") && !plain.contains(DEVELOPMENT_KEY),
        "{plain}"
    );
}
