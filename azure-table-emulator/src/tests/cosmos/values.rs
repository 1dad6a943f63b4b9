//! Keys, names and values of properties. Recordings of azure-data-tables (2024 and 2026), named at each test.

use super::*;

const VALUE: &str = "One of the input values is invalid.";
const ENTITY: &str = "Blogs(PartitionKey='p',RowKey='r')";
const NONE: (&str, &str) = ("accept", "application/json;odata=nometadata");

async fn read(emulator: &Emulator) -> String {
    let response = send_to(emulator, COSMOS, "GET", ENTITY, &[NONE], "").await;
    assert_eq!(response.status(), 200, "{}", body(&response));
    body(&response).to_owned()
}

/// `etag_duplicate_field`.
#[tokio::test]
async fn etag_is_a_property_and_hides_another_case() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r","ETag":"foo","etag":"bar","Etag":"baz"}"#;
    assert_eq!(ask(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    let stored = read(&emulator).await;
    assert!(
        stored.contains(r#""etag":"bar""#) && !stored.contains("baz"),
        "{stored}"
    );
    let merge = [("x-http-method", "MERGE"), ("if-match", "*")];
    let merged = ask(&emulator, "POST", ENTITY, &merge, r#"{"etag":"new","Etag":"baz"}"#).await;
    assert_eq!(merged.status(), 204);
    let stored = read(&emulator).await;
    assert!(
        stored.contains(r#""etag":"new""#) && !stored.contains("baz"),
        "{stored}"
    );
}

/// `entity_with_edmtypes` (2024).
#[tokio::test]
async fn number_that_is_annotated_as_text_stays_a_number() {
    let emulator = with_table().await;
    let merge = [("x-http-method", "MERGE")];
    let text = r#"{"text@odata.type":"Edm.String","text":42}"#;
    assert_eq!(ask(&emulator, "POST", ENTITY, &merge, text).await.status(), 204);
    let stored = read(&emulator).await;
    assert!(stored.contains(r#""text":42,"#), "{stored}");
}

/// `encoder_create_entity_basic`, `…_complex_keys`, `…_atypical_values`, `encoder_upsert_entity_complex_keys`,
/// `encoder_update_entity_complex_keys`.
#[tokio::test]
async fn keys_are_text_in_every_write() {
    let emulator = with_table().await;
    let number = r#"{"PartitionKey":"p","RowKey":1}"#.to_owned();
    let typed = |edm_type: &str, value: &str| {
        format!(r#"{{"PartitionKey":"p","RowKey@odata.type":"Edm.{edm_type}","RowKey":{value}}}"#)
    };
    let date = typed("DateTime", r#""2021-01-01T00:00:00Z""#);
    let guid = typed("Guid", r#""c9da6455-213d-42c9-9a79-3e9149a57833""#);
    let merge = [("x-http-method", "MERGE")];
    let replace = [("if-match", "*")];
    for row in [&number, &date, &guid, &typed("Double", "1.5")] {
        let inserted = ask(&emulator, "POST", "Blogs", &[], row).await;
        assert_eq!(error(&inserted), rejected(400, "InvalidInput", VALUE), "{row}");
    }
    for row in [&date, &guid, &typed("Binary", r#""AQ==""#)] {
        for (method, headers) in [("POST", &merge[..]), ("PUT", &[]), ("PUT", &replace)] {
            let response = ask(&emulator, method, ENTITY, headers, row).await;
            assert_eq!(error(&response), rejected(400, "InvalidInput", VALUE), "{method} {row}");
            assert_eq!(header(&response, "content-type"), "application/json;odata=fullmetadata");
        }
    }
}

/// `encoder_create_entity_atypical_values`.
#[tokio::test]
async fn error_for_a_name_repeats_it() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r","123":1}"#;
    let text = "The property name '123' is invalid. See \
                https://docs.microsoft.com/en-us/rest/api/storageservices/Understanding-the-Table-Service-Data-Model";
    let response = ask(&emulator, "POST", "Blogs", &[], row).await;
    assert_eq!(error(&response), rejected(400, "PropertyNameInvalid", text));
}

/// `get_entity_with_select`, `query_entities_with_select`.
#[tokio::test]
async fn selection_is_not_part_of_the_metadata_url() {
    let emulator = with_table().await;
    ask(
        &emulator,
        "POST",
        "Blogs",
        &[],
        r#"{"PartitionKey":"p","RowKey":"r","a":1}"#,
    )
    .await;
    let one = ask(&emulator, "GET", &format!("{ENTITY}?$select=a"), &[], "").await;
    assert!(
        body(&one).contains(&format!(r#""{COSMOS}/Blogs/$metadata#Blogs/@Element","#)),
        "{}",
        body(&one)
    );
    let page = ask(&emulator, "GET", "Blogs?$select=a", &[], "").await;
    assert!(
        body(&page).ends_with(&format!(r#""odata.metadata":"{COSMOS}/$metadata#Blogs"}}"#)),
        "{}",
        body(&page)
    );
}

/// Recorded of azure-data-tables: three exchanges of April 2021.
#[tokio::test]
async fn binary_constant_equals_text() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"foo","RowKey":"r","Text":"foo"}"#;
    assert_eq!(ask(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    for (filter, count) in [
        ("PartitionKey%20eq%20X'666f6f'", 1),
        ("RowKey%20eq%20'r'%20and%20(Text%20eq%20X'666f6f')", 1),
        ("Text%20eq%20X'666f'", 0),
        ("Text%20eq%20X'ff'", 0),
    ] {
        let found = ask(&emulator, "GET", &format!("Blogs?$filter={filter}"), &[], "").await;
        let json: serde_json::Value = serde_json::from_slice(found.body()).unwrap();
        assert_eq!(json["value"].as_array().unwrap().len(), count, "{filter}");
    }
}

/// Recorded of azure-data-tables, `query_entities_with_select` of September 2020: names keep their space and order.
#[tokio::test]
async fn selection_has_the_order_of_its_names() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r","age@odata.type":"Edm.Int64","age":"39","sex":"male"}"#;
    assert_eq!(ask(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    for (select, expected) in [
        ("age,%20sex", r#""age@odata.type":"Edm.Int64","age":"39"," sex":null}"#),
        (
            "sex,age,sex",
            r#""sex":"male","age@odata.type":"Edm.Int64","age":"39"}"#,
        ),
    ] {
        let selected = ask(&emulator, "GET", &format!("Blogs?$select={select}"), &[], "").await;
        assert!(body(&selected).contains(expected), "{}", body(&selected));
    }
}

/// Recorded of Go (2021): `Accept` alone decides.
#[tokio::test]
async fn format_option_is_ignored() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(ask(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    for format in ["application/json;odata=fullmetadata", "atom"] {
        let read = ask(&emulator, "GET", &format!("{ENTITY}?$format={format}"), &[], "").await;
        assert_eq!(read.status(), 200, "{format}");
        assert_eq!(header(&read, "content-type"), "application/json;odata=minimalmetadata");
        assert!(!body(&read).contains("odata.type"), "{}", body(&read));
    }
}

/// A merge adds `Etag` beside `etag`, or the other way around.
#[tokio::test]
async fn snapshot_and_lines_keep_etag_beside_its_other_case() {
    let emulator = with_table().await;
    let row = "Blogs(PartitionKey='p',RowKey='r')";
    for body in [r#"{"etag":"a"}"#, r#"{"Etag":"b"}"#] {
        assert_eq!(ask(&emulator, "PUT", row, &[], body).await.status(), 204);
        let merge = [("x-http-method", "MERGE"), ("if-match", "*")];
        let other = if body.contains("etag") {
            r#"{"Etag":"c"}"#
        } else {
            r#"{"etag":"d"}"#
        };
        assert_eq!(ask(&emulator, "POST", row, &merge, other).await.status(), 204);
        let text = emulator.snapshot().to_string();
        assert!(text.contains("\"etag\":") && text.contains("\"Etag\":"), "{text}");
        assert_eq!(text.parse::<EmulatorSnapshot>().unwrap().to_string(), text);
        let lines = emulator.table_lines(DEVELOPMENT_ACCOUNT, "Blogs", 1).unwrap();
        emulator.seed_lines(DEVELOPMENT_ACCOUNT, "Blogs", &lines).unwrap();
        let properties = |lines: &str| lines.split_once("Z\"").unwrap().1.to_owned();
        let after = emulator.table_lines(DEVELOPMENT_ACCOUNT, "Blogs", 1).unwrap();
        assert_eq!(properties(&after), properties(&lines));
    }
}

/// data-migration-desktop-tool issue 239: 0 rows for each filter on Timestamp, on a live account.
#[tokio::test]
async fn filter_on_timestamp_finds_nothing() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(ask(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    for (filter, count) in [
        ("Timestamp%20ge%20datetime'2000-01-01T00:00:00Z'", 0),
        (
            "PartitionKey%20eq%20'p'%20and%20Timestamp%20lt%20datetime'2900-01-01T00:00:00Z'",
            0,
        ),
        ("PartitionKey%20eq%20'p'", 1),
    ] {
        let found = ask(&emulator, "GET", &format!("Blogs?$filter={filter}"), &[], "").await;
        let json: serde_json::Value = serde_json::from_slice(found.body()).unwrap();
        assert_eq!(json["value"].as_array().unwrap().len(), count, "{filter}");
    }
}
