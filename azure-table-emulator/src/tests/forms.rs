//! The forms of errors: of requests that accept anything, and of those that the service does not parse.
//!
//! Recorded of azure-data-tables (2020 and 2021), if no other source is named.

use super::*;

const ANYTHING: (&str, &str) = ("accept", "*/*");
const NAMESPACE: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";

#[tokio::test]
async fn writes_that_accept_anything_get_their_errors_as_xml() {
    let emulator = with_table().await;
    let entity = "Blogs(PartitionKey='p',RowKey='r')";
    let any = ("if-match", "*");
    for (method, path, headers, status, code) in [
        ("DELETE", entity, &[ANYTHING, any][..], 404, "ResourceNotFound"),
        ("PUT", entity, &[ANYTHING, any], 404, "ResourceNotFound"),
        ("PATCH", entity, &[ANYTHING, any], 404, "ResourceNotFound"),
        ("DELETE", entity, &[ANYTHING], 400, "InvalidInput"),
        ("DELETE", "Tables('None')", &[ANYTHING], 404, "ResourceNotFound"),
    ] {
        let response = send(&emulator, method, path, headers, "{}").await;
        let text = body(&response);
        let begin = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"{NAMESPACE}\"><code>{code}</code><message \
             xml:lang=\"en-US\">"
        );
        assert_eq!(response.status(), status, "{method} {path}");
        assert!(
            text.starts_with(&begin) && text.ends_with("</message></error>"),
            "{text}"
        );
        assert_eq!(header(&response, "content-type"), "application/xml;charset=utf-8");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        assert_eq!(header(&response, "x-ms-error-code"), "");
    }
    let read = send(&emulator, "GET", entity, &[ANYTHING], "").await;
    assert!(header(&read, "content-type").starts_with("application/json"));
}

/// The last one is of January 2014.
#[tokio::test]
async fn rejections_of_the_front_end_are_xml_unless_json_is_accepted() {
    let emulator = with_table().await;
    let entity = "Blogs(PartitionKey='p',RowKey='r')";
    for (method, path, accept, media_type) in [
        ("PUT", entity, Some("*/*"), "application/xml"),
        ("PATCH", entity, Some("*/*"), "application/xml"),
        ("POST", "$batch", Some("*/*"), "application/xml"),
        ("POST", "$batch", Some("application/json"), "application/json"),
        ("POST", "$batch", None, "application/xml"),
    ] {
        let mut request = unsigned(method, path, &[], "");
        request.headers_mut().remove("accept");
        if let Some(accept) = accept {
            request.headers_mut().insert("accept", accept.parse().unwrap());
        }
        sign(&mut request, DEVELOPMENT_ACCOUNT, "AAEC");
        let response = emulator.send(request).await.unwrap();
        assert_eq!(error(&response).1, "AuthenticationFailed", "{method} {path} {accept:?}");
        assert_eq!(
            header(&response, "content-type"),
            media_type,
            "{method} {path} {accept:?}"
        );
        let is_xml = body(&response).contains(&format!("<m:error xmlns:m=\"{NAMESPACE}\">"));
        assert_eq!(is_xml, media_type == "application/xml");
    }
}

#[tokio::test]
async fn unreadable_version_is_rejected_in_xml_without_an_error_code() {
    let version = [("x-ms-version", "12.0.0b1")];
    let response = send(&Emulator::new(), "GET", "Tables", &version, "").await;
    assert_eq!(
        (response.status().as_u16(), header(&response, "x-ms-error-code")),
        (400, "")
    );
    assert_eq!(header(&response, "content-type"), "application/xml");
    let begin = format!(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\n<error xmlns=\"{NAMESPACE}\">\n  \
         <code>InvalidHeaderValue</code>\n  <message xml:lang=\"en-US\">The value for one of the HTTP headers is not in \
         the correct format.\nRequestId:"
    );
    let text = body(&response);
    assert!(
        text.starts_with(&begin) && text.ends_with("Z</message>\n</error>"),
        "{text}"
    );
}

/// Recorded in 2017 and 2021, of the deletion also as azure-sdk-for-js issue 10973.
#[tokio::test]
async fn resource_is_not_found_without_authorization() {
    let emulator = with_table().await;
    let text = "The specified resource does not exist.";
    for (method, path, accept, media_type) in [
        (
            "DELETE",
            "%28retry%29?timeout=30",
            "application/json;odata=nometadata",
            "application/json",
        ),
        ("GET", "Tables", "application/json;odata=nometadata", "application/json"),
        ("POST", "$batch", "*/*", "application/xml"),
    ] {
        let request = unsigned(method, path, &[("accept", accept)], "");
        let response = emulator.send(request).await.unwrap();
        assert_eq!(
            error(&response),
            rejected(404, "ResourceNotFound", text),
            "{method} {path}"
        );
        assert_eq!(header(&response, "content-type"), media_type);
        assert_eq!(
            header_names(&response),
            [
                "content-type",
                "date",
                "server",
                "x-ms-error-code",
                "x-ms-request-id",
                "x-ms-version"
            ]
        );
    }
}
