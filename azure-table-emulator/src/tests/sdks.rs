//! Responses of Table storage in recordings of the Go, JavaScript, Java, Python, .NET and C++ SDKs (2020 to 2025).

use azure_table_wire::codec::multipart::{boundary, parts};

use super::*;

const BATCH: [(&str, &str); 1] = [("content-type", "multipart/mixed; boundary=b")];
const QUIET: (&str, &str) = ("prefer", "return-no-content");
const ANY: (&str, &str) = ("if-match", "*");
const ROW: &str = "Blogs(PartitionKey='p',RowKey='r')";

/// Creates an emulator with one row. Returns its ETag too.
async fn with_row() -> (Emulator, String) {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let inserted = send(&emulator, "POST", "Blogs", &[], row).await;
    let etag = header(&inserted, "etag").to_owned();
    (emulator, etag)
}

/// Sends a change set. Returns the lines of each part's response after its status, with the body as the last one.
async fn run(emulator: &Emulator, requests: &[&str]) -> Vec<(String, Vec<String>)> {
    let requests: String = requests
        .iter()
        .map(|request| format!("--c\nContent-Type: application/http\n\n{request}\n"))
        .collect();
    let text = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{requests}--c--\n--b--\n");
    let response = send(emulator, "POST", "$batch", &BATCH, &text).await;
    assert_eq!(response.status(), 202, "{}", body(&response));
    let outer = parts(
        response.body(),
        boundary(header(&response, "content-type")).unwrap(),
        false,
    )
    .unwrap();
    let inner = boundary(outer[0].header("content-type").unwrap()).unwrap();
    let lines = |text: &[u8]| {
        let text = String::from_utf8(text.to_vec()).unwrap();
        let mut lines = text.split("\r\n").map(str::to_owned);
        (lines.next().unwrap(), lines.collect())
    };
    parts(outer[0].body, inner, false)
        .unwrap()
        .iter()
        .map(|part| lines(part.body))
        .collect()
}

/// Returns the names of the headers in a part, and the values of those that are the same every time.
fn headers(lines: &[String]) -> Vec<&str> {
    let head = lines.iter().take_while(|line| !line.is_empty());
    head.map(|line| if line.starts_with("ETag") { "ETag" } else { line })
        .collect()
}

#[tokio::test]
async fn updates_apply_the_preference_for_no_content() {
    let (emulator, etag) = with_row().await;
    for (method, row, condition) in [
        ("MERGE", ROW, Some(etag.as_str())),
        ("PUT", "Blogs(PartitionKey='p',RowKey='new')", None),
        ("PATCH", ROW, None),
        ("PUT", ROW, Some("*")),
    ] {
        for (prefer, applied) in [(Some(QUIET), QUIET.1), (None, "")] {
            let condition = condition.filter(|text| *text == "*" || prefer.is_some());
            let headers: Vec<_> = condition
                .map(|etag| ("if-match", etag))
                .into_iter()
                .chain(prefer)
                .collect();
            let response = send(&emulator, method, row, &headers, "{}").await;
            assert_eq!(response.status(), 204, "{method} {row}");
            assert_eq!(header(&response, "preference-applied"), applied, "{method} {row}");
        }
    }
    for (path, headers) in [(ROW, &[QUIET, ANY][..]), ("Tables('Blogs')", &[QUIET])] {
        let deleted = send(&emulator, "DELETE", path, headers, "").await;
        assert_eq!(
            (deleted.status().as_u16(), header(&deleted, "preference-applied")),
            (204, "")
        );
    }
}

#[tokio::test]
async fn part_of_an_update_applies_the_preference_for_no_content() {
    let (emulator, _) = with_row().await;
    let put = |row: &str, prefer: &str| format!("PUT /Blogs(PartitionKey='p',RowKey='{row}') HTTP/1.1\n{prefer}\n{{}}");
    let delete = "DELETE /Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\nPrefer: return-no-content\nIf-Match: *\n\n";
    let quiet = put("1", "Prefer: return-no-content\n");
    let responses = run(&emulator, &[&quiet, &put("2", ""), delete]).await;
    let common = ["X-Content-Type-Options: nosniff", "Cache-Control: no-cache"];
    let expected = [
        &[
            "Preference-Applied: return-no-content",
            "DataServiceVersion: 3.0;",
            "ETag",
        ][..],
        &["DataServiceVersion: 1.0;", "ETag"],
        &["DataServiceVersion: 1.0;"],
    ];
    assert_eq!(responses.len(), 3);
    for ((status, lines), expected) in responses.iter().zip(expected) {
        assert_eq!(status, "HTTP/1.1 204 No Content");
        assert_eq!(headers(lines), [&common, expected].concat());
    }
}

#[tokio::test]
async fn error_applies_the_preference_only_with_cache_control() {
    let (emulator, _) = with_row().await;
    let insert = |table: &str, row: &str| {
        let body = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}");
        format!(
            "POST /{table} HTTP/1.1\nAccept: application/json;odata=minimalmetadata\nPrefer: return-no-content\n\n{body}"
        )
    };
    let (first, missing) = (insert("Blogs", "1"), insert("None", "1"));
    let put = "PUT /Blogs(PartitionKey='p',RowKey='1') HTTP/1.1\nPrefer: return-no-content\n\n{}";
    let delete = "DELETE /Blogs(PartitionKey='p',RowKey='1') HTTP/1.1\nIf-Match: *\nPrefer: return-no-content\n\n";
    for (requests, is_cached, is_applied) in [
        (&[&*first, put][..], true, true),
        (&[&first, delete], true, false),
        (&[&missing], false, false),
    ] {
        let responses = run(&emulator, requests).await;
        let [(status, lines)] = responses.as_slice() else {
            panic!("{responses:?}")
        };
        let headers = headers(lines);
        assert_eq!(
            headers.contains(&"Cache-Control: no-cache"),
            is_cached,
            "{status} {headers:?}"
        );
        let applied = headers.contains(&"Preference-Applied: return-no-content");
        assert_eq!(applied, is_applied, "{status} {headers:?}");
    }
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    for (path, body, status, applied) in [
        ("Blogs", row, 409, QUIET.1),
        ("Blogs", "{}", 400, QUIET.1),
        ("None", row, 404, ""),
    ] {
        let response = send(&emulator, "POST", path, &[QUIET], body).await;
        assert_eq!(
            (response.status().as_u16(), header(&response, "preference-applied")),
            (status, applied)
        );
        assert_eq!(header(&response, "cache-control").is_empty(), applied.is_empty());
    }
}

/// Recorded in 2017.
#[tokio::test]
async fn etag_with_doubled_quotes_meets_no_condition() {
    let (emulator, etag) = with_row().await;
    let doubled = etag.replace('\'', "''");
    assert_ne!(doubled, etag);
    let text = "The condition specified using HTTP conditional header(s) is not met.";
    for method in ["PUT", "MERGE"] {
        let response = send(&emulator, method, ROW, &[("if-match", &doubled), QUIET], "{}").await;
        assert_eq!(error(&response), rejected(412, "ConditionNotMet", text), "{method}");
        let found =
            ["cache-control", "preference-applied", "x-content-type-options"].map(|name| header(&response, name));
        assert_eq!(found, ["", "", "nosniff"], "{method}");
    }
    let stale = etag.replace("datetime'2", "datetime'1");
    let response = send(&emulator, "PUT", ROW, &[("if-match", &stale)], "{}").await;
    assert_eq!(error(&response).1, "UpdateConditionNotSatisfied");
    assert_eq!(header(&response, "cache-control"), "no-cache");
}

#[tokio::test]
async fn second_segment_with_the_name_of_the_table_is_ignored() {
    let emulator = with_table().await;
    for (row, headers, status) in [("1", &[QUIET][..], 204), ("2", &[], 201)] {
        let row = format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#);
        let response = send(&emulator, "POST", "Blogs/Blogs", headers, &row).await;
        assert_eq!(response.status(), status, "{}", body(&response));
        assert!(header(&response, "location").starts_with(&format!("{BASE}/Blogs(PartitionKey='p',")));
    }
    let row = r#"{"PartitionKey":"p","RowKey":"3"}"#;
    let token = sas::token(sas::TABLE, &[("sp", "a")]);
    let response = sas::try_with(&emulator, "POST", "Blogs/Blogs", row, &token).await;
    assert_eq!(response.status(), 201, "{}", body(&response));
    let other = send(&emulator, "POST", "Blogs/Others", &[], row).await;
    assert_eq!(error(&other).1, "InvalidUri");
}

#[tokio::test]
async fn list_of_tables_below_a_table_is_not_implemented() {
    let emulator = with_table().await;
    let text = "The requested operation is not implemented on the specified resource.";
    let full = ("accept", "application/json;odata=fullmetadata");
    let response = send(&emulator, "GET", "Blogs/Tables", &[full], "").await;
    assert_eq!(error(&response), rejected(501, "NotImplemented", text));
    assert!(header(&response, "content-type").contains("odata=fullmetadata"));
    let found = ["cache-control", "x-content-type-options", "x-ms-version"].map(|name| header(&response, name));
    assert_eq!(found, ["no-cache", "nosniff", "2019-02-02"]);
}

#[tokio::test]
async fn policies_are_not_set_with_any_media_type_accepted() {
    let emulator = with_table().await;
    let text = "None of the provided media types are supported";
    let policies = "<SignedIdentifiers></SignedIdentifiers>";
    for body in ["", policies] {
        let response = send(&emulator, "PUT", "Blogs?comp=acl", &[("accept", "*/*")], body).await;
        assert_eq!(error(&response), rejected(415, "MediaTypeNotSupported", text));
        assert!(super::body(&response).starts_with("<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error "));
        let found = ["x-ms-error-code", "content-type", "cache-control"].map(|name| header(&response, name));
        assert_eq!(found, ["MediaTypeNotSupported", "application/xml", ""]);
    }
    let xml = send(
        &emulator,
        "PUT",
        "Blogs?comp=acl",
        &[("accept", "application/xml")],
        policies,
    )
    .await;
    assert_eq!(xml.status(), 204);
    let mut without = unsigned("PUT", "Blogs?comp=acl", &[], policies);
    without.headers_mut().remove("accept");
    sign(&mut without, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
    assert_eq!(emulator.send(without).await.unwrap().status(), 204);
}

/// Recorded of the C++ SDK: there is no line end between two headers, the body is empty, and the last boundary is cut
/// short.
#[tokio::test]
async fn part_with_broken_headers_is_rejected_in_xml() {
    let (emulator, etag) = with_row().await;
    let text = format!(
        "--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: application/http\n\
         Content-Transfer-Encoding: binary\n\nPATCH {BASE}/{ROW} HTTP/1.1\nIf-Match: *\n\
         Content-Length: 71Accept: application/json;odata=minimalmetadata\n\n\n--c--\n--b"
    );
    let response = send(&emulator, "POST", "$batch", &BATCH, &text).await;
    assert_eq!(response.status(), 202);
    let id = header(&response, "x-ms-request-id");
    let part = format!(
        "HTTP/1.1 400 Bad Request\r\nDataServiceVersion: 1.0;\r\nContent-Type: \
         application/xml;charset=utf-8\r\n\r\n<?xml version=\"1.0\" encoding=\"utf-8\"?><error \
         xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>InvalidInput</code><message \
         xml:lang=\"en-US\">An error occurred while processing this request.\nRequestId:{id}\nTime:"
    );
    assert!(body(&response).contains(&part), "{}", body(&response));
    assert_eq!(body(&response).matches("HTTP/1.1").count(), 1);
    let read = send(&emulator, "GET", ROW, &[], "").await;
    assert_eq!(header(&read, "etag"), etag, "nothing was changed");
}

/// Returns the text of the failed part of a change set.
async fn failure(emulator: &Emulator, requests: &[&str]) -> String {
    let responses = run(emulator, requests).await;
    assert_eq!(responses.len(), 1);
    let json: serde_json::Value = serde_json::from_str(responses[0].1.last().unwrap()).unwrap();
    let text = json["odata.error"]["message"]["value"].as_str().unwrap();
    text.lines().next().unwrap().to_owned()
}

/// Streamstone tells a lost race from other errors by the index of the header, and Orleans by that of the changed row.
/// Only in a change set of one operation the text has no index.
#[tokio::test]
async fn first_of_several_operations_has_its_index() {
    let (emulator, _) = with_row().await;
    let insert = |row: &str| {
        format!("POST /Blogs HTTP/1.1\nPrefer: return-no-content\n\n{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}")
    };
    let header = insert("r");
    let replace = "PUT /Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: W/\"datetime'2012'\"\n\n{}";
    let delete = "DELETE /Blogs(PartitionKey='p',RowKey='none') HTTP/1.1\nIf-Match: *\n\n";
    for (request, text) in [
        (&*header, "The specified entity already exists."),
        (
            replace,
            "The update condition specified in the request was not satisfied.",
        ),
        (delete, "The specified resource does not exist."),
    ] {
        assert_eq!(failure(&emulator, &[request]).await, text);
        let event = insert("event");
        assert_eq!(failure(&emulator, &[request, &event]).await, format!("0:{text}"));
        assert_eq!(failure(&emulator, &[&event, request]).await, format!("1:{text}"));
    }
}

/// Microsoft.OData.Client writes a Boolean property alone (three tests of devlooped's TableStorage).
#[tokio::test]
async fn boolean_property_alone_is_a_condition() {
    let emulator = with_table().await;
    for (row, format, published) in [
        ("1", "Hardback", true),
        ("2", "Hardback", false),
        ("3", "Paperback", true),
    ] {
        let row = format!(
            "{{\"PartitionKey\":\"Rick Riordan\",\"RowKey\":\"{row}\",\"Format\":\"{format}\",\"IsPublished\":{published}}}"
        );
        assert_eq!(send(&emulator, "POST", "Blogs", &[], &row).await.status(), 201);
    }
    for (filter, rows) in [
        (
            "PartitionKey%20eq%20'Rick%20Riordan'%20and%20Format%20eq%20'Hardback'%20and%20IsPublished",
            "1",
        ),
        ("IsPublished", "13"),
        ("not%20IsPublished", "2"),
        ("(IsPublished)%20or%20Format%20eq%20'Hardback'", "123"),
    ] {
        let response = send(&emulator, "GET", &format!("Blogs?$filter={filter}"), &[], "").await;
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        let found = json["value"].as_array().unwrap().iter();
        let found: String = found.map(|row| row["RowKey"].as_str().unwrap()).collect();
        assert_eq!(found, rows, "{filter}");
    }
    let ill_typed = send(
        &emulator,
        "GET",
        "Blogs?$filter=(PartitionKey%20)%20and%20(RowKey%20ge%20'000050')",
        &[],
        "",
    );
    let text = "A binary operator with incompatible types was detected. Found operand types 'Edm.String' and \
                'Edm.Boolean' for operator kind 'And'.";
    assert_eq!(error(&ill_typed.await), rejected(400, "InvalidInput", text));
}

/// Recorded of azure-data-tables (2020): the text is encoded once more, and space around it is dropped.
#[tokio::test]
async fn selection_is_repeated_in_the_metadata() {
    let (emulator, _) = with_row().await;
    let minimal = [("accept", "application/json;odata=minimalmetadata")];
    for (select, repeated) in [("age%2C%20sex", "age,%20sex"), ("%20", "")] {
        let response = send(&emulator, "GET", &format!("Blogs?$select={select}"), &minimal, "").await;
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(
            json["odata.metadata"],
            format!("{BASE}/$metadata#Blogs&$select={repeated}")
        );
        let row = &json["value"][0];
        assert_eq!(row.get("RowKey").is_some(), repeated.is_empty(), "{row}");
        assert_eq!(row.get("sex").is_some(), !repeated.is_empty(), "{row}");
    }
    let list = send(&emulator, "GET", "Blogs?$select=['age,%20sex']", &[], "").await;
    let text = "An identifier was expected at position 0.";
    assert_eq!(error(&list), rejected(400, "InvalidInput", text));
    assert_eq!(header(&list, "cache-control"), "");
    let type_name = send(&emulator, "GET", "Blogs?$filter=%3Cclass%20'filter'%3E", &[], "").await;
    let text = "Syntax error: character '<' is not valid at position 0 in '<class 'filter'>'.";
    assert_eq!(error(&type_name), rejected(400, "InvalidInput", text));
}

/// Recorded of azure-data-tables (2020).
#[tokio::test]
async fn entity_below_its_own_table_is_not_implemented() {
    let (emulator, _) = with_row().await;
    let read = send(&emulator, "GET", "Blogs/Blogs(PartitionKey='p',RowKey='r')", &[], "").await;
    assert_eq!(error(&read).0, 501);
    assert_eq!(
        (&*error(&read).1, header(&read, "cache-control")),
        ("NotImplemented", "no-cache")
    );
}

/// The tests of fast-azure-storage, on live accounts until 2022.
#[tokio::test]
async fn read_of_an_entity_may_have_a_filter() {
    let (emulator, _) = with_row().await;
    for (filter, status) in [
        ("RowKey%20eq%20'r'", 200),
        ("value%20eq%20'other'", 404),
        ("x%20y", 400),
    ] {
        let response = send(&emulator, "GET", &format!("{ROW}?$filter={filter}"), &[], "").await;
        assert_eq!(response.status(), status, "{filter}");
        if status == 404 {
            assert_eq!(error(&response).1, "ResourceNotFound");
        }
    }
}

/// The tests of azure-storage-net (2018).
#[tokio::test]
async fn property_of_a_mebibyte_makes_its_entity_too_large() {
    let emulator = with_table().await;
    let (large, small) = ("x".repeat(1 << 20), "x".repeat(40_000));
    for (value, code) in [(large, "EntityTooLarge"), (small, "PropertyValueTooLarge")] {
        let row = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"A\":\"{value}\"}}");
        let response = send(&emulator, "POST", "Blogs", &[], &row).await;
        assert_eq!(error(&response).1, code);
    }
}

/// The tests of fast-azure-storage, on live accounts until 2022.
#[tokio::test]
async fn names_of_tables_compare_without_case_in_a_filter() {
    let emulator = Emulator::new();
    for name in ["AAAAAAAA", "bbb"] {
        let table = format!("{{\"TableName\":\"{name}\"}}");
        assert_eq!(send(&emulator, "POST", "Tables", &[], &table).await.status(), 201);
    }
    for (prefix, found) in [("aa", "AAAAAAAA"), ("BB", "bbb")] {
        let filter = format!("(TableName%20ge%20'{prefix}')%20and%20(TableName%20lt%20'{prefix}%7B')");
        let list = send(&emulator, "GET", &format!("Tables?$filter={filter}"), &[], "").await;
        assert_eq!(body(&list), format!("{{\"value\":[{{\"TableName\":\"{found}\"}}]}}"));
    }
}
