//! Errors and the parts of batches. Recordings of azure-data-tables (2023 to 2026), named at each test.

use azure_table_wire::codec::multipart::{boundary, http_message, parts};

use super::*;

const FULL: &str = "application/json;odata=fullmetadata";
const MINIMAL_TYPE: &str = "application/json;odata=minimalmetadata";
const NOT_FOUND: &str = "The specified resource does not exist.";

/// `table_name_errors_bad_length`, `encoder_delete_entity_complex_keys`, `encoder_delete_entity_tuples`.
#[tokio::test]
async fn missing_table_is_reported_as_a_missing_resource() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let entity = "None(PartitionKey='p',RowKey='r')";
    for (method, path, headers) in [
        ("POST", "None", &[][..]),
        ("PUT", entity, &[]),
        ("DELETE", entity, &[("if-match", "*")]),
        ("GET", entity, &[]),
        ("GET", "None", &[]),
    ] {
        let response = ask(&emulator, method, path, headers, row).await;
        assert_eq!(
            error(&response),
            rejected(404, "ResourceNotFound", NOT_FOUND),
            "{method} {path}"
        );
    }
}

/// `get_entity_not_existing`, `insert_entity_conflict`, `update_entity_not_existing`, `table_name_errors_bad_length`.
#[tokio::test]
async fn errors_of_unconditional_requests_have_the_requested_metadata() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    ask(&emulator, "POST", "Blogs", &[], row).await;
    let entity = "Blogs(PartitionKey='p',RowKey='none')";
    let stored = "Blogs(PartitionKey='p',RowKey='r')";
    let any = [("if-match", "*")];
    let stale = [("if-match", "W/\"x\"")];
    let merge = [("x-http-method", "MERGE"), ("if-match", "*")];
    for (method, path, headers, status, repeats) in [
        ("GET", entity, &[][..], 404, true),
        ("POST", "Blogs", &[], 409, true),
        ("POST", "None", &[], 404, true),
        ("PUT", "None(PartitionKey='p',RowKey='r')", &[], 404, true),
        ("DELETE", entity, &any, 404, false),
        ("PUT", entity, &any, 404, false),
        ("POST", entity, &merge, 404, false),
        ("PUT", stored, &stale, 412, false),
        ("POST", "Blogs?$filter=x", &[], 409, true),
    ] {
        for (accept, media_type) in [
            ("application/json;odata=minimalmetadata", MINIMAL_TYPE),
            ("application/json", "application/json"),
        ] {
            let headers = [headers, &[("accept", accept)]].concat();
            let response = send_to(&emulator, COSMOS, method, path, &headers, row).await;
            assert_eq!(response.status(), status, "{method} {path}");
            let expected = if repeats { media_type } else { FULL };
            assert_eq!(header(&response, "content-type"), expected, "{method} {path} {accept}");
        }
    }
    let invalid = ask(&emulator, "POST", "Blogs", &[], "{}").await;
    assert_eq!(header(&invalid, "content-type"), FULL);
}

fn batch(requests: &[&str]) -> String {
    let parts: String = requests
        .iter()
        .enumerate()
        .map(|(n, request)| {
            let head = format!("--c\r\nContent-Type: application/http\r\nContent-ID: {n}\r\n\r\n");
            head + &request.replace('\n', "\r\n") + "\r\n"
        })
        .collect();
    format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n")
}

/// Returns the header names and values of each part, and its body.
async fn run(emulator: &Emulator, body: &str) -> Vec<(Vec<String>, String)> {
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    let response = ask(emulator, "POST", "$batch", &multipart, body).await;
    assert_eq!(response.status(), 202, "{}", super::body(&response));
    let outer = parts(
        response.body(),
        boundary(header(&response, "content-type")).unwrap(),
        false,
    )
    .unwrap();
    let inner = parts(
        outer[0].body,
        boundary(outer[0].header("content-type").unwrap()).unwrap(),
        false,
    )
    .unwrap();
    let read = inner.iter().map(|part| {
        let message = http_message(part.body).unwrap();
        let headers = message.headers().map(|(name, value)| match name {
            "ETag" | "Location" => name.to_owned(),
            _ => format!("{name}: {value}"),
        });
        (headers.collect(), String::from_utf8(message.body.to_vec()).unwrap())
    });
    read.collect()
}

/// `batch_all_operations_together`, `batch_insert`, `encoder_batch`: numbered by the service, from 1.
#[tokio::test]
async fn parts_of_a_batch_have_their_own_numbers_and_the_recorded_headers() {
    let emulator = with_table().await;
    for key in ["update", "delete"] {
        let row = format!(r#"{{"PartitionKey":"p","RowKey":"{key}"}}"#);
        assert_eq!(ask(&emulator, "POST", "Blogs", &[], &row).await.status(), 201);
    }
    let responses = run(
        &emulator,
        &batch(&[
            "POST /Blogs HTTP/1.1\nAccept: application/json;odata=minimalmetadata\n\n{\"PartitionKey\":\"p\",\"RowKey\":\"insert\"}",
            "DELETE /Blogs(PartitionKey='p',RowKey='delete') HTTP/1.1\nIf-Match: *\n",
            "PUT /Blogs(PartitionKey='p',RowKey='update') HTTP/1.1\nIf-Match: *\n\n{}",
            "PUT /Blogs(PartitionKey='p',RowKey='upsert') HTTP/1.1\n\n{}",
        ]),
    )
    .await;
    let headers: Vec<String> = responses.iter().map(|(headers, _)| headers.join(", ")).collect();
    assert_eq!(
        headers,
        [
            "ETag, Content-Type: application/json;odata=minimalmetadata, Location, Content-ID: 1",
            "Content-ID: 2",
            "ETag, Content-ID: 3",
            "ETag, Content-Type: application/json, Content-ID: 4",
        ]
    );
}

/// `new_non_existent_table`, `new_delete_nonexistent_entity`, `batch_update_if_doesnt_match`.
#[tokio::test]
async fn rejected_part_has_no_number() {
    let emulator = with_table().await;
    let delete = |table: &str| format!("DELETE /{table}(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: *\n");
    for (table, text) in [
        ("None", format!("{NOT_FOUND}\\nRequestID:")),
        ("Blogs", format!("0:{NOT_FOUND}\\n\\nRequestID:")),
    ] {
        let responses = run(&emulator, &batch(&[&delete(table)])).await;
        let [(headers, body)] = responses.as_slice() else {
            panic!("{responses:?}")
        };
        assert_eq!(headers, &["Content-Type: application/json;odata=fullmetadata"]);
        assert!(body.contains(&format!(r#""value":"{text}"#)), "{body}");
        assert!(
            body.contains(r#""code":"ResourceNotFound""#) && body.ends_with("}}}"),
            "{body}"
        );
    }
}

/// `empty_batch` (2023).
#[tokio::test]
async fn empty_change_set_is_malformed() {
    let emulator = with_table().await;
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    for inner in ["--c\r\n\r\n--c--", "--c--"] {
        let text = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{inner}\r\n--b--\r\n");
        let response = ask(&emulator, "POST", "$batch", &multipart, &text).await;
        let text = "The batch request body is malformed. Please see \
                    https://docs.microsoft.com/en-us/rest/api/storageservices/performing-entity-group-transactions";
        assert_eq!(error(&response), rejected(400, "InvalidInput", text));
    }
}

/// `table_client_location_mode`.
#[tokio::test]
async fn writes_to_the_url_of_the_secondary_are_accepted() {
    let secondary = COSMOS.replace(".table.", "-secondary.table.");
    let emulator = Emulator::new().secondary_lag(Duration::from_secs(60));
    let send = async |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        send_to(
            &emulator,
            &secondary,
            method,
            path,
            &[headers, &[MINIMAL]].concat(),
            body,
        )
        .await
    };
    let created = send("POST", "Tables", &[], r#"{"TableName":"Blogs"}"#).await;
    assert_eq!(created.status(), 201);
    assert_eq!(header(&created, "location"), format!("{secondary}/Tables('Blogs')"));
    let inserted = send("POST", "Blogs", &[], r#"{"PartitionKey":"p","RowKey":"r"}"#).await;
    assert_eq!(inserted.status(), 201, "{}", body(&inserted));
    assert!(header(&inserted, "location").starts_with(&format!("{secondary}/Blogs(")));
    assert!(body(&inserted).starts_with(&format!(r#"{{"odata.metadata":"{secondary}/Blogs/$metadata#"#)));
    let entity = "Blogs(PartitionKey='p',RowKey='r')";
    assert_eq!(send("PUT", entity, &[], "{}").await.status(), 204);
    assert_eq!(send("DELETE", entity, &[("if-match", "*")], "").await.status(), 204);
    assert_eq!(send("DELETE", "Tables('Blogs')", &[], "").await.status(), 204);
}

/// Recordings of azure-data-tables (2021); azure-sdk-for-net issues 13554 and 26960.
#[tokio::test]
async fn throttled_request_names_no_time_to_wait() {
    let model = ServiceModel::new().partition_entities_per_second(1);
    let emulator = with_table().await.service_model(model);
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(ask(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    let throttled = ask(&emulator, "POST", "Blogs", &[], row).await;
    let text = r#"Message: {"Errors":["Request rate is large. More Request Units may be needed, so no changes were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429"]}"#;
    assert_eq!(error(&throttled), rejected(429, "TooManyRequests", text));
    assert_eq!(header_names(&throttled), ["content-type", "date", "x-ms-request-id"]);
    let insert = format!("POST /Blogs HTTP/1.1\nAccept: application/json;odata=minimalmetadata\n\n{row}");
    let responses = run(&emulator, &batch(&[&insert])).await;
    let [(headers, body)] = responses.as_slice() else {
        panic!("{responses:?}")
    };
    assert_eq!(headers, &["Content-Type: application/json;odata=fullmetadata"]);
    let json: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(json["odata.error"]["code"], "TooManyRequests");
    let message = json["odata.error"]["message"]["value"].as_str().unwrap();
    let begin = format!("0:{text}\r\nActivityId: ");
    assert!(message.starts_with(&begin), "{message}");
}

/// Recordings of six SDKs (2022 to 2025).
#[tokio::test]
async fn batch_with_one_row_twice_is_rejected_as_a_whole() {
    let emulator = with_table().await;
    let insert = |row: &str| {
        let row = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}");
        format!("POST /Blogs HTTP/1.1\nAccept: application/json;odata=minimalmetadata\n\n{row}")
    };
    let requests = ["1", "2", "1"].map(insert);
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    let response = ask(
        &emulator,
        "POST",
        "$batch",
        &multipart,
        &batch(&requests.each_ref().map(String::as_str)),
    )
    .await;
    let text = "2:The batch request contains multiple changes with same row key. An entity can appear only once in a \
                batch request.";
    assert_eq!(error(&response), rejected(400, "InvalidDuplicateRow", text));
    assert_eq!(header(&response, "content-type"), FULL);
    let id = header(&response, "x-ms-request-id");
    let sdk = "documentdb-dotnet-sdk/2.14.0 Host/64-bit MicrosoftWindowsNT/10.0.20348.0";
    let end = format!("batch request.\\r\\nActivityId: {id}, {sdk}\\nRequestID:{id}\\n\"}}}}}}");
    assert!(body(&response).trim_end().ends_with(&end), "{}", body(&response));
    let rows = ask(&emulator, "GET", "Blogs", &[], "").await;
    assert!(body(&rows).starts_with(r#"{"value":[],"#), "{}", body(&rows));
}

/// Recordings of the same. The text ends with a trace of the service's script.
#[tokio::test]
async fn batch_with_two_partitions_is_rejected_by_the_script() {
    let emulator = with_table().await;
    let insert = |partition: &str| {
        let row = format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"r\"}}");
        format!("POST /Blogs HTTP/1.1\nAccept: application/json;odata=minimalmetadata\n\n{row}")
    };
    let responses = run(&emulator, &batch(&[&insert("p"), &insert("q")])).await;
    let [(headers, body)] = responses.as_slice() else {
        panic!("{responses:?}")
    };
    assert_eq!(headers, &["Content-Type: application/json;odata=fullmetadata"]);
    let json: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(json["odata.error"]["code"], "BadRequest");
    let text = json["odata.error"]["message"]["value"].as_str().unwrap();
    let begin = r#"0:Message: {"Errors":["Encountered exception while executing function. Exception = Error: OperationCount:0.\n{\"message\":\"{\\\"Errors\\\":[\\\"Requests originating from scripts cannot reference partition keys other than the one for which client request was submitted.\\\"]}\",\"number\":412}\r\nStack trace: "#;
    assert!(text.starts_with(begin), "{text}\n{begin}");
    assert!(
        text.contains("\r\nActivityId: ") && text.contains("\nRequestID:"),
        "{text}"
    );
}

/// Recordings of the same, and of azure-data-tables (September 2021) with a metadata level.
#[tokio::test]
async fn errors_of_a_signature_have_the_accepted_level() {
    let emulator = with_table().await;
    let send_with = async |accept, method: &str, path: &str, body: &str, token: &str| {
        let accept = [("accept", accept)];
        let request = unsigned_at(COSMOS, method, &format!("{path}?{token}"), &accept, body);
        emulator.send(request).await.unwrap()
    };
    let send = async |method: &str, path: &str, body: &str, token: &str| {
        send_with("application/json", method, path, body, token).await
    };
    let named = ("tn", "Blogs");
    let entity = "Blogs(PartitionKey='p',RowKey='r')";
    let token = sas::token(sas::TABLE, &[named, ("sp", "a")]);
    let text = "This request is not authorized to perform this operation using this permission.";
    for (accept, method, media_type) in [
        ("application/json", "PUT", "application/json"),
        (MINIMAL.1, "GET", MINIMAL_TYPE),
        ("*/*", "GET", "application/json"),
    ] {
        let response = send_with(accept, method, entity, "{}", &token).await;
        assert_eq!(error(&response), rejected(403, "Forbidden", text));
        assert!(body(&response).contains(r"\r\nActivityId: "), "{}", body(&response));
        assert_eq!(header(&response, "content-type"), media_type, "{accept}");
    }

    let text = "Shared access signature with PartitionKey or RowKey are not supported";
    for partition in ["p", "q"] {
        let row = format!(r#"{{"PartitionKey":"{partition}","RowKey":"r"}}"#);
        for range in [&[("spk", "p"), ("srk", "r")][..], &[("epk", "p"), ("erk", "r")]] {
            let token = sas::token(sas::TABLE, &[&[named], range].concat());
            let response = send("POST", "Blogs", &row, &token).await;
            assert_eq!(error(&response), rejected(405, "MethodNotAllowed", text));
            assert!(body(&response).contains(r"\r\nActivityId: "), "{}", body(&response));
            assert_eq!(header(&response, "content-type"), MINIMAL_TYPE);
        }
    }
}

/// Recordings of the same, and of Go (2021).
#[tokio::test]
async fn conflict_is_reported_with_full_metadata_if_no_content_is_preferred() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(ask(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
    let quiet = [("prefer", "return-no-content")];
    for (path, sent, code) in [
        ("Tables", r#"{"TableName":"Blogs"}"#, "TableAlreadyExists"),
        ("Blogs", row, "EntityAlreadyExists"),
    ] {
        let response = ask(&emulator, "POST", path, &quiet, sent).await;
        assert_eq!(error(&response).1, code);
        assert_eq!(header(&response, "content-type"), FULL);
        assert_eq!(header(&response, "preference-applied"), "");
        let response = ask(&emulator, "POST", path, &[], sent).await;
        assert_eq!(header(&response, "content-type"), MINIMAL_TYPE);
    }
}

/// The host decides on the form, although the rest of the URL cannot be read.
#[tokio::test]
async fn path_that_is_not_encoded_is_rejected_in_the_form_of_cosmos() {
    let path = "Blogs(PartitionKey='p',RowKey='%zz')";
    let response = ask(&with_table().await, "GET", path, &[], "").await;
    assert_eq!(error(&response).0, 400);
    assert_eq!(response.headers().get("x-ms-version"), None);
}

/// Recorded of azure-data-tables from October 2020 to September 2021.
#[tokio::test]
async fn wrong_signature_is_forbidden_and_shows_the_string_to_sign() {
    let emulator = with_table().await;
    for (method, path, media_type) in [("GET", "Tables", MINIMAL_TYPE), ("DELETE", "Tables('Blogs')", FULL)] {
        let mut request = unsigned_at(COSMOS, method, path, &[MINIMAL], "");
        let other = "b3RoZXI=";
        sign(&mut request, DEVELOPMENT_ACCOUNT, other);
        let response = emulator.send(request).await.unwrap();
        let (status, code, text) = error(&response);
        assert_eq!((status, &*code), (403, "Forbidden"));
        let begin = format!(
            "The input authorization token can't serve the request. Please check that the expected payload is built as \
             per the protocol, and check the key being used. Server used the following payload to sign: '{method}\n\n\n"
        );
        assert!(
            text.starts_with(&begin) && text.ends_with(&format!("/{path}'")),
            "{text}"
        );
        assert_eq!(header(&response, "content-type"), media_type);
    }
}
