//! Batches: order, atomicity, the index of a failure, and the forms in which SDKs send them.

use azure_table_wire::codec::multipart::{boundary, http_message, parts};

use super::*;

const TYPE: [(&str, &str); 1] = [("content-type", "multipart/mixed; boundary=b")];

/// Returns a batch of one change set. `requests` are the texts of its parts.
fn change_set(requests: &[String], line_end: &str) -> String {
    let parts: String = requests
        .iter()
        .map(|request| format!("--c\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n{request}\n"))
        .collect();
    let text = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{parts}--c--\n--b--\n");
    text.replace('\n', line_end)
}

fn insert(key: &str) -> String {
    format!(
        "POST {BASE}/Blogs HTTP/1.1\nContent-Type: application/json\nPrefer: return-no-content\n\n\
         {{\"PartitionKey\":\"p\",\"RowKey\":\"{key}\"}}"
    )
}

async fn run(emulator: &Emulator, body: &str) -> (Response<Bytes>, Vec<(u16, String)>) {
    let response = send(emulator, "POST", "$batch", &TYPE, body).await;
    let mut found = Vec::new();
    if response.status() == 202 {
        let outer = parts(
            response.body(),
            boundary(header(&response, "content-type")).unwrap(),
            false,
        )
        .unwrap();
        for part in &outer {
            let content_type = part.header("content-type").unwrap();
            let inner = if content_type.starts_with("multipart") {
                parts(part.body, boundary(content_type).unwrap(), false).unwrap()
            } else {
                parts(
                    response.body(),
                    boundary(header(&response, "content-type")).unwrap(),
                    false,
                )
                .unwrap()
            };
            for part in inner {
                let message = http_message(part.body).unwrap();
                let json: serde_json::Value = serde_json::from_slice(message.body).unwrap_or_default();
                let text = json
                    .pointer("/odata.error/message/value")
                    .and_then(|v| v.as_str())
                    .unwrap_or_default();
                found.push((
                    message.status().unwrap(),
                    text.lines().next().unwrap_or_default().to_owned(),
                ));
            }
        }
    }
    (response, found)
}

fn ok(status: u16) -> (u16, String) {
    (status, String::new())
}

#[tokio::test]
async fn all_operations_in_one_batch_with_either_line_end() {
    for line_end in ["\n", "\r\n"] {
        let emulator = with_table().await;
        let (_, setup) = run(
            &emulator,
            &change_set(&[insert("1"), insert("2"), insert("3")], line_end),
        )
        .await;
        assert_eq!(setup, [ok(204), ok(204), ok(204)]);
        let requests = [
            insert("4"),
            "DELETE /Blogs(PartitionKey='p',RowKey='1') HTTP/1.1\nContent-ID: 2\nIf-Match: *\n".into(),
            "PUT /devstoreaccount1/Blogs(PartitionKey='p',RowKey='2') HTTP/1.1\nIf-Match: *\n\n{\"A\":1}".into(),
            "MERGE /Blogs(PartitionKey='p',RowKey='3')?$format=application%2Fjson HTTP/1.1\n\n{\"A\":2}".into(),
            format!("POST {BASE}/Blogs(PartitionKey='p',RowKey='5') HTTP/1.1\nX-HTTP-Method: MERGE\n\n{{}}"),
            "POST /Blogs HTTP/1.1\nAccept: application/json\n\n{\"PartitionKey\":\"p\",\"RowKey\":\"6\"}".into(),
        ];
        let (response, found) = run(&emulator, &change_set(&requests, line_end)).await;
        assert_eq!(found, [ok(204), ok(204), ok(204), ok(204), ok(204), ok(201)]);
        assert!(body(&response).contains("Content-ID: 2\r\n") && body(&response).contains("DataServiceVersion: 1.0;"));
        let rows = send(&emulator, "GET", "Blogs?$select=RowKey", &[], "").await;
        assert_eq!(
            body(&rows),
            r#"{"value":[{"RowKey":"2"},{"RowKey":"3"},{"RowKey":"4"},{"RowKey":"5"},{"RowKey":"6"}]}"#
        );
    }
}

#[tokio::test]
async fn failed_batch_names_the_index_and_changes_nothing() {
    let emulator = with_table().await;
    run(&emulator, &change_set(&[insert("9")], "\r\n")).await;
    let elsewhere = insert("2").replace("\"p\"", "\"q\"");
    let too_long = insert("2").replace("\"2\"", "\"a/b\"");
    let many: Vec<String> = (0..101).map(|n| insert(&format!("n{n}"))).collect();
    for (requests, status, text) in [
        (vec![insert("9")], 409, "The specified entity already exists."),
        (
            vec![insert("1"), insert("9")],
            409,
            "1:The specified entity already exists.",
        ),
        (
            vec![insert("1"), insert("1")],
            400,
            "1:The batch request contains multiple changes with same row key. An entity can appear only once in a \
             batch request.",
        ),
        (
            vec![insert("1"), elsewhere],
            400,
            "1:All commands in a batch must operate on same entity group.",
        ),
        (
            vec![too_long],
            400,
            "0:The 'RowKey' parameter of value 'a/b' is out of range.",
        ),
        (
            vec![insert("1").replace("/Blogs", "/None")],
            404,
            "0:The table specified does not exist.",
        ),
        (
            many,
            400,
            "99:The batch request operation exceeds the maximum 100 changes per change set.",
        ),
        (
            vec!["GET /Blogs HTTP/1.1\n".into()],
            400,
            "0:One of the request inputs is not valid.",
        ),
    ] {
        let (response, found) = run(&emulator, &change_set(&requests, "\r\n")).await;
        assert_eq!(response.status(), 202);
        assert_eq!(found, [(status, text.to_owned())]);
    }
    let rows = send(&emulator, "GET", "Blogs?$select=RowKey", &[], "").await;
    assert_eq!(body(&rows), r#"{"value":[{"RowKey":"9"}]}"#);
}

#[tokio::test]
async fn forms_of_all_sdks_are_accepted() {
    let emulator = with_table().await;
    let no_line_end = change_set(&[insert("1"), insert("2")], "\n")
        .replace("}\n--c", "}--c")
        .replace("--b--", "--b");
    assert_eq!(run(&emulator, &no_line_end).await.1, [ok(204), ok(204)]);
    let (response, found) = run(&emulator, &change_set(&[], "\r\n")).await;
    assert_eq!((response.status().as_u16(), found), (202, vec![]));
    let query = |path: &str| {
        format!("--b\nContent-Type: application/http\n\nGET {path} HTTP/1.1\nAccept: application/json\n\n--b--")
    };
    let (response, found) = run(&emulator, &query("/Blogs(PartitionKey='p',RowKey='1')")).await;
    assert_eq!(found, [ok(200)]);
    assert!(!body(&response).contains("changesetresponse"));
    let (_, found) = run(&emulator, &query("/Blogs(PartitionKey='p',RowKey='missing')")).await;
    assert_eq!(found, [(404, "0:The specified resource does not exist.".to_owned())]);
    let second = change_set(&[insert("3")], "\n").replace("--b--\n", "") + &change_set(&[insert("4")], "\n");
    assert_eq!(
        run(&emulator, &second).await.1,
        [ok(204), (400, "One of the request inputs is not valid.".to_owned())]
    );
    for broken in [
        "",
        "--b",
        "--b\n\n--b--",
        "--b\nContent-Type: multipart/mixed\n\n--b--",
        &query("nonsense")[..20],
    ] {
        let (response, _) = run(&emulator, broken).await;
        assert_eq!(error(&response).0, 400, "{broken}");
    }
}

/// Returns the header lines of the only part of a response, and the text of its error.
fn only_part(response: &Response<Bytes>) -> (Vec<String>, String) {
    let outer = parts(
        response.body(),
        boundary(header(response, "content-type")).unwrap(),
        false,
    )
    .unwrap();
    let content_type = outer[0].header("content-type").unwrap();
    let inner = parts(outer[0].body, boundary(content_type).unwrap(), false).unwrap();
    assert_eq!(inner.len(), 1);
    let message = http_message(inner[0].body).unwrap();
    let names = message.headers().map(|(name, value)| format!("{name}: {value}"));
    (names.collect(), String::from_utf8(message.body.to_vec()).unwrap())
}

/// Recordings of azure-data-tables: `new_non_existent_table` (2026), `table_name_errors` (2024), and many more.
#[tokio::test]
async fn headers_of_a_rejected_part_depend_on_who_rejected_it() {
    let emulator = with_table().await;
    run(&emulator, &change_set(&[insert("9")], "\r\n")).await;
    let update =
        |table: &str| format!("PATCH /{table}(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: W/\"x\"\n\n{{}}");
    let of_q = |row_key: &str| insert(row_key).replace(r#""PartitionKey":"p""#, r#""PartitionKey":"q""#);
    for (requests, code, has_cache_control) in [
        (vec![insert("1").replace("/Blogs", "/None")], "TableNotFound", false),
        (vec![update("my_table")], "InvalidResourceName", false),
        (vec![update("aa")], "OutOfRangeInput", false),
        (vec![update("Blogs")], "ResourceNotFound", true),
        (vec![insert("1"), insert("1")], "InvalidDuplicateRow", true),
        // The first fault is reported.
        (vec![insert("1"), insert("1"), of_q("2")], "InvalidDuplicateRow", true),
        (vec![insert("9")], "EntityAlreadyExists", true),
        ((0..101).map(|n| insert(&n.to_string())).collect(), "InvalidInput", true),
    ] {
        let (response, _) = run(&emulator, &change_set(&requests, "\r\n")).await;
        assert_eq!(response.status(), 202, "{code}");
        let (headers, text) = only_part(&response);
        assert!(text.contains(&format!(r#""code":"{code}""#)), "{text}");
        let cached = headers.iter().any(|line| line == "Cache-Control: no-cache");
        assert_eq!(cached, has_cache_control, "{code}: {headers:?}");
        assert!(headers.contains(&"DataServiceVersion: 3.0;".to_owned()), "{headers:?}");
    }
    let (_, found) = run(&emulator, &change_set(&[update("my_table")], "\r\n")).await;
    let text = "0:The specifed resource name contains invalid characters.";
    assert_eq!(found, [(400, text.to_owned())]);
}

/// Recordings of azure-data-tables (2023 to 2026): `with_mode`, `all_operations_together`, `batch` and nine others.
/// Older SDKs write the number among the headers of the request, and it is echoed from there (recorded of 2017).
#[tokio::test]
async fn content_id_of_a_part_is_not_echoed() {
    let emulator = with_table().await;
    let of_part = |requests: &[String]| {
        let text = change_set(requests, "\n");
        text.replace("binary\n\n", "binary\nContent-ID: 7\n\n")
    };
    let (response, found) = run(&emulator, &of_part(&[insert("1"), insert("2")])).await;
    assert_eq!(found, [ok(204), ok(204)]);
    assert!(!body(&response).contains("Content-ID"), "{}", body(&response));
    let (response, _) = run(&emulator, &of_part(&[insert("1")])).await;
    assert!(!body(&response).contains("Content-ID"), "{}", body(&response));
    let within = insert("3").replace("HTTP/1.1\n", "HTTP/1.1\nContent-ID: 7\n");
    let (response, _) = run(&emulator, &change_set(&[within], "\n")).await;
    assert!(body(&response).contains("Content-ID: 7\r\n"), "{}", body(&response));
}

/// Recording `empty_batch` of azure-data-tables (2023).
#[tokio::test]
async fn empty_part_of_a_change_set_is_rejected_in_its_response() {
    let emulator = with_table().await;
    let empty = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\n--c--\r\n--b--\r\n";
    let (response, _) = run(&emulator, empty).await;
    assert_eq!(response.status(), 202);
    let (headers, text) = only_part(&response);
    assert_eq!(
        headers,
        [
            "DataServiceVersion: 1.0;",
            "Content-Type: application/xml;charset=utf-8"
        ]
    );
    let id = header(&response, "x-ms-request-id");
    let begin = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><error \
         xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>InvalidInput</code><message \
         xml:lang=\"en-US\">An error occurred while processing this request.\nRequestId:{id}\nTime:"
    );
    assert!(
        text.starts_with(&begin) && text.ends_with("Z</message></error>"),
        "{text}"
    );
}

/// `vectors/multipart.json`: the SDKs' requests are accepted, and answered as their authors expect. The index of the
/// only operation is omitted if the live service omits it, unlike in Azurite.
#[tokio::test]
async fn batches_of_sdks_are_answered() {
    let vectors = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../azure-table/vectors/multipart.json"
    ))
    .unwrap();
    let vectors: serde_json::Value = serde_json::from_slice(&vectors).unwrap();
    let emulator = Emulator::new();
    for table in ["PyBatch", "JsBatch"] {
        let body = format!("{{\"TableName\":\"{table}\"}}");
        let json = [("content-type", "application/json")];
        assert_eq!(send(&emulator, "POST", "Tables", &json, &body).await.status(), 201);
    }
    let mut checked = 0;
    for case in vectors["cases"].as_array().unwrap() {
        let (name, request, azurite) = (&case["name"], &case["request"], &case["azurite_response"]);
        let content_type = request["headers"]["content-type"].as_str().unwrap();
        let headers = [("content-type", content_type)];
        let response = send(&emulator, "POST", "$batch", &headers, request["body"].as_str().unwrap()).await;
        let ours = statuses_and_codes(&response);
        let theirs = Response::builder().header("content-type", azurite["content_type"].as_str().unwrap());
        let theirs = theirs.body(Bytes::copy_from_slice(azurite["body"].as_str().unwrap().as_bytes()));
        assert_eq!(
            ours,
            statuses_and_codes(&theirs.unwrap()),
            "{name}: {}",
            body(&response)
        );
        checked += 1;
    }
    assert!(checked >= 18, "{checked}");
    let rows = send(&emulator, "GET", "PyBatch?$select=RowKey", &[], "").await;
    let rows: serde_json::Value = serde_json::from_slice(rows.body()).unwrap();
    let left: Vec<&str> = rows["value"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["RowKey"].as_str().unwrap())
        .collect();
    let expected = vectors["about"]["rows_left_after_all_python_cases"].as_array().unwrap();
    assert_eq!(
        left,
        expected.iter().map(|row| row.as_str().unwrap()).collect::<Vec<_>>()
    );
}

/// Returns the status of each part, and the code and the index of its error; for the only operation as if the index
/// were always present.
fn statuses_and_codes(response: &Response<Bytes>) -> Vec<(u16, String, String)> {
    let outer = parts(
        response.body(),
        boundary(header(response, "content-type")).unwrap(),
        false,
    )
    .unwrap();
    let content_type = outer[0].header("content-type").unwrap();
    let inner = parts(outer[0].body, boundary(content_type).unwrap(), false).unwrap();
    let reported = inner.iter().map(|part| {
        let message = http_message(part.body).unwrap();
        let json: serde_json::Value = serde_json::from_slice(message.body).unwrap_or_default();
        let text = |path: &str| {
            json.pointer(path)
                .and_then(|it| it.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        let message_text = text("/odata.error/message/value");
        let index = message_text.split_once(':').map_or("", |(index, _)| index);
        let index = if index.parse::<usize>().is_ok() { index } else { "0" };
        (message.status().unwrap(), text("/odata.error/code"), index.to_owned())
    });
    reported.collect()
}
