//! The supported versions of the protocol.

use super::*;
use crate::rules::version::VERSIONS;

#[tokio::test]
async fn supported_versions_are_those_of_the_services() {
    let emulator = Emulator::new();
    let ask = async |version: &str| {
        let mut request = unsigned("GET", "Tables", &[("x-ms-version", version)], "");
        sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
        emulator.send(request).await.unwrap()
    };
    assert!(VERSIONS.split(' ').is_sorted());
    for version in [
        "2013-08-15",
        "2019-02-02",
        "2019-07-07",
        "2025-07-05",
        "2026-02-06",
        "2026-06-06",
    ] {
        let response = ask(version).await;
        assert_eq!(
            (response.status().as_u16(), header(&response, "x-ms-version")),
            (200, version)
        );
    }
    let text = "The value for one of the HTTP headers is not in the correct format.";
    for version in [
        "2013-08-14",
        "2012-02-12",
        "2019-02-03",
        "2020-02-30",
        "2024-01-01",
        "2026-06-31",
        "9999-99-99",
        "2999-01-01T00:00Z",
        "2019-2-2",
        "2019-02-02 x",
        "",
    ] {
        let response = ask(version).await;
        assert_eq!(error(&response), rejected(400, "InvalidHeaderValue", text), "{version}");
    }
}

/// Recorded of 2014-02-14, 2016-05-31 and 2018-03-28; the first version is documented.
#[tokio::test]
async fn code_of_an_error_is_a_header_from_2017_07_29_on() {
    for (version, code) in [
        ("2014-02-14", ""),
        ("2017-04-17", ""),
        ("2017-07-29", "TableNotFound"),
        ("2026-06-06", "TableNotFound"),
    ] {
        let headers = [("x-ms-version", version), ("accept", "application/xml")];
        let response = send(&Emulator::new(), "GET", "Blogs?comp=acl", &headers, "").await;
        assert_eq!(error(&response).1, "TableNotFound");
        assert_eq!(header(&response, "x-ms-error-code"), code, "{version}");
    }
}

#[tokio::test]
async fn later_versions_are_accepted_unless_the_emulator_is_strict() {
    let ask = async |emulator: &Emulator, version: &str| {
        let mut request = unsigned("GET", "Tables", &[("x-ms-version", version)], "");
        sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
        let response = emulator.send(request).await.unwrap();
        (response.status().as_u16(), header(&response, "x-ms-version").to_owned())
    };
    let emulator = Emulator::new();
    let strict = emulator.clone().strict_versions(true);
    for version in ["2026-06-07", "2027-02-28", "2999-12-31"] {
        assert_eq!(ask(&emulator, version).await, (200, version.to_owned()));
        assert_eq!(ask(&strict, version).await.0, 400, "{version}");
    }
    let newest = VERSIONS.split(' ').next_back().unwrap();
    assert_eq!(ask(&strict, newest).await.0, 200);
    assert_eq!(ask(&strict.strict_versions(false), "2027-01-01").await.0, 200);
}
