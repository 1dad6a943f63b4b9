//! Which versions of the protocol are taken.

use super::*;
use crate::emulator::rules::version::VERSIONS;

#[tokio::test]
async fn versions_are_those_that_the_services_had() {
    let emulator = Emulator::new();
    let ask = async |version: &str| {
        let mut request = unsigned("GET", "Tables", &[("x-ms-version", version)], "");
        sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
        emulator.send(request).await.unwrap()
    };
    assert!(VERSIONS.is_sorted());
    for version in [
        "2013-08-15",
        "2019-02-02",
        "2019-07-07",
        "2025-07-05",
        "2026-02-06",
        "2026-06-06",
    ] {
        let answer = ask(version).await;
        assert_eq!(
            (answer.status().as_u16(), header(&answer, "x-ms-version")),
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
        "2026-06-07",
        "9999-99-99",
        "2019-2-2",
        "2019-02-02 x",
        "",
    ] {
        let answer = ask(version).await;
        assert_eq!(error(&answer), refused(400, "InvalidHeaderValue", text), "{version}");
    }
}
