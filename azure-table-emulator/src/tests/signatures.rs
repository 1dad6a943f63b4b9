//! Accepted signatures: both kinds of shared key, separate accounts, the age of a request.

use azure_table_wire::account::signature::shared_key_lite;

use super::*;

#[tokio::test]
async fn requests_without_a_valid_signature_are_rejected() {
    let emulator = with_table().await.account("other", "AAEC").unwrap();
    let text = "Server failed to authenticate the request. Make sure the value of Authorization header is formed \
                correctly including the signature.";
    let mut requests = Vec::new();
    for (account, key) in [(DEVELOPMENT_ACCOUNT, "AAEC"), ("other", "AAEC"), ("nobody", "AAEC")] {
        let mut request = unsigned("GET", "Tables", &[], "");
        sign(&mut request, account, key);
        requests.push(request);
    }
    let mut old = unsigned("GET", "Tables", &[], "");
    let date = httpdate::fmt_http_date(std::time::SystemTime::now() - std::time::Duration::from_secs(16 * 60));
    old.headers_mut().insert("x-ms-date", date.parse().unwrap());
    sign(&mut old, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
    requests.push(old);
    for request in requests {
        let response = emulator.send(request).await.unwrap();
        assert_eq!(error(&response), rejected(403, "AuthenticationFailed", text));
        assert_eq!(header(&response, "x-ms-error-code"), "AuthenticationFailed");
        // Recorded from September to December 2021.
        assert_eq!(
            header_names(&response),
            ["content-type", "date", "server", "x-ms-error-code", "x-ms-request-id"]
        );
        assert_eq!(header(&response, "server"), "Microsoft-HTTPAPI/2.0");
    }

    let mut lite = unsigned("GET", "Tables", &[], "");
    let resource = canonicalized_resource(DEVELOPMENT_ACCOUNT, lite.uri().path(), None);
    let string = shared_key_lite(lite.headers()["x-ms-date"].to_str().unwrap(), resource).concat();
    let signature = SigningKey::from_base64(DEVELOPMENT_KEY).unwrap().sign(&string);
    let authorization = format!("SharedKeyLite {DEVELOPMENT_ACCOUNT}:{signature}");
    lite.headers_mut()
        .insert("authorization", authorization.parse().unwrap());
    assert_eq!(emulator.send(lite).await.unwrap().status(), 200);

    let mut other = unsigned("GET", "", &[], "");
    *other.uri_mut() = "http://other.table.localhost/Tables".parse().unwrap();
    sign(&mut other, "other", "AAEC");
    let response = emulator.send(other).await.unwrap();
    assert_eq!(body(&response), r#"{"value":[]}"#, "accounts share nothing");
}
