//! Tokens of Entra ID: accepted ones, the challenge for others, and their permissions.

use super::*;

pub(super) const SECURE: &str = "https://devstoreaccount1.table.core.windows.net";
pub(super) const VERSION: (&str, &str) = ("x-ms-version", "2020-12-06");
const CHALLENGE: &str = "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/authorize resource_id=https://storage.azure.com";

pub(super) async fn bear(
    emulator: &Emulator,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Bytes> {
    let headers = [&[("authorization", "Bearer good"), VERSION][..], headers].concat();
    emulator
        .send(unsigned_at(SECURE, method, path, &headers, body))
        .await
        .unwrap()
}

async fn try_with(headers: &[(&str, &str)], base: &str, path: &str) -> Response<Bytes> {
    let emulator = Emulator::new().token("good");
    emulator
        .send(unsigned_at(base, "GET", path, headers, ""))
        .await
        .unwrap()
}

#[tokio::test]
async fn challenge_names_the_token_authority() {
    for (headers, code) in [
        (&[VERSION][..], "NoAuthenticationInformation"),
        (&[VERSION, ("authorization", "Bearer bad")], "InvalidAuthenticationInfo"),
        (
            &[("x-ms-version", "2025-07-05"), ("authorization", "Bearer a.b.c")],
            "InvalidAuthenticationInfo",
        ),
    ] {
        let headers = [headers, &[("x-ms-client-request-id", "mine")]].concat();
        let response = try_with(&headers, SECURE, "Tables").await;
        let text = "Server failed to authenticate the request. Please refer to the information in the www-authenticate \
                    header.";
        assert_eq!(error(&response), rejected(401, code, text));
        assert_eq!(header(&response, "www-authenticate"), CHALLENGE);
        assert_eq!(header(&response, "x-ms-error-code"), code);
        assert_eq!(header(&response, "content-type"), "application/json");
        // As recorded: neither nosniff nor cache-control, and for a wrong token (2022 and 2026) no version.
        let names = match code {
            "NoAuthenticationInformation" => &[
                "content-type",
                "date",
                "server",
                "www-authenticate",
                "x-ms-client-request-id",
                "x-ms-error-code",
                "x-ms-request-id",
                "x-ms-version",
            ][..],
            _ => &[
                "content-type",
                "date",
                "server",
                "www-authenticate",
                "x-ms-error-code",
                "x-ms-request-id",
            ],
        };
        assert_eq!(header_names(&response), names);
    }
    let about = try_with(&[VERSION], SECURE, "?restype=service&comp=properties").await;
    assert_eq!(error(&about).1, "NoAuthenticationInformation");
    assert_eq!(header(&about, "www-authenticate"), CHALLENGE);
    let wrong = [VERSION, ("authorization", "Bearer bad")];
    let about = try_with(&wrong, SECURE, "?restype=service&comp=stats").await;
    assert_eq!(header(&about, "content-type"), "application/xml");
    assert_eq!(error(&about).1, "InvalidAuthenticationInfo");
}

/// Recording `list_tables_with_invalid_credential` of azure-data-tables (2024).
#[tokio::test]
async fn text_that_is_not_a_token_is_malformed() {
    let headers = [VERSION, ("authorization", "Bearer fake token credential")];
    let response = try_with(&headers, SECURE, "Tables").await;
    let text =
        "Authentication information is not given in the correct format. Check the value of Authorization header.";
    assert_eq!(error(&response), rejected(400, "InvalidAuthenticationInfo", text));
    assert_eq!(
        header_names(&response),
        ["content-type", "date", "server", "x-ms-error-code", "x-ms-request-id"]
    );
    assert_eq!(header(&response, "content-type"), "application/json");
}

/// azure-sdk-for-net issue 47332.
#[tokio::test]
async fn token_for_another_audience_is_unauthorized_on_cosmos_db() {
    let emulator = Emulator::new().token_audience("https://cosmos.azure.com");
    let base = "https://devstoreaccount1.table.cosmos.azure.com";
    let bearer = format!("Bearer {}", token("https://storage.azure.com", 60));
    let headers = [VERSION, ("authorization", &*bearer)];
    let response = emulator
        .send(unsigned_at(base, "GET", "Tables", &headers, ""))
        .await
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    let error = &json["odata.error"];
    assert_eq!(
        (response.status().as_u16(), error["code"].as_str()),
        (401, Some("Unauthorized"))
    );
    let text = error["message"]["value"].as_str().unwrap();
    let said = "Provided AAD token is intended for [https://storage.azure.com]. This database account accepts tokens \
                intended for [https://cosmos.azure.com]";
    assert!(
        text.starts_with("Request blocked by Auth ") && text.contains(said),
        "{text}"
    );
}

/// Creates an unsigned token for an audience, valid for `seconds`.
fn token(audience: &str, seconds: i64) -> String {
    use base64::Engine as _;
    let part = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let expiry = DateTime::now().unix_seconds() + seconds;
    let claims = format!(r#"{{"aud":"{audience}","exp":{expiry},"oid":"0"}}"#);
    format!(
        "{}.{}.{}",
        part(r#"{"typ":"JWT","alg":"RS256"}"#),
        part(&claims),
        part("signed")
    )
}

#[tokio::test]
async fn every_token_for_a_known_audience_is_accepted() {
    const STORAGE: &str = "https://storage.azure.com";
    let emulator = Emulator::new().token_audience("https://storage.azure.com/");
    let ask = async |emulator: &Emulator, token: &str, method: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("x-ms-version", "2025-07-05"), ("authorization", &*bearer)];
        let request = unsigned_at(SECURE, method, path, &headers, body);
        emulator.send(request).await.unwrap()
    };
    for audience in [STORAGE, "https://storage.azure.com/"] {
        let response = ask(&emulator, &token(audience, 60), "GET", "Tables", "").await;
        assert_eq!(response.status(), 200, "{audience}");
    }
    for bad in [
        token("https://vault.azure.net", 60),
        token(STORAGE, -1),
        "good".to_owned(),
    ] {
        let response = ask(&emulator, &bad, "GET", "Tables", "").await;
        assert_eq!(error(&response).1, "InvalidAuthenticationInfo", "{bad}");
        assert_eq!(header(&response, "www-authenticate"), CHALLENGE);
    }
    let without = ask(&Emulator::new(), &token(STORAGE, 60), "GET", "Tables", "").await;
    assert_eq!(without.status(), 401, "no audience, no token");
    // A user delegation key, which requires a token.
    let start = DateTime::now() - Duration::from_secs(60);
    let expiry = start + Duration::from_secs(3_600);
    let info = format!("<KeyInfo><Start>{start}</Start><Expiry>{expiry}</Expiry></KeyInfo>");
    let path = "?restype=service&comp=userdelegationkey";
    let key = ask(&emulator, &token(STORAGE, 60), "POST", path, &info).await;
    assert_eq!(key.status(), 200, "{}", body(&key));
    // Times are returned without their fraction (recording `get_user_delegation_key`, 2026).
    let start = DateTime::from_unix_seconds(start.unix_seconds());
    let start = format!("<SignedStart>{start}</SignedStart>");
    assert!(
        body(&key).starts_with("\u{feff}") && body(&key).contains(&start),
        "{}",
        body(&key)
    );
}

#[tokio::test]
async fn older_versions_and_plain_http_are_rejected_without_a_challenge() {
    let old = ("x-ms-version", "2019-07-07");
    let bad = ("authorization", "Bearer bad");
    let good = ("authorization", "Bearer good");
    for (headers, base) in [
        (&[old, bad][..], SECURE),
        (&[("x-ms-version", "2017-04-17"), good], SECURE),
        (&[VERSION, good], BASE),
        (&[VERSION, good], "https://nobody.table.core.windows.net"),
    ] {
        let response = try_with(headers, base, "Tables").await;
        assert_eq!(error(&response).1, "AuthenticationFailed", "{headers:?} {base}");
        assert_eq!(header(&response, "www-authenticate"), "");
    }
    assert_eq!(try_with(&[old, good], SECURE, "Tables").await.status(), 200);
}

#[tokio::test]
async fn token_has_the_permissions_of_a_data_contributor() {
    let emulator = Emulator::new().token("good").token("other");
    let name = r#"{"TableName":"Blogs"}"#;
    assert_eq!(bear(&emulator, "POST", "Tables", &[], name).await.status(), 201);
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(bear(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    let address = "Blogs(PartitionKey='p',RowKey='r')";
    assert_eq!(bear(&emulator, "PUT", address, &[], "{}").await.status(), 204);
    assert_eq!(bear(&emulator, "GET", address, &[], "").await.status(), 200);
    let any = [("if-match", "*")];
    assert_eq!(bear(&emulator, "DELETE", address, &any, "").await.status(), 204);
    assert_eq!(
        bear(&emulator, "DELETE", "Tables('Blogs')", &[], "").await.status(),
        204
    );
    assert_eq!(
        error(&bear(&emulator.clone().page_size(5), "PUT", "Tables", &[], "").await).0,
        405
    );
}

/// Recorded of clients for Python (2021, 2022) and C++ (2024).
#[tokio::test]
async fn token_reads_and_writes_the_properties_of_the_service() {
    let emulator = Emulator::new().token("good");
    let path = "?restype=service&comp=properties";
    let properties = "<StorageServiceProperties><Cors /></StorageServiceProperties>";
    assert_eq!(bear(&emulator, "PUT", path, &[], properties).await.status(), 202);
    assert_eq!(bear(&emulator, "GET", path, &[], "").await.status(), 200);
    let headers = [("authorization", "Bearer good"), VERSION];
    let secondary = "https://devstoreaccount1-secondary.table.core.windows.net";
    let statistics = unsigned_at(secondary, "GET", "?restype=service&comp=stats", &headers, "");
    assert_eq!(emulator.send(statistics).await.unwrap().status(), 200);
}

/// Recorded of a client for C++ (2024) with an existing table, of clients for Python (2022, 2026) without one.
#[tokio::test]
async fn access_policies_are_hidden_from_a_token() {
    let emulator = Emulator::new().token("good");
    let name = r#"{"TableName":"Blogs"}"#;
    assert_eq!(bear(&emulator, "POST", "Tables", &[], name).await.status(), 201);
    for (version, code, text) in [
        (
            "2019-02-02",
            "ResourceNotFound",
            "The specified resource does not exist.",
        ),
        ("2025-07-05", "TableNotFound", "The table specified does not exist."),
    ] {
        for method in ["GET", "PUT"] {
            let headers = [
                ("authorization", "Bearer good"),
                ("x-ms-version", version),
                ("accept", "application/xml"),
            ];
            let request = unsigned_at(SECURE, method, "Blogs?comp=acl", &headers, "");
            let response = emulator.send(request).await.unwrap();
            assert_eq!(error(&response), rejected(404, code, text), "{method} {version}");
            assert_eq!(header(&response, "content-type"), "application/xml");
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
}
