//! Shared access signatures that a user delegation key signs.

use std::time::Duration;

use crate::tokens::FakeTokens;
use azure_table::auth::{Anonymous, SasUrl};
use azure_table::transport::Delivery;
use azure_table::{
    DateTime, DynamicEntity, EntraCredential, ErrorKind, Guid, LocationMode, SasToken, TablePermissions, TableSas,
    TableServiceClient,
};
use azure_table_tests::canned::{CONTOSO, Canned, Step};

/// The base64 of a secret that must not appear.
const VALUE: &str = "QUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmth";

/// The id of the signed user.
const OID: &str = "11059fcc-5514-4800-b5f8-49808b9cfab6";
const ENDPOINT: &str = "https://contoso.table.core.windows.net";

fn service(endpoint: &str, canned: &Canned) -> TableServiceClient {
    let credential = EntraCredential::new(FakeTokens::default().source());
    let service = TableServiceClient::new(endpoint, credential).unwrap();
    service.transport(canned.clone())
}

/// The documented response for blobs, which is assumed to be the same for tables.
fn key_until(expiry: DateTime) -> Step {
    let document = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><UserDelegationKey>\
         <SignedOid>{OID}</SignedOid>\
         <SignedTid>ab1f708d-50f6-404c-a006-d71b2ac7a606</SignedTid>\
         <SignedStart>2026-01-01T00:00:00Z</SignedStart><SignedExpiry>{expiry}</SignedExpiry>\
         <SignedService>t</SignedService><SignedVersion>2025-07-05</SignedVersion>\
         <Value>{VALUE}</Value></UserDelegationKey>"
    );
    Step::response(200, &[("content-type", "application/xml")], &document)
}

fn in_an_hour() -> DateTime {
    let now = DateTime::now().unix_seconds();
    DateTime::from_unix_seconds(now + 3_600)
}

#[tokio::test]
async fn delegation_key_signs_a_url() {
    let end = in_an_hour();
    let canned = Canned::new([key_until(end)]);
    let service = service(ENDPOINT, &canned);
    let orders = service.dynamic_table("Orders").unwrap();
    let key = service.user_delegation_key(end).await.unwrap();
    let sas = TableSas::new(orders.name()).permissions(TablePermissions::READ);
    let sas = sas.expiry(end);
    let url = orders.delegated_sas_url(&sas, &key).unwrap();
    assert_eq!(url.token(), &sas.sign_delegated(&key, "contoso").unwrap());
    assert!(url.expose().starts_with(&format!("{ENDPOINT}/Orders?sv=")));
    let parts = SasUrl::new(url.expose()).unwrap().token().parts();
    assert_eq!(parts.delegated_by.as_deref(), Some(OID));
    assert!(!format!("{url:?}").contains("sig="));

    let hidden = TableServiceClient::new("https://tables.contoso.com", Anonymous).unwrap();
    let hidden = hidden.dynamic_table("Orders").unwrap();
    let error = hidden.delegated_sas_url(&sas, &key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[tokio::test]
async fn delegation_key_signs_a_signature_that_clients_use() {
    let end = in_an_hour();
    let canned = Canned::new([key_until(end), Step::response(204, &[("etag", "W/\"1\"")], "")]);
    let service = service(ENDPOINT, &canned);
    let tenant = Guid::random();
    let start = end - Duration::from_secs(7_200);
    let key = service
        .user_delegation_key(end)
        .start(start)
        .delegated_tenant(tenant)
        .await;
    let key = key.unwrap();
    assert_eq!(key.object_id(), OID);
    assert_eq!(key.expiry(), end);

    let requested = &canned.sent()[0];
    assert_eq!(requested.method(), "POST");
    let path = "/?restype=service&comp=userdelegationkey";
    assert_eq!(requested.uri().to_string(), format!("{ENDPOINT}{path}"));
    for (name, value) in [
        ("accept", "application/xml"),
        ("content-type", "application/xml"),
        ("x-ms-version", "2025-07-05"),
    ] {
        assert_eq!(requested.headers()[name], value);
    }
    let authorization = &requested.headers()["authorization"];
    assert!(authorization.as_bytes().starts_with(b"Bearer "));
    assert!(!requested.headers().contains_key("dataserviceversion"));
    let body = std::str::from_utf8(requested.body()).unwrap();
    let expected = format!(
        "<KeyInfo><Start>{start}</Start><Expiry>{end}</Expiry><DelegatedUserTid>{tenant}</DelegatedUserTid></KeyInfo>"
    );
    assert!(body.ends_with(&expected), "{body}");

    let table = service.dynamic_table("Things").unwrap();
    let sas = TableSas::new(table.name()).permissions(TablePermissions::ADD);
    let sas = sas.expiry(end);
    let token: SasToken = sas.sign_delegated(&key, "contoso").unwrap();
    let by_signature = TableServiceClient::new(ENDPOINT, token).unwrap();
    let things = by_signature.transport(canned.clone()).dynamic_table("Things").unwrap();
    things.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let query = canned.sent()[1].uri().query().unwrap().to_owned();
    assert!(query.starts_with("sv=2025-07-05&tn=Things&sp=a&se="), "{query}");
    for part in ["&skoid=11059fcc-", "&sig="] {
        assert!(query.contains(part), "{query}");
    }
    assert!(!format!("{key:?} {sas:?}").contains(VALUE));
}

#[tokio::test]
async fn delegation_key_needs_a_token() {
    let canned = Canned::default();
    let by_key = canned.service();
    let anonymous = TableServiceClient::new(ENDPOINT, Anonymous).unwrap();
    let cosmos = service("https://contoso.table.cosmos.azure.com", &canned);
    assert!(CONTOSO.contains("AccountKey"));
    for (service, why) in [
        (by_key, "requires an Entra ID token"),
        (anonymous.transport(canned.clone()), "requires an Entra ID token"),
        (cosmos, "Azure Cosmos DB for Table does not offer user delegation keys"),
    ] {
        let error = service.user_delegation_key(in_an_hour()).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unsupported, 0));
        let text = error.to_string();
        assert!(
            text.starts_with("get user delegation key: ") && text.contains(why),
            "{text}"
        );
    }
    let storage = service(ENDPOINT, &canned);
    let week = in_an_hour() + Duration::from_secs(7 * 24 * 3_600);
    let error = storage.user_delegation_key(week).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("the limit of 168"), "{error}");
    assert!(canned.sent().is_empty());
}

#[tokio::test]
async fn lost_response_is_retried_and_invalid_one_is_not_shown() {
    let end = in_an_hour();
    let invalid = format!("<UserDelegationKey><Value>{VALUE}</Value></UserDelegationKey>");
    let (lost, invalid) = (Step::Fail(Delivery::MaybeSent), Step::response(200, &[], &invalid));
    let canned = Canned::new([lost, key_until(end), invalid]);
    let service = service(ENDPOINT, &canned);
    service.user_delegation_key(end).await.unwrap();
    let error = service.user_delegation_key(end).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    let text = format!("{error} {error:?}");
    assert!(text.contains("the key has no SignedOid"), "{text}");
    assert!(!text.contains(VALUE), "{text}");
}

#[tokio::test]
async fn missing_role_is_named() {
    let body =
        "<?xml version=\"1.0\"?><Error><Code>AuthorizationPermissionMismatch</Code><Message>No.</Message></Error>";
    let headers = [("x-ms-error-code", "AuthorizationPermissionMismatch")];
    let canned = Canned::new([Step::response(403, &headers, body)]);
    let service = service(ENDPOINT, &canned);
    let error = service.user_delegation_key(in_an_hour()).await.unwrap_err();
    assert!(error.to_string().contains("Storage Table Delegator"), "{error}");
}

/// It is a POST: after a transient response of the primary, the secondary would reject it permanently.
#[tokio::test(start_paused = true)]
async fn delegation_key_is_requested_from_the_primary_only() {
    for mode in [LocationMode::SecondaryThenPrimary, LocationMode::PrimaryThenSecondary] {
        let canned = Canned::new([Step::status(500), key_until(in_an_hour())]);
        let service = service(ENDPOINT, &canned).location_mode(mode);
        service.user_delegation_key(in_an_hour()).await.unwrap();
        for sent in canned.sent() {
            assert_eq!(sent.uri().host(), Some("contoso.table.core.windows.net"), "{mode:?}");
        }
    }
}
