//! Signatures that name a stored policy.

use super::*;

async fn with_policy(fields: &str) -> Emulator {
    let emulator = with_rows().await;
    set(&emulator, fields).await;
    emulator
}

async fn set(emulator: &Emulator, fields: &str) {
    let body = format!(
        "<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>{fields}</AccessPolicy></SignedIdentifier></SignedIdentifiers>"
    );
    assert_eq!(send(emulator, "PUT", "Blogs?comp=acl", &[], &body).await.status(), 204);
}

async fn read(emulator: &Emulator, changes: &[(&str, &str)]) -> (u16, String) {
    let token = token(TABLE, changes);
    let response = try_with(emulator, "GET", "Blogs", "", &token).await;
    match response.status().as_u16() {
        200 => (200, String::new()),
        _ => {
            let (status, code, _) = error(&response);
            (status, code)
        }
    }
}

const FULL: &str = "<Expiry>2999-01-01T00:00:00.5000000Z</Expiry><Permission>r</Permission>";
const NAMED: &[(&str, &str)] = &[("si", "readers"), ("sp", ""), ("se", "")];

#[tokio::test]
async fn policy_supplies_the_fields_that_its_signature_omits() {
    let all_there = (200, String::new());
    let failed = (403, "AuthenticationFailed".to_owned());
    let twice = (400, "InvalidQueryParameterValue".to_owned());
    let emulator = with_policy(FULL).await;
    assert_eq!(read(&emulator, NAMED).await, all_there);
    for (changes, expected) in [
        (&[("si", "readers"), ("se", "")][..], &twice),
        (&[("si", "readers"), ("sp", "")], &twice),
        (&[("si", "Readers"), ("sp", ""), ("se", "")], &failed),
        (
            &[("si", "readers"), ("sp", ""), ("se", ""), ("st", "2020-01-01")],
            &all_there,
        ),
        (
            &[("si", "readers"), ("sp", ""), ("se", ""), ("st", "2998-01-01")],
            &failed,
        ),
        (&[("si", "readers"), ("sp", ""), ("se", ""), ("st", "x")], &failed),
        // Recorded of Python (2021): the time is read first.
        (&[("si", "readers"), ("se", "2999-01-01T00:00:00.123456Z")], &failed),
    ] {
        assert_eq!(read(&emulator, changes).await, *expected, "{changes:?}");
    }
    let token = token(TABLE, NAMED);
    let response = try_with(
        &emulator,
        "POST",
        "Blogs",
        r#"{"PartitionKey":"x","RowKey":"y"}"#,
        &token,
    )
    .await;
    assert_eq!(
        error(&response).1,
        "AuthorizationPermissionMismatch",
        "the policy's letters count"
    );

    let half = with_policy("<Permission>r</Permission>").await;
    assert_eq!(read(&half, &[("si", "readers"), ("sp", "")]).await, all_there);
    assert_eq!(read(&half, NAMED).await, failed, "the expiry is nowhere");
    let none = with_policy("").await;
    assert_eq!(read(&none, &[("si", "readers")]).await, all_there);
    let late = with_policy("<Start>2998-01-01</Start><Expiry>2999-01-01</Expiry><Permission>r</Permission>").await;
    assert_eq!(read(&late, NAMED).await, failed);
}

#[tokio::test]
async fn changed_policy_changes_its_signatures_immediately() {
    let emulator = with_policy(FULL).await;
    assert_eq!(read(&emulator, NAMED).await.0, 200);
    set(&emulator, "<Expiry>2020-01-01</Expiry><Permission>r</Permission>").await;
    assert_eq!(read(&emulator, NAMED).await.0, 403);
    set(&emulator, FULL).await;
    assert_eq!(read(&emulator, NAMED).await.0, 200);
    assert_eq!(send(&emulator, "PUT", "Blogs?comp=acl", &[], "").await.status(), 204);
    assert_eq!(read(&emulator, NAMED).await, (403, "AuthenticationFailed".into()));
    set(&emulator, FULL).await;
    assert_eq!(
        send(&emulator, "DELETE", "Tables('Blogs')", &[], "").await.status(),
        204
    );
    assert_eq!(read(&emulator, NAMED).await, (403, "AuthenticationFailed".into()));
}

#[tokio::test(start_paused = true)]
async fn policy_is_checked_when_the_request_arrives() {
    let emulator = with_policy(FULL).await;
    let modelled = emulator.clone().service_model(ServiceModel::azure_storage());
    let mut waiting = std::pin::pin!(read(&modelled, NAMED));
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    set(&emulator, "").await;
    assert_eq!(read(&emulator, NAMED).await.0, 403);
    assert_eq!(waiting.await, (200, String::new()));
}
