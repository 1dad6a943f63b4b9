//! CORS: requests of browsers for pages of other origins.

use super::*;

const PROPERTIES: &str = "?restype=service&comp=properties";

async fn with_rules(rules: &[&str]) -> Emulator {
    let emulator = with_table().await;
    let rules: String = rules
        .iter()
        .map(|rule| format!("<CorsRule>{rule}</CorsRule>"))
        .collect();
    let body = format!("<StorageServiceProperties><Cors>{rules}</Cors></StorageServiceProperties>");
    assert_eq!(send(&emulator, "PUT", PROPERTIES, &[], &body).await.status(), 202);
    emulator
}

const STRICT: &str = "<AllowedOrigins>https://a.com,https://b.com</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-ms-*,Accept</AllowedHeaders><ExposedHeaders>x-ms-request*,ETag,X-Ms-Request-Id</ExposedHeaders><MaxAgeInSeconds>200</MaxAgeInSeconds>";
const OPEN: &str = "<AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>0</MaxAgeInSeconds>";

/// Sends a preflight request: it is not signed and has no version.
async fn ask(emulator: &Emulator, headers: &[(&str, &str)]) -> Response<Bytes> {
    let mut request = Request::builder().method("OPTIONS").uri(format!("{BASE}/NotThere"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    emulator.send(request.body(Bytes::new()).unwrap()).await.unwrap()
}

fn from(origin: &str) -> (&str, &str) {
    ("origin", origin)
}

fn to(method: &str) -> (&str, &str) {
    ("access-control-request-method", method)
}

fn with(headers: &str) -> (&str, &str) {
    ("access-control-request-headers", headers)
}

#[tokio::test]
async fn preflight_request_uses_the_first_matching_rule() {
    let emulator = with_rules(&[STRICT, OPEN]).await;
    let requested = [from("https://b.com"), to("PUT"), with("X-MS-Date, accept")];
    let response = ask(&emulator, &requested).await;
    assert_eq!((response.status().as_u16(), body(&response)), (200, ""));
    for (name, value) in [
        ("access-control-allow-origin", "https://b.com"),
        ("access-control-allow-methods", "PUT"),
        ("access-control-allow-headers", "X-MS-Date, accept"),
        ("access-control-max-age", "200"),
        ("access-control-allow-credentials", "true"),
    ] {
        assert_eq!(header(&response, name), value);
    }
    let open = ask(&emulator, &[from("https://c.com"), to("GET")]).await;
    assert_eq!(header(&open, "access-control-allow-origin"), "https://c.com");
    assert_eq!(header(&open, "access-control-max-age"), "0");

    let text = "CORS not enabled or no matching rule found for this request.";
    for requested in [
        &[from("https://c.com"), to("PUT")][..],
        &[from("https://B.com"), to("PUT")],
        &[from("https://a.com"), to("put")],
        &[from("https://a.com"), to("DELETE")],
        &[from("https://a.com"), to("PUT"), with("content-type")],
    ] {
        let response = ask(&emulator, requested).await;
        assert_eq!(error_text(&response), (403, text.to_owned()), "{requested:?}");
    }
    let none = ask(&Emulator::new(), &[from("https://a.com"), to("GET")]).await;
    assert!(header(&none, "content-type").starts_with("application/json"));
    assert_eq!(error_text(&none), (403, text.to_owned()));
    for requested in [&[from("https://a.com")][..], &[to("GET")], &[]] {
        let response = ask(&emulator, requested).await;
        assert_eq!(
            error_text(&response),
            (400, "A required CORS header is not present.".to_owned())
        );
    }
}

fn error_text(response: &Response<Bytes>) -> (u16, String) {
    let (status, _, text) = error(response);
    (status, text)
}

#[tokio::test]
async fn response_to_the_request_has_the_cors_headers() {
    let strict = with_rules(&[STRICT]).await;
    let get = |origin: &'static str| [from(origin)];
    let response = send(&strict, "GET", "Blogs", &get("https://a.com"), "").await;
    assert_eq!(header(&response, "access-control-allow-origin"), "https://a.com");
    assert_eq!(header(&response, "access-control-allow-credentials"), "true");
    // Full names first, as recorded.
    assert_eq!(
        header(&response, "access-control-expose-headers"),
        "ETag,X-Ms-Request-Id"
    );
    assert_eq!(header(&response, "vary"), "Origin");
    let rejected = send(&strict, "GET", "None", &get("https://a.com"), "").await;
    assert_eq!(
        header(&rejected, "access-control-allow-origin"),
        "https://a.com",
        "errors too"
    );

    for headers in [&get("https://c.com")[..], &[]] {
        let response = send(&strict, "GET", "Blogs", headers, "").await;
        assert_eq!(response.status(), 200, "the rules keep nobody out");
        assert_eq!(header(&response, "access-control-allow-origin"), "");
        assert_eq!(header(&response, "vary"), "Origin");
    }
    let open = with_rules(&[OPEN]).await;
    let response = send(&open, "GET", "Blogs", &get("https://a.com"), "").await;
    assert_eq!(header(&response, "access-control-allow-origin"), "*");
    for missing in [
        "access-control-allow-credentials",
        "access-control-expose-headers",
        "vary",
    ] {
        assert_eq!(header(&response, missing), "", "{missing}");
    }
    let without = send(&with_table().await, "GET", "Blogs", &get("https://a.com"), "").await;
    assert_eq!(header(&without, "vary"), "");
}

/// REST "Cross-Origin Resource Sharing (CORS) support for Azure Storage", the table of responses.
#[tokio::test]
async fn response_for_all_origins_does_not_vary_by_origin() {
    let open = OPEN.replace("<ExposedHeaders />", "<ExposedHeaders>ETag</ExposedHeaders>");
    for (rules, origin, vary, allowed, exposed) in [
        (vec![], "", "", "", ""),
        (vec![], "https://a.com", "", "", ""),
        (vec![STRICT], "", "Origin", "", ""),
        (vec![STRICT], "https://c.com", "Origin", "", ""),
        (vec![&*open], "", "", "*", "ETag"),
        (vec![&open], "https://a.com", "", "*", "ETag"),
        (vec![STRICT, &open], "", "", "*", "ETag"),
    ] {
        let emulator = with_rules(&rules).await;
        let headers = [("origin", origin)];
        let headers = if origin.is_empty() { &[][..] } else { &headers };
        let response = send(&emulator, "GET", "Blogs", headers, "").await;
        let found = ["vary", "access-control-allow-origin", "access-control-expose-headers"];
        let found = found.map(|name| header(&response, name));
        assert_eq!(found, [vary, allowed, exposed], "{rules:?} {origin}");
    }
}

/// Recording `set_cors` of azure-data-tables (2026).
#[tokio::test]
async fn full_names_of_headers_are_returned_before_prefixes() {
    let rule = "<AllowedOrigins>https://a.com</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders>x-ms-meta-data*,x-ms-meta-target*,x-ms-meta-xyz,x-ms-meta-foo</AllowedHeaders><ExposedHeaders>x-ms-meta-data*,x-ms-meta-abc</ExposedHeaders><MaxAgeInSeconds>500</MaxAgeInSeconds>";
    let emulator = with_rules(&[rule]).await;
    let read = send(&emulator, "GET", PROPERTIES, &[], "").await;
    for names in [
        ">x-ms-meta-xyz,x-ms-meta-foo,x-ms-meta-data*,x-ms-meta-target*<",
        ">x-ms-meta-abc,x-ms-meta-data*<",
    ] {
        assert!(body(&read).contains(names), "{}", body(&read));
    }
}

/// Recordings of the Go, Java, JavaScript and Python SDKs (2021 and 2022), which send the members in other orders.
#[tokio::test]
async fn members_of_a_rule_are_returned_in_one_order() {
    let emulator = with_rules(&[STRICT]).await;
    let read = send(&emulator, "GET", PROPERTIES, &[], "").await;
    let (_, rule) = body(&read).split_once("<CorsRule>").unwrap();
    let names = rule.split("</CorsRule>").next().unwrap().split("</").skip(1);
    let names: Vec<&str> = names.filter_map(|text| text.split('>').next()).collect();
    let expected = [
        "AllowedMethods",
        "AllowedOrigins",
        "AllowedHeaders",
        "ExposedHeaders",
        "MaxAgeInSeconds",
    ];
    assert_eq!(names, expected, "{rule}");
}

/// Recordings of the same.
#[tokio::test]
async fn all_headers_of_a_response_can_be_exposed() {
    let open = OPEN.replace("<ExposedHeaders />", "<ExposedHeaders>*</ExposedHeaders>");
    let emulator = with_rules(&[&open]).await;
    for row in ["1", "2"] {
        let row = format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#);
        assert_eq!(send(&emulator, "POST", "Blogs", &[], &row).await.status(), 201);
    }
    let id = ("x-ms-client-request-id", "my-id");
    let tail = "Content-Type,Content-Length,Date,Transfer-Encoding";
    let head = "x-ms-request-id,Server,x-ms-version,X-Content-Type-Options,Cache-Control";
    let with_id = "x-ms-request-id,x-ms-client-request-id,Server,x-ms-version";
    let next = "x-ms-continuation-NextPartitionKey,x-ms-continuation-NextRowKey";
    for (path, headers, expected) in [
        ("Blogs", &[][..], format!("{head},{tail}")),
        ("Blogs?$top=1", &[], format!("{head},{next},{tail}")),
        ("Blogs(PartitionKey='p',RowKey='1')", &[], format!("{head},ETag,{tail}")),
        (
            "Tables",
            &[id],
            format!("{with_id},X-Content-Type-Options,Cache-Control,{tail}"),
        ),
        (
            PROPERTIES,
            &[id],
            format!("{with_id},Content-Length,Date,Transfer-Encoding"),
        ),
        (
            "Blogs?comp=acl",
            &[id],
            format!("{with_id},Content-Length,Date,Transfer-Encoding"),
        ),
    ] {
        let response = send(&emulator, "GET", path, headers, "").await;
        assert_eq!(header(&response, "access-control-allow-origin"), "*", "{path}");
        assert_eq!(header(&response, "access-control-expose-headers"), expected, "{path}");
    }
    let second = send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs2"}"#).await;
    assert_eq!(header(&second, "access-control-expose-headers"), "");
    let page = send(&emulator, "GET", "Tables?$top=1", &[], "").await;
    let expected = format!("{head},x-ms-continuation-NextTableName,{tail}");
    assert_eq!(header(&page, "access-control-expose-headers"), expected);
}

/// The tests of azure-storage-net (2018), and the methods of the management API.
#[tokio::test]
async fn limits_and_methods_of_rules_are_those_of_the_service() {
    let emulator = with_table().await;
    let names = |count: usize, end: &str| (0..count).map(|n| format!("h{n}{end}")).collect::<Vec<_>>().join(",");
    let rule = |origins: &str, methods: &str, allowed: &str, exposed: &str| {
        format!(
            "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>{origins}</AllowedOrigins>\
             <AllowedMethods>{methods}</AllowedMethods><AllowedHeaders>{allowed}</AllowedHeaders>\
             <ExposedHeaders>{exposed}</ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors>\
             </StorageServiceProperties>"
        )
    };
    for (document, code) in [
        (rule(&names(65, ""), "GET", "", ""), "InvalidXmlNodeValue"),
        (rule("*", "GET", &names(65, ""), ""), "InvalidXmlNodeValue"),
        (rule("*", "GET", "", &names(65, "")), "InvalidXmlNodeValue"),
        (rule("*", "GET", &names(3, "*"), ""), "InvalidXmlNodeValue"),
        (rule("*", "get", "", ""), "InvalidXmlDocument"),
        (
            "<StorageServiceProperties><DefaultServiceVersion>2009-09-19</DefaultServiceVersion></StorageServiceProperties>"
                .to_owned(),
            "InvalidXmlDocument",
        ),
    ] {
        let response = send(&emulator, "PUT", PROPERTIES, &[], &document).await;
        let (status, found, _) = error(&response);
        assert_eq!((status, &*found), (400, code), "{document}");
    }
    let set = send(&emulator, "PUT", PROPERTIES, &[], &rule("*", "TRACE,CONNECT", "", "")).await;
    assert_eq!(set.status(), 202);
    let read = send(&emulator, "GET", PROPERTIES, &[], "").await;
    assert!(
        body(&read).contains("<AllowedMethods>TRACE,CONNECT</AllowedMethods>"),
        "{}",
        body(&read)
    );
}
