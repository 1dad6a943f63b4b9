//! Requests of other SDKs, unchanged: both signatures with an account key, and entities in all their spellings.
//!
//! The vectors come from `azure-table/vectors`.

use azure_table::emulator::EmulatorClock;
use azure_table::transport::Transport as _;
use azure_table::{DateTime, Emulator};
use azure_table_tests::fixtures::vectors;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

use super::signed::{ask, emulator, outcome};

/// Captured requests with their signatures, at their time: accepted unchanged, and rejected with one letter changed.
#[tokio::test]
async fn captured_signatures_are_accepted() {
    for (file, at_least) in [("shared_key.json", 45), ("shared_key_lite.json", 14)] {
        let vectors = vectors(file);
        let cloud = vectors["keys"]["cloud"]["key"].as_str();
        let mut checked = 0;
        for case in vectors["cases"].as_array().unwrap() {
            checked += 1;
            // The SDK builds the path wrongly, and Azurite rejects it as well.
            let is_good = case.get("sdk_bug").is_none();
            let text = |name: &str| case[name].as_str().unwrap_or_default();
            let host = format!("https://{}.table.core.windows.net", text("account"));
            let (path, query) = (text("path"), text("query"));
            let base = match path.starts_with("/devstoreaccount1") {
                true => "http://127.0.0.1:10002",
                false => &host,
            };
            let question = if query.is_empty() { "" } else { "?" };
            let built = format!("{base}{path}{question}{query}");
            let url = case["url"].as_str().unwrap_or(&built);
            let date = case["headers"]["x-ms-date"].as_str().unwrap();
            let now: DateTime = httpdate::parse_http_date(date).unwrap().try_into().unwrap();
            let mut service = Emulator::new().shared_clock(EmulatorClock::fixed(now));
            if let Some(key) = cloud {
                service = service.account("contoso", key).unwrap();
            }
            for is_changed in [false, true] {
                let mut authorization = text("authorization").to_owned();
                if is_changed {
                    let last = authorization.len() - 5;
                    let is_a = authorization.as_bytes()[last] == b'A';
                    let other = if is_a { "B" } else { "A" };
                    authorization.replace_range(last..=last, other);
                }
                let mut request = Request::builder()
                    .method(text("method"))
                    .uri(url)
                    .header("accept", "application/json;odata=nometadata")
                    .header("authorization", authorization);
                for (name, value) in case["headers"].as_object().unwrap() {
                    request = request.header(name, value.as_str().unwrap());
                }
                let response = service.send(request.body(Bytes::new()).unwrap()).await.unwrap();
                let is_cosmos = url.contains(".table.cosmos.");
                let code = if is_cosmos { "Forbidden" } else { "AuthenticationFailed" };
                let is_rejected = outcome(&response) == (403, code.to_owned());
                let name = text("name");
                assert_eq!(is_rejected, is_changed || !is_good, "{name} {url}: {response:?}");
            }
        }
        assert!(checked >= at_least, "{file}: {checked}");
    }
}

/// An emulator with the table `Things`.
async fn things() -> Emulator {
    let service = emulator();
    let made = ask(&service, "POST", "Tables", &[], r#"{"TableName":"Things"}"#).await;
    assert_eq!(made.status(), 201);
    service
}

async fn insert(service: &Emulator, headers: &[(&str, &str)], body: &str) -> Response<Bytes> {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    ask(service, "POST", "Things", &all, body.to_owned()).await
}

/// Reads a row.
async fn read(service: &Emulator, path: &str, level: &str) -> Value {
    let accept = format!("application/json;odata={level}");
    let response = ask(service, "GET", path, &[("accept", &accept)], "").await;
    serde_json::from_slice(response.body()).unwrap()
}

/// The values of two SDKs are accepted, and read as they were meant. The vectors differ from the live service by its
/// rules: fractions without trailing zeros, ids in lower case, whole numbers beyond Int32 as doubles.
#[tokio::test]
async fn entities_of_other_sdks_are_read_correctly() {
    let vectors = vectors("entities.json");
    let service = things().await;
    let mut checked = 0;
    for case in vectors["cases"].as_array().unwrap() {
        for sdk in ["python", "js"] {
            let Some(body) = case[sdk]["body"].as_str() else {
                continue;
            };
            // Some are shortened in the file.
            let Ok(sent) = serde_json::from_str::<Value>(body) else {
                continue;
            };
            let headers = [
                ("content-type", "application/json;odata=nometadata"),
                ("prefer", "return-no-content"),
            ];
            let response = ask(&service, "POST", "Things", &headers, body.to_owned()).await;
            let status = u64::from(response.status().as_u16());
            assert_eq!(Some(status), case[sdk]["status"].as_u64(), "{body:.200}");
            let [partition, row] = ["PartitionKey", "RowKey"].map(|name| sent[name].as_str().unwrap());
            let path = format!("Things(PartitionKey='{partition}',RowKey='{row}')");
            let read = read(&service, &path, "minimalmetadata").await;
            let expected = expected(&sent["P"], sent["P@odata.type"].as_str());
            let found = (read["P"].clone(), read["P@odata.type"].as_str());
            assert_eq!(found, expected, "{body:.200}");
            checked += 1;
        }
    }
    assert!(checked >= 95, "{checked}");
}

/// Returns the value and the annotation of a read after this write.
fn expected<'a>(sent: &Value, annotation: Option<&'a str>) -> (Value, Option<&'a str>) {
    let text = sent.as_str().unwrap_or_default();
    match annotation {
        Some("Edm.DateTime") => {
            let time: DateTime = text.parse().unwrap();
            (time.to_string().into(), annotation)
        }
        Some("Edm.Guid") => (text.to_ascii_lowercase().into(), annotation),
        Some("Edm.Double") if matches!(text, "NaN" | "Infinity" | "-Infinity") => (sent.clone(), annotation),
        Some("Edm.Double") => (sent.as_f64().unwrap().into(), None),
        Some("Edm.Int64" | "Edm.Binary") => (sent.clone(), annotation),
        _ if sent.as_i64().is_some_and(|number| i32::try_from(number).is_err()) => {
            (sent.as_f64().unwrap().into(), None)
        }
        _ => (sent.clone(), None),
    }
}

/// Spellings of one change by several SDKs; all have the same meaning.
#[tokio::test]
async fn spellings_of_values_keys_and_preferences_are_accepted() {
    let service = things().await;
    let mut row = 0;
    for members in [
        // Source: recorded requests, and vectors of both SDKs.
        r#""I":5,"I@odata.type":"Edm.Int32""#,
        r#""I@odata.type":"Edm.Int32","I":"5""#,
        r#""PartitionKey@odata.type":"Edm.String","RowKey@odata.type":"Edm.String","I":5"#,
        r#""I":5,"N@odata.type":"Edm.Boolean","N":null,"M":null"#,
        r#""I":5,"Timestamp":"0001-01-01T00:00:00Z","Timestamp@odata.type":"Edm.DateTime""#,
        r#""odata.etag":"x","odata.type":"a.b","I":5"#,
        "\n  \"I\" :\t5\r\n",
    ] {
        for (prefer, status, applied) in [
            (None, 201, ""),
            (Some("return-content"), 201, "return-content"),
            (Some("return-no-content"), 204, "return-no-content"),
        ] {
            row += 1;
            let prefer: Vec<_> = prefer.map(|prefer| ("prefer", prefer)).into_iter().collect();
            let body = format!(r#"{{"PartitionKey":"p","RowKey":"{row}",{members}}}"#);
            let response = insert(&service, &prefer, &body).await;
            assert_eq!(response.status(), status, "{body}: {response:?}");
            let said = response.headers().get("preference-applied");
            assert_eq!(said.map_or("", |value| value.to_str().unwrap()), applied, "{body}");
            let path = format!("Things(PartitionKey='p',RowKey='{row}')");
            let read = read(&service, &path, "nometadata").await;
            assert_eq!(read["I"], 5, "{body}");
            assert_eq!(read.as_object().unwrap().len(), 4, "{body}: {read}");
        }
    }
}

/// URLs and line ends of batches, names of boundaries, and a change set without changes.
#[tokio::test]
async fn spellings_of_batches_are_accepted() {
    let service = things().await;
    let bases = [
        "https://contoso.table.core.windows.net/",
        "/",
        "http://elsewhere.example/",
    ];
    let boundaries = [
        ("batch_1", "changeset_1"),
        ("b", "c"),
        ("--", "-"),
        ("a'()+_,-./:=?", "x y"),
    ];
    let mut row = 0;
    for base in bases {
        for (outer, inner) in boundaries {
            for end in ["\r\n", "\n"] {
                for is_quoted in [false, true] {
                    let quoted = |text: &str| {
                        if is_quoted || text.contains([' ', '(', ',', '/', ':', '=', '?']) {
                            format!("\"{text}\"")
                        } else {
                            text.to_owned()
                        }
                    };
                    let mut lines = vec![
                        format!("--{outer}"),
                        format!("Content-Type: multipart/mixed; boundary={}", quoted(inner)),
                        String::new(),
                    ];
                    for _ in 0..2 {
                        row += 1;
                        lines.extend([
                            format!("--{inner}"),
                            "content-type: application/http".to_owned(),
                            "content-transfer-encoding: binary".to_owned(),
                            String::new(),
                            format!("POST {base}Things HTTP/1.1"),
                            "Content-Type: application/json".to_owned(),
                            "Prefer: return-no-content".to_owned(),
                            String::new(),
                            format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#),
                        ]);
                    }
                    lines.extend([format!("--{inner}--"), format!("--{outer}--"), String::new()]);
                    let content_type = format!("multipart/mixed; boundary={}", quoted(outer));
                    let headers = [("content-type", &*content_type)];
                    let response = ask(&service, "POST", "$batch", &headers, lines.join(end)).await;
                    let text = String::from_utf8_lossy(response.body());
                    assert_eq!(text.matches("HTTP/1.1 204 No Content").count(), 2, "{lines:#?}: {text}");
                }
            }
        }
    }
    let empty = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--\r\n";
    let headers = [("content-type", "multipart/mixed; boundary=b")];
    let response = ask(&service, "POST", "$batch", &headers, empty).await;
    assert_eq!(response.status(), 202);
    let text = String::from_utf8_lossy(response.body());
    assert!(!text.contains("HTTP/1.1"), "{text}");
}

/// Keys in the URLs of two SDKs, which encode them differently. Characters that a key cannot have are rejected.
#[tokio::test]
async fn addresses_of_sdks_name_the_same_rows() {
    let vectors = vectors("keys.json");
    let service = things().await;
    let key = |value: &Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let times = value["times"].as_u64().unwrap();
            value["repeat"].as_str().unwrap().repeat(times.try_into().unwrap())
        }
    };
    let forbidden = |text: &str| text.contains(|c: char| matches!(c, '/' | '\\' | '#' | '?') || c.is_control());
    let (mut found, mut rejected) = (0, 0);
    let lists = ["cases", "rejected"].into_iter();
    for case in lists.flat_map(|list| vectors[list].as_array().unwrap()) {
        let (partition, row) = (key(&case["partition_key"]), key(&case["row_key"]));
        let body = serde_json::json!({"PartitionKey": partition, "RowKey": row}).to_string();
        let response = insert(&service, &[], &body).await;
        if forbidden(&partition) || forbidden(&row) {
            let expected = (400, "OutOfRangeInput".to_owned());
            assert_eq!(outcome(&response), expected, "{partition:?} {row:?}");
            rejected += 1;
            continue;
        }
        let is_stored = [201, 409].contains(&response.status().as_u16());
        assert!(is_stored, "{partition:?} {row:?}: {response:?}");
        for path in [&case["canonical_path"], &case["python"]["path"], &case["js"]["path"]] {
            // Shortened in the file.
            let Some(path) = path.as_str().filter(|path| !path.contains('<')) else {
                continue;
            };
            let path = path.replacen("/T", "Things", 1);
            let read = read(&service, &path, "nometadata").await;
            let keys = ["PartitionKey", "RowKey"].map(|name| read[name].as_str());
            assert_eq!(keys, [Some(&*partition), Some(&*row)], "{path}");
            found += 1;
        }
    }
    assert!(found >= 90 && rejected >= 8, "{found} {rejected}");
}
