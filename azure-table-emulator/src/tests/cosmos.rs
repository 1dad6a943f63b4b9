//! Cosmos DB for Table, as far as it was seen.

mod errors;
mod names;
mod order;
mod values;

use azure_table_wire::codec::url;

use super::*;

const COSMOS: &str = "https://devstoreaccount1.table.cosmos.azure.com";
const MINIMAL: (&str, &str) = ("accept", "application/json;odata=minimalmetadata");

async fn ask(emulator: &Emulator, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response<Bytes> {
    let headers = [headers, &[MINIMAL]].concat();
    send_to(emulator, COSMOS, method, path, &headers, body).await
}

/// Creates an emulator with the table `Blogs` and a stopped clock.
async fn with_table() -> Emulator {
    let clock = EmulatorClock::fixed("2020-11-20T12:00:00.5Z".parse().unwrap());
    let emulator = Emulator::new().shared_clock(clock);
    let created = ask(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#).await;
    assert_eq!(created.status(), 201);
    emulator
}

/// Returns status, code and text of an error in the recorded form.
fn error(response: &Response<Bytes>) -> (u16, String, String) {
    let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    let error = &json["odata.error"];
    assert_eq!(error["message"]["lang"], "en-us");
    let message = error["message"]["value"].as_str().unwrap();
    let (text, id) = message.split_once("\nRequestID:").unwrap();
    assert_eq!(id, format!("{}\n", header(response, "x-ms-request-id")));
    // Errors of the request repeat the id.
    let (text, activity) = text.split_once("\r\nActivityId: ").unwrap_or((text, id));
    assert!(activity.starts_with(id.trim_end()), "{message}");
    (
        response.status().as_u16(),
        error["code"].as_str().unwrap().to_owned(),
        text.to_owned(),
    )
}

#[tokio::test]
async fn tables_are_created_and_listed_as_recorded() {
    let emulator = with_table().await;
    let created = ask(&emulator, "POST", "Tables", &[], r#"{"TableName":"blogs"}"#).await;
    assert_eq!(created.status(), 201, "names compare with case");
    assert_eq!(
        body(&created),
        format!(r#"{{"TableName":"blogs","odata.metadata":"{COSMOS}/$metadata#Tables/@Element"}}"#)
    );
    assert_eq!(
        header(&created, "etag"),
        "W/\"datetime'2020-11-20T12%3A00%3A00.5000000Z'\""
    );
    assert_eq!(header(&created, "location"), format!("{COSMOS}/Tables('blogs')"));
    assert_eq!(
        header(&created, "content-type"),
        "application/json;odata=minimalmetadata"
    );
    assert_eq!(
        header_names(&created),
        ["content-type", "date", "etag", "location", "x-ms-request-id"]
    );
    let list = ask(&emulator, "GET", "Tables", &[], "").await;
    assert_eq!(
        body(&list),
        format!(
            r#"{{"value":[{{"TableName":"Blogs"}},{{"TableName":"blogs"}}],"odata.metadata":"{COSMOS}/$metadata#Tables"}}"#
        )
    );
    let again = ask(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#).await;
    assert_eq!(
        error(&again),
        rejected(409, "TableAlreadyExists", "The specified table: [] already exists.")
    );
    assert_eq!(header(&again, "content-type"), "application/json;odata=minimalmetadata");
    let deleted = ask(&emulator, "DELETE", "Tables('blogs')", &[], "").await;
    assert_eq!(deleted.status(), 204);
    assert_eq!(header(&deleted, "content-type"), "application/json");
}

#[tokio::test]
async fn service_operations_are_not_supported() {
    let emulator = with_table().await;
    for (method, path) in [
        ("PUT", "?restype=service&comp=properties"),
        ("GET", "?restype=service&comp=stats"),
        ("GET", "Blogs?comp=acl"),
    ] {
        let response = ask(&emulator, method, path, &[("accept", "application/xml")], "").await;
        assert_eq!(
            error(&response),
            rejected(405, "MethodNotAllowed", "The requested operation is not supported.")
        );
        assert_eq!(header(&response, "content-type"), "application/json;odata=fullmetadata");
    }
    let options = ask(&emulator, "OPTIONS", "Blogs", &[("origin", "https://a.com")], "").await;
    assert_eq!(options.status(), 405);
}

#[tokio::test]
async fn entity_is_written_and_read_as_recorded() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r","b":1,"a":"x","When@odata.type":"Edm.DateTime","When":"1973-10-04T00:00:00Z"}"#;
    let inserted = ask(&emulator, "POST", "Blogs", &[], row).await;
    let time = "2020-11-20T12:00:00.5000000Z";
    let etag = format!(r#"W/\"datetime'{}'\""#, time.replace(':', "%3A"));
    assert_eq!(
        body(&inserted),
        format!(
            r#"{{"odata.metadata":"{COSMOS}/Blogs/$metadata#Blogs/@Element","odata.etag":"{etag}","PartitionKey":"p","RowKey":"r","b":1,"a":"x","When@odata.type":"Edm.DateTime","When":"1973-10-04T00:00:00.0000000Z","Timestamp":"{time}"}}"#
        )
    );
    let path = "Blogs(PartitionKey='p',RowKey='r')";
    for method in ["MERGE", "PATCH"] {
        let direct = ask(&emulator, method, path, &[], "{}").await;
        assert_eq!(error(&direct).1, "MethodNotAllowed", "{method}");
    }
    // In a batch MERGE is (recorded of the client for Java, 2024-11-04).
    let kind = [("content-type", "multipart/mixed; boundary=b")];
    for (method, line) in [("MERGE", "204 No Content"), ("PATCH", "405 Method Not Allowed")] {
        let change = format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             {method} {COSMOS}/{path} HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{{\"b\":1}}\r\n"
        );
        let batch = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{change}--c--\r\n--b--\r\n");
        let merged = ask(&emulator, "POST", "$batch", &kind, &batch).await;
        assert!(body(&merged).contains(&format!("HTTP/1.1 {line}")), "{}", body(&merged));
    }
    let tunnelled = [("x-http-method", "MERGE"), ("if-match", "*")];
    let merged = ask(&emulator, "POST", path, &tunnelled, r#"{"0c":true,"c":true}"#).await;
    assert_eq!(error(&merged).1, "PropertyNameInvalid");
    let merged = ask(&emulator, "POST", path, &tunnelled, r#"{"B":2,"c":true}"#).await;
    assert_eq!(merged.status(), 204);
    let read = ask(
        &emulator,
        "GET",
        path,
        &[("accept", "application/json;odata=nometadata")],
        "",
    )
    .await;
    assert!(body(&read).contains(r#""b":1,"a":"x","When":"1973-10-04T00:00:00.0000000Z","B":2,"c":true,"Timestamp""#));
    let stale = ask(&emulator, "DELETE", path, &[("if-match", "W/\"x\"")], "").await;
    let text = "The update condition specified in the request was not satisfied.";
    assert_eq!(error(&stale), rejected(412, "UpdateConditionNotSatisfied", text));
    let quiet = r#"{"PartitionKey":"p","RowKey":"s"}"#;
    let quiet = ask(&emulator, "POST", "Blogs", &[("prefer", "return-no-content")], quiet).await;
    assert_eq!((quiet.status().as_u16(), header(&quiet, "dataserviceid")), (204, ""));
    let other_case = ask(&emulator, "GET", "blogs", &[], "").await;
    assert_eq!(error(&other_case).1, "ResourceNotFound");
}

#[tokio::test]
async fn keys_names_and_sizes_of_cosmos_db_are_accepted() {
    let emulator = with_table().await;
    let empty = "PartitionKey/RowKey cannot be empty";
    for (row, status, code, text) in [
        (
            r#"{"PartitionKey":"","RowKey":"r"}"#.to_owned(),
            400,
            "PropertiesNeedValue",
            empty,
        ),
        (r#"{"PartitionKey":"p"}"#.into(), 400, "PropertiesNeedValue", empty),
        (
            r#"{"PartitionKey":"p","RowKey":"r","id":1}"#.into(),
            400,
            "PropertyNameInvalid",
            "",
        ),
        (
            r#"{"PartitionKey":"p","RowKey":"r","ResourceId":1}"#.into(),
            400,
            "PropertyNameInvalid",
            "",
        ),
        (
            r#"{"PartitionKey":"p","RowKey":"r","L@odata.type":"Edm.Int64","L":"9223372036854775808"}"#.into(),
            400,
            "InvalidInput",
            "One of the input values is invalid.",
        ),
        (
            r#"{"PartitionKey":"p","RowKey":"r","A":9223372036854775808000}"#.into(),
            400,
            "InvalidInput",
            "One of the input values is invalid.",
        ),
        (
            format!(r#"{{"PartitionKey":"p","RowKey":"{}"}}"#, "é".repeat(128)),
            400,
            "InvalidInput",
            "",
        ),
    ] {
        let (found, found_code, found_text) = error(&ask(&emulator, "POST", "Blogs", &[], &row).await);
        assert_eq!((found, &*found_code), (status, code), "{row:.80}");
        assert!(found_text.contains(text), "{found_text}");
    }
    for row in [
        format!(r#"{{"PartitionKey":"p","RowKey":"{}"}}"#, "x".repeat(255)),
        r#"{"PartitionKey":"p","RowKey":"r","Id":1}"#.to_owned(),
        format!(
            r#"{{"PartitionKey":"p","RowKey":"large","S":"{}"}}"#,
            "x".repeat(600_000)
        ),
    ] {
        assert_eq!(
            ask(&emulator, "POST", "Blogs", &[], &row).await.status(),
            201,
            "{row:.60}"
        );
    }
    let page = ask(&emulator, "GET", "Blogs?$top=1000000&$select=RowKey", &[], "").await;
    assert_eq!(page.status(), 200);
    let filter = ask(&emulator, "GET", "Blogs?$filter=aaa%20bbb%20ccc", &[], "").await;
    assert_eq!(error(&filter), rejected(400, "InvalidInput", "Request url is invalid."));
    assert_eq!(
        header(&filter, "content-type"),
        "application/json;odata=minimalmetadata"
    );
    let no_version = [("x-ms-version", "2001-01-01")];
    assert_eq!(ask(&emulator, "GET", "Blogs", &no_version, "").await.status(), 200);
}

#[tokio::test]
async fn batch_responses_are_numbered_and_batches_limited_to_2_mb() {
    let emulator = with_table().await;
    let batch = |keys: &[&str]| {
        let parts: String = keys
            .iter()
            .map(|key| {
                format!(
                    "--c\r\nContent-Type: application/http\r\n\r\nPOST {COSMOS}/Blogs HTTP/1.1\r\n\
                     Content-Type: application/json\r\nPrefer: return-no-content\r\n\r\n\
                     {{\"PartitionKey\":\"p\",\"RowKey\":\"{key}\"}}\r\n"
                )
            })
            .collect();
        format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n")
    };
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    let good = ask(&emulator, "POST", "$batch", &multipart, &batch(&["1", "2"])).await;
    assert_eq!(good.status(), 202);
    let text = body(&good);
    assert!(
        text.contains("Content-ID: 1\r\n") && text.contains("Content-ID: 2\r\n"),
        "{text}"
    );
    assert!(!text.contains("nosniff") && !text.contains("DataService"), "{text}");
    let failed = ask(&emulator, "POST", "$batch", &multipart, &batch(&["1"])).await;
    assert!(
        body(&failed).contains(r#""value":"0:The specified entity already exists.\n\nRequestID:"#),
        "{}",
        body(&failed)
    );
    let large = batch(&[&"x".repeat(2 << 20)]);
    let large = ask(&emulator, "POST", "$batch", &multipart, &large).await;
    assert_eq!(error(&large).0, 413);
}

#[tokio::test]
async fn request_without_token_is_challenged_for_cosmos_db() {
    let version = [("x-ms-version", "2020-12-06")];
    let request = unsigned_at(COSMOS, "GET", "Tables", &version, "");
    let response = Emulator::new().token("good").send(request).await.unwrap();
    assert_eq!(error(&response).0, 401);
    let challenge = header(&response, "www-authenticate");
    assert!(
        challenge.ends_with("/oauth2/authorize resource_id=https://cosmos.azure.com"),
        "{challenge}"
    );
    let known = ask(&Emulator::new(), "GET", "Tables", &[], "").await;
    assert_eq!(header(&known, "www-authenticate"), "");
}

#[tokio::test]
async fn emulator_can_be_cosmos_db_at_any_url() {
    let emulator = Emulator::cosmos();
    let response = send(&emulator, "GET", "?restype=service&comp=properties", &[], "").await;
    assert_eq!(error(&response).0, 405);
    let storage = send(&Emulator::new(), "GET", "?restype=service&comp=properties", &[], "").await;
    assert_eq!(storage.status(), 200);
    let older = "https://devstoreaccount1.table.cosmosdb.azure.com";
    let response = send_to(&Emulator::new(), older, "GET", "?restype=service&comp=stats", &[], "").await;
    assert_eq!(error(&response).0, 405);
}

/// `query_tables_with_marker` (2026): four tables, two per page.
#[tokio::test]
async fn last_full_page_of_tables_has_no_continuation_without_a_filter() {
    let emulator = with_table().await;
    for name in ["B2", "B3", "B4"] {
        let table = format!("{{\"TableName\":\"{name}\"}}");
        assert_eq!(ask(&emulator, "POST", "Tables", &[], &table).await.status(), 201);
    }
    for (query, is_followed) in [("$top=2", false), ("$top=2&$filter=TableName%20ge%20'B'", true)] {
        let first = ask(&emulator, "GET", &format!("Tables?{query}"), &[], "").await;
        let next = url::encode(header(&first, "x-ms-continuation-nexttablename")).to_string();
        assert!(!next.is_empty());
        let last = ask(
            &emulator,
            "GET",
            &format!("Tables?{query}&NextTableName={next}"),
            &[],
            "",
        )
        .await;
        let json: serde_json::Value = serde_json::from_slice(last.body()).unwrap();
        assert_eq!(json["value"].as_array().unwrap().len(), 2);
        let next = header(&last, "x-ms-continuation-nexttablename");
        assert_eq!(!next.is_empty(), is_followed, "{query}");
    }
}
