//! Tokens of Entra ID, as a service sees them.

use std::sync::Arc;

use crate::tokens::{FakeTokens, TOKEN_MARKER};
use azure_table::transport::Delivery;
use azure_table::{CallOptions, DynamicEntity, EntraCredential, ErrorKind, NoRetry, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};

const STORAGE: &str = "https://storage.azure.com/.default";
const CONTOSO: &str = "https://contoso.table.core.windows.net";
const TENANT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";

fn table(endpoint: &str, credential: EntraCredential, canned: &Canned) -> TableClient<DynamicEntity> {
    let service = TableServiceClient::new(endpoint, credential).unwrap();
    service.transport(canned.clone()).dynamic_table("Things").unwrap()
}

fn things(tokens: &FakeTokens, canned: &Canned) -> TableClient<DynamicEntity> {
    table(CONTOSO, EntraCredential::new(tokens.source()), canned)
}

/// The challenge of Table storage, as recorded.
fn challenge(resource: &str) -> Step {
    let text = format!(
        "Bearer authorization_uri=https://login.microsoftonline.com/{TENANT}/oauth2/authorize resource_id={resource}"
    );
    let headers = [
        ("www-authenticate", text.as_str()),
        ("x-ms-error-code", "NoAuthenticationInformation"),
    ];
    Step::response(401, &headers, "")
}

/// The `Authorization` of all requests; empty if a request has none.
fn authorizations(canned: &Canned) -> Vec<String> {
    let sent = canned.sent();
    let headers = sent.iter().map(|request| request.headers().get("authorization"));
    let texts = headers.map(|header| {
        header.map_or("", |header| {
            assert!(header.is_sensitive());
            header.to_str().unwrap()
        })
    });
    texts.map(str::to_owned).collect()
}

fn inserted() -> Step {
    Step::response(204, &[("etag", "W/\"1\"")], "")
}

fn row() -> DynamicEntity {
    DynamicEntity::new("p", "r")
}

#[tokio::test]
async fn concurrent_calls_share_one_token() {
    let (tokens, canned) = (FakeTokens::default(), Canned::new((0..16).map(|_| inserted())));
    let things = things(&tokens, &canned);
    let rows: Vec<DynamicEntity> = (0..16).map(|n| DynamicEntity::new("p", n.to_string())).collect();
    futures::future::try_join_all(rows.iter().map(|row| things.insert(row)))
        .await
        .unwrap();
    assert_eq!(tokens.requested(), [STORAGE]);
    let sent = authorizations(&canned);
    assert!(sent[0].starts_with(&format!("Bearer {TOKEN_MARKER}")) && sent.iter().all(|token| *token == sent[0]));
    let first = &canned.sent()[0];
    assert_eq!(first.headers()["x-ms-version"], "2020-12-06");
    assert!(!first.headers().contains_key("x-ms-date"));
}

#[tokio::test]
async fn rejected_token_is_renewed_once() {
    let (tokens, ok) = (FakeTokens::default(), inserted);
    let canned = Canned::new([ok(), Step::status(401), ok(), ok()]);
    let things = things(&tokens, &canned);
    for _ in 0..3 {
        things.insert(&row()).await.unwrap();
    }
    let sent = authorizations(&canned);
    assert_eq!((sent.len(), tokens.requested().len()), (4, 2));
    assert_eq!(sent[0], sent[1]);
    assert_ne!(sent[1], sent[2]);
    assert_eq!(sent[2], sent[3]);
    let bodies: Vec<_> = canned.sent().iter().map(|request| request.body().clone()).collect();
    assert!(!bodies[1].is_empty() && bodies[1] == bodies[2], "it is sent again");
}

#[tokio::test]
async fn token_that_is_always_rejected_ends_the_call() {
    let (tokens, canned) = (FakeTokens::default(), Canned::new((0..3).map(|_| Step::status(401))));
    let error = things(&tokens, &canned).insert(&row()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Unauthenticated, Some(401)));
    assert_eq!((canned.sent().len(), tokens.requested().len()), (3, 3));
    assert!(!error.may_have_applied());
    let why = format!("its scope is {STORAGE:?}");
    assert!(error.to_string().contains(&why), "{error}");
}

#[tokio::test]
async fn token_for_another_audience_is_sent_once() {
    let challenges = (0..3).map(|_| challenge("https://vault.azure.net"));
    let (tokens, canned) = (FakeTokens::default(), Canned::new(challenges));
    let error = things(&tokens, &canned).insert(&row()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert_eq!((canned.sent().len(), tokens.requested().len()), (1, 1));
    assert!(error.to_string().contains("`EntraCredential::scope`"), "{error}");
}

#[tokio::test]
async fn missing_role_does_not_renew_the_token() {
    let body = r#"{"odata.error":{"code":"AuthorizationPermissionMismatch","message":{"lang":"en-US","value":"Not authorized."}}}"#;
    let (tokens, canned) = (FakeTokens::default(), Canned::new([Step::response(403, &[], body)]));
    let error = things(&tokens, &canned).insert(&row()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Forbidden, 1));
    for part in ["Storage Table Data Contributor", "30 minutes"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn tenant_and_scope_are_learned_from_the_challenge() {
    let canned = Canned::new([challenge("https://storage.azure.cn"), inserted(), inserted()]);
    let tokens = FakeTokens::default();
    let source = tokens.clone();
    let credential = EntraCredential::by_tenant(move |tenant| {
        assert_eq!(tenant, TENANT);
        Ok(source.source())
    });
    let things = table(CONTOSO, credential, &canned);
    things.insert(&row()).await.unwrap();
    things.insert(&row()).await.unwrap();
    assert_eq!(tokens.requested(), ["https://storage.azure.cn/.default"]);
    let sent = authorizations(&canned);
    assert_eq!(sent[0], "");
    assert!(sent[1].starts_with("Bearer ") && sent[1] == sent[2]);
    let sent = canned.sent();
    assert!(!sent[0].body().is_empty() && sent[0].body() == sent[1].body());
    let id = "x-ms-client-request-id";
    assert_eq!(sent[0].headers()[id], sent[1].headers()[id]);
}

#[tokio::test]
async fn unknown_tenant_can_be_rejected() {
    let canned = Canned::new([challenge("https://storage.azure.com")]);
    let credential = EntraCredential::by_tenant(|_| Err("not one of our tenants".into()));
    let error = table(CONTOSO, credential, &canned).insert(&row()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert!(!error.may_have_applied());
    assert!(error.to_string().contains(TENANT), "{error}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "not one of our tenants");
}

#[tokio::test]
async fn server_cannot_choose_the_audience_of_a_token() {
    for resource in [
        "https://vault.azure.net",
        "https://management.azure.com",
        "https://cosmos.azure.com",
        "https://storage.azure.com.fabrikam.com",
        "https://fabrikam.table.core.windows.net",
    ] {
        let (tokens, canned) = (FakeTokens::default(), Canned::new((0..3).map(|_| challenge(resource))));
        let error = things(&tokens, &canned).insert(&row()).await.unwrap_err();
        assert!(error.to_string().contains("`EntraCredential::scope`"), "{error}");
        assert!(tokens.requested().iter().all(|scope| scope == STORAGE));

        let (source, canned) = (tokens.clone(), Canned::new([challenge(resource)]));
        let requested = tokens.requested().len();
        let credential = EntraCredential::by_tenant(move |_| Ok(source.source()));
        table(CONTOSO, credential, &canned).insert(&row()).await.unwrap_err();
        assert_eq!(tokens.requested().len(), requested, "nothing is learned of it");
    }
}

#[tokio::test]
async fn each_cloud_and_service_has_its_scope() {
    for (host, set, scope) in [
        ("contoso.table.core.windows.net", None, "storage.azure.com"),
        ("contoso.table.core.chinacloudapi.cn", None, "storage.azure.cn"),
        ("contoso.table.core.usgovcloudapi.net", None, "storage.azure.us"),
        ("contoso.table.cosmos.azure.com:443", None, "cosmos.azure.com"),
        ("contoso.table.cosmos.azure.cn", None, "cosmos.azure.cn"),
        ("contoso.table.cosmos.azure.us", None, "cosmos.azure.us"),
        ("tables.contoso.com", None, "storage.azure.com"),
        (
            "tables.contoso.com",
            Some("https://cosmos.azure.com/.default"),
            "cosmos.azure.com",
        ),
    ] {
        let (tokens, canned) = (FakeTokens::default(), Canned::new([inserted()]));
        let mut credential = EntraCredential::new(tokens.source());
        if let Some(set) = set {
            credential = credential.scope(set);
        }
        let things = table(&format!("https://{host}"), credential, &canned);
        things.insert(&row()).await.unwrap();
        assert_eq!(tokens.requested(), [format!("https://{scope}/.default")], "{host}");
    }
}

#[tokio::test]
async fn token_is_never_sent_over_http() {
    let (tokens, canned) = (FakeTokens::default(), Canned::default());
    let source = tokens.clone();
    for credential in [
        EntraCredential::new(tokens.source()),
        EntraCredential::by_tenant(move |_| Ok(source.source())),
    ] {
        let things = table("http://127.0.0.1:10002/devstoreaccount1", credential, &canned);
        let error = things.insert(&row()).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
        assert!(error.to_string().contains("HTTPS only"), "{error}");
    }
    assert_eq!((canned.sent().len(), tokens.requested().len()), (0, 0));
}

#[tokio::test]
async fn failing_token_source_is_the_source_of_the_error() {
    let (tokens, canned) = (FakeTokens::default(), Canned::new([inserted()]));
    let things = things(&tokens, &canned);
    tokens.fail(true);
    let error = things.insert(&row()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unauthenticated, 0));
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(error.to_string().contains(STORAGE), "{error}");
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "the tenant is\non holiday");
    assert!(source.downcast_ref::<azure_core::Error>().is_some());
    tokens.fail(false);
    things.insert(&row()).await.unwrap();
}

#[tokio::test]
async fn no_output_contains_a_token() {
    let tokens = FakeTokens::default();
    let failed = Step::Fail(Delivery::MaybeSent);
    let canned = Canned::new([inserted(), Step::status(403), failed]);
    let credential = EntraCredential::new(Arc::new(tokens));
    let service = TableServiceClient::new(CONTOSO, credential.clone()).unwrap();
    let service = service.transport(canned.clone());
    let things = service.dynamic_table("Things").unwrap();
    things.insert(&row()).await.unwrap();
    let mut shown = format!("{credential:?} {service:?} {things:?} {}", service.settings());
    shown.push_str(&things.insert(&row()).request_text().unwrap());
    for _ in 0..2 {
        let once = CallOptions::new().retry(NoRetry);
        let error = things.insert(&row()).with(&once).await.unwrap_err();
        shown.push_str(&format!("{error} {error:?}"));
    }
    shown.push_str(&format!("{:?}", canned.sent()));
    assert!(authorizations(&canned)[0].contains(TOKEN_MARKER), "it is sent");
    assert!(!shown.contains(TOKEN_MARKER), "{shown}");
    let shown = "EntraCredential { source: one, scope: of the service }";
    assert_eq!(service.settings().credential(), shown);
    assert!(service.to_connection_string().is_err());
}
