//! The secondary: the same tables, read-only, with a lag.

use super::*;

const SECONDARY: &str = "http://127.0.0.1:10002/devstoreaccount1-secondary";

async fn rows(emulator: &Emulator) -> (u16, String) {
    let response = send_to(emulator, SECONDARY, "GET", "Blogs()?$select=N", &[], "").await;
    (response.status().as_u16(), body(&response).to_owned())
}

fn seen(rows: &str) -> (u16, String) {
    (200, format!(r#"{{"value":[{rows}]}}"#))
}

#[tokio::test]
async fn without_lag_both_locations_show_the_same_state() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r","N":1}"#;
    assert_eq!(send(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    assert_eq!(rows(&emulator).await, seen(r#"{"N":1}"#));
    let write = send_to(&emulator, SECONDARY, "POST", "Blogs", &[], row).await;
    assert_eq!(
        error(&write),
        rejected(
            403,
            "InsufficientAccountPermissions",
            "Write operations are not allowed."
        )
    );
    // An ordinary error response (recording `table_client_location_mode` of azure-data-tables, 2024).
    for (name, value) in [
        ("cache-control", "no-cache"),
        ("x-content-type-options", "nosniff"),
        ("x-ms-version", "2019-02-02"),
        ("x-ms-error-code", ""),
    ] {
        assert_eq!(header(&write, name), value);
    }
}

#[tokio::test]
async fn secondary_shows_the_state_of_its_lag_ago() {
    let clock = EmulatorClock::fixed(DateTime::now());
    let emulator = with_table().await.shared_clock(clock.clone());
    let address = "Blogs(PartitionKey='p',RowKey='r')";
    let write = |n: u32| {
        let (emulator, body) = (emulator.clone(), format!(r#"{{"N":{n}}}"#));
        async move { assert_eq!(send(&emulator, "PUT", address, &[], &body).await.status(), 204) }
    };
    let second = Duration::from_secs(1);
    write(1).await;
    let emulator = emulator.clone().secondary_lag(10 * second);
    assert_eq!(rows(&emulator).await, seen(r#"{"N":1}"#), "what was before is in both");
    write(2).await;
    clock.advance(5 * second);
    write(3).await;
    assert_eq!(
        send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Later"}"#)
            .await
            .status(),
        201
    );
    assert_eq!(rows(&emulator).await, seen(r#"{"N":1}"#));
    clock.advance(5 * second);
    assert_eq!(rows(&emulator).await, seen(r#"{"N":2}"#));
    let later = send_to(&emulator, SECONDARY, "GET", "Later", &[], "").await;
    assert_eq!(error(&later).1, "TableNotFound");
    clock.advance(5 * second);
    assert_eq!(rows(&emulator).await, seen(r#"{"N":3}"#));
    let later = send_to(&emulator, SECONDARY, "GET", "Later", &[], "").await;
    assert_eq!(later.status(), 200);

    let any = [("if-match", "*")];
    assert_eq!(send(&emulator, "DELETE", address, &any, "").await.status(), 204);
    assert_eq!(
        send(&emulator, "DELETE", "Tables('Later')", &[], "").await.status(),
        204
    );
    let failed = send(&emulator, "DELETE", address, &any, "").await;
    assert_eq!(failed.status(), 404, "the first region knows at once");
    assert_eq!(rows(&emulator).await, seen(r#"{"N":3}"#));
    clock.advance(10 * second);
    assert_eq!(rows(&emulator).await, seen(""));
    let later = send_to(&emulator, SECONDARY, "GET", "Later", &[], "").await;
    assert_eq!(error(&later).1, "TableNotFound");
}

#[tokio::test]
async fn settings_lag_in_the_secondary_too() {
    let clock = EmulatorClock::fixed(DateTime::now());
    let emulator = with_table()
        .await
        .shared_clock(clock.clone())
        .secondary_lag(Duration::from_secs(60));
    let policies = "<SignedIdentifiers><SignedIdentifier><Id>x</Id></SignedIdentifier></SignedIdentifiers>";
    let set = send(&emulator, "PUT", "Blogs?comp=acl", &[], policies).await;
    assert_eq!(set.status(), 204);
    let properties = "<StorageServiceProperties><Logging><Write>true</Write></Logging></StorageServiceProperties>";
    let path = "?restype=service&comp=properties";
    assert_eq!(send(&emulator, "PUT", path, &[], properties).await.status(), 202);
    for is_there in [false, true] {
        let acl = send_to(&emulator, SECONDARY, "GET", "Blogs?comp=acl", &[], "").await;
        assert_eq!(body(&acl).contains("<Id>x</Id>"), is_there);
        let read = send_to(&emulator, SECONDARY, "GET", path, &[], "").await;
        assert_eq!(body(&read).contains("<Write>true</Write>"), is_there);
        clock.advance(Duration::from_secs(60));
    }
}

#[tokio::test]
async fn path_of_the_secondary_may_be_signed_with_or_without_its_suffix() {
    let emulator = with_table().await;
    for (signed, status) in [
        (SECONDARY.to_owned(), 200),
        (BASE.to_owned(), 200),
        (format!("{BASE}-other"), 403),
    ] {
        let mut request = unsigned_at(&signed, "GET", "Blogs", &[], "");
        sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
        *request.uri_mut() = format!("{SECONDARY}/Blogs").parse().unwrap();
        assert_eq!(emulator.send(request).await.unwrap().status(), status, "{signed}");
    }
    let mut request = unsigned_at(SECONDARY, "GET", "Blogs", &[], "");
    sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
    *request.uri_mut() = format!("{BASE}/Blogs").parse().unwrap();
    assert_eq!(emulator.send(request).await.unwrap().status(), 403, "not the other way");
    let host = "http://devstoreaccount1-secondary.table.localhost";
    assert_eq!(send_to(&emulator, host, "GET", "Blogs", &[], "").await.status(), 200);
}

/// The tests of azure-storage-net (2018).
#[tokio::test]
async fn query_in_a_batch_is_accepted_by_the_secondary() {
    let emulator = with_table().await;
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    let part = "Content-Type: application/http\n\nGET /Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\nAccept: application/json\n\n";
    let query = format!("--b\n{part}\n--b--\n");
    let response = send_to(&emulator, SECONDARY, "POST", "$batch", &multipart, &query).await;
    assert_eq!(response.status(), 202);
    assert!(body(&response).contains("HTTP/1.1 404"), "{}", body(&response));
    let change = "--c\nContent-Type: application/http\n\nPUT /Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\n\n{}\n--c--";
    let changes = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{change}\n--b--\n");
    let response = send_to(&emulator, SECONDARY, "POST", "$batch", &multipart, &changes).await;
    assert_eq!(error(&response).1, "InsufficientAccountPermissions");
}
