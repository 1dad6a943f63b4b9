//! Tokens of Entra ID: who is let in, where the others are sent, what a token allows.

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
    let emulator = Emulator::new().with_token("good");
    emulator
        .send(unsigned_at(base, "GET", path, headers, ""))
        .await
        .unwrap()
}

#[tokio::test]
async fn who_shows_nothing_known_is_told_where_to_get_a_token() {
    for (headers, code) in [
        (&[VERSION][..], "NoAuthenticationInformation"),
        (&[VERSION, ("authorization", "Bearer bad")], "InvalidAuthenticationInfo"),
    ] {
        let headers = [headers, &[("x-ms-client-request-id", "mine")]].concat();
        let answer = try_with(&headers, SECURE, "Tables").await;
        let text = "Server failed to authenticate the request. Please refer to the information in the www-authenticate \
                    header.";
        assert_eq!(error(&answer), refused(401, code, text));
        assert_eq!(header(&answer, "www-authenticate"), CHALLENGE);
        assert_eq!(header(&answer, "x-ms-error-code"), code);
        assert_eq!(header(&answer, "content-type"), "application/json");
        // As recorded: neither nosniff nor cache-control.
        assert_eq!(
            header_names(&answer),
            [
                "content-type",
                "date",
                "server",
                "www-authenticate",
                "x-ms-client-request-id",
                "x-ms-error-code",
                "x-ms-request-id",
                "x-ms-version"
            ]
        );
    }
    let about = try_with(&[VERSION], SECURE, "?restype=service&comp=properties").await;
    assert_eq!(error(&about).1, "NoAuthenticationInformation");
    assert_eq!(header(&about, "www-authenticate"), CHALLENGE);
}

#[tokio::test]
async fn older_versions_and_open_connections_are_refused_without_a_word() {
    let old = ("x-ms-version", "2019-07-07");
    let bad = ("authorization", "Bearer bad");
    let good = ("authorization", "Bearer good");
    for (headers, base) in [
        (&[old][..], SECURE),
        (&[old, bad], SECURE),
        (&[("x-ms-version", "2017-04-17"), good], SECURE),
        (&[VERSION, good], BASE),
        (&[VERSION, good], "https://nobody.table.core.windows.net"),
    ] {
        let answer = try_with(headers, base, "Tables").await;
        assert_eq!(error(&answer).1, "AuthenticationFailed", "{headers:?} {base}");
        assert_eq!(header(&answer, "www-authenticate"), "");
    }
    assert_eq!(try_with(&[old, good], SECURE, "Tables").await.status(), 200);
}

#[tokio::test]
async fn a_token_allows_what_a_contributor_of_data_may() {
    let emulator = Emulator::new().with_token("good").with_token("other");
    let name = r#"{"TableName":"Blogs"}"#;
    assert_eq!(bear(&emulator, "POST", "Tables", &[], name).await.status(), 201);
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(bear(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    let address = "Blogs(PartitionKey='p',RowKey='r')";
    assert_eq!(bear(&emulator, "PUT", address, &[], "{}").await.status(), 204);
    assert_eq!(bear(&emulator, "GET", address, &[], "").await.status(), 200);
    let any = [("if-match", "*")];
    assert_eq!(bear(&emulator, "DELETE", address, &any, "").await.status(), 204);
    for path in ["?restype=service&comp=properties", "Blogs?comp=acl"] {
        let answer = bear(&emulator, "GET", path, &[], "").await;
        assert_eq!(error(&answer).1, "AuthorizationPermissionMismatch", "{path}");
    }
    assert_eq!(
        bear(&emulator, "DELETE", "Tables('Blogs')", &[], "").await.status(),
        204
    );
    assert_eq!(
        error(&bear(&emulator.clone().with_page_size(5), "PUT", "Tables", &[], "").await).0,
        405
    );
}
