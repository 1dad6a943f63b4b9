//! Patterns of expected texts, and the comparison of responses with them.

use bytes::Bytes;
use http::Response;

use crate::fact::{Expected, Part, rejects, responds};
use crate::parity::expectation::mismatches;
use crate::parity::pattern::{Bound, has, is};
use crate::step::Names;

#[test]
fn wildcards_match_what_a_service_chooses() {
    const ETAG: &str = "W/\"datetime'2026-01-01T00%3A00%3A00.1234567Z'\"";
    for (pattern, text) in [
        ("{etag}", ETAG),
        ("a {etag} b", &format!("a {ETAG} b")),
        ("{etag}", "W/\\\"datetime'2026-01-01T00%3A00%3A00Z'\\\""),
        ("x{time}y", "x2026-01-01T00:00:00.1234567Zy"),
        ("id {id}.", "id 6c3f52f4-0f0e-4c5a-9a57-2f7f0f1f3c11."),
        ("--{id}--", "--6c3f52f4-0f0e--"),
        ("a{text}b", "ab"),
        ("a{some}b", "a b"),
        ("a{text}b{text}", "a and b and c"),
        ("{\"a\":{etag}", "{\"a\":W/\"datetime'x'\""),
    ] {
        assert!(is(pattern, text, &mut Bound::default()), "{pattern} {text}");
    }
    for (pattern, text) in [
        ("{etag}", "\"1\""),
        ("{etag}", "W/\"datetime'2026'"),
        ("{time}", "today"),
        ("{id}", ""),
        ("a{text}b", "a c"),
        ("a{some}b", "ab"),
        ("{some}", ""),
        ("a", "ab"),
    ] {
        assert!(!is(pattern, text, &mut Bound::default()), "{pattern} {text}");
    }
    assert!(has("b{id}z", "a b12z e", &mut Bound::default()));
    assert!(!has("b{id}z", "a bz e", &mut Bound::default()));
}

#[test]
fn name_of_a_run_stands_for_one_recorded_name() {
    for (pattern, text, matches) in [
        ("<T> <T>", "People People", true),
        ("<T> <T>", "People Pets", false),
        (
            "<base>/$metadata#<T>/@Element",
            "https://a.table.core.windows.net/$metadata#People/@Element",
            true,
        ),
        ("<N>a <N>b <N>a", "one two one", true),
        ("<N>a <N>a", "one two", false),
        ("'<K>'", "''", false),
    ] {
        assert_eq!(is(pattern, text, &mut Bound::default()), matches, "{pattern} {text}");
    }
}

/// Returns the parts of a response that are not as expected.
fn parts(expected: Expected, status: u16, header: &str, body: &str) -> Vec<String> {
    let mut response = Response::new(Bytes::from(body.to_owned()));
    *response.status_mut() = status.try_into().unwrap();
    response.headers_mut().insert("content-type", header.parse().unwrap());
    let found = mismatches(&expected, &response, &Names::placeholders(), &mut Bound::default());
    found.into_iter().map(|mismatch| mismatch.part).collect()
}

#[test]
fn each_part_of_a_response_is_compared() {
    const NOT_FOUND: &str =
        r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"No.\nRequestId:1\nTime:2"}}}"#;
    const JSON: &str = "application/json;charset=utf-8";
    let missing = rejects(404, "ResourceNotFound", "No.");
    assert_eq!(parts(missing, 404, JSON, NOT_FOUND), [""; 0]);
    assert_eq!(parts(missing, 410, JSON, NOT_FOUND), ["status"]);
    assert_eq!(parts(missing, 404, JSON, ""), ["code", "message"]);
    assert_eq!(parts(responds(200), 200, JSON, NOT_FOUND), ["code", "message"]);
    let typed = responds(200).headers(&[("content-type", JSON), ("etag", "")]);
    assert_eq!(parts(typed, 200, "application/json; charset=utf-8", ""), [""; 0]);
    assert_eq!(parts(typed, 200, "text/plain", ""), ["header content-type"]);
    let absent = responds(200).headers(&[("content-type", "")]);
    assert_eq!(parts(absent, 200, JSON, ""), ["header content-type"]);

    let row = responds(200).body(&[Part::Is(r#"{"a":1,"b":"{text}","c":[1.0]}"#)]);
    assert_eq!(parts(row, 200, JSON, r#"{"c":[1.0],"b":"x","a":1}"#), [""; 0]);
    for other in [
        r#"{"a":1,"b":"x","c":[1]}"#,
        r#"{"a":1,"b":"x"}"#,
        r#"{"a":1,"b":"x","c":[1.0],"d":1}"#,
        "[]",
    ] {
        assert_eq!(parts(row, 200, JSON, other), ["body"], "{other}");
    }
    let text = responds(200).body(&[Part::Has("one\ntwo"), Part::Lacks("three")]);
    assert_eq!(parts(text, 200, JSON, "zero\r\none\r\ntwo"), [""; 0]);
    assert_eq!(parts(text, 200, JSON, "one, two, three"), ["body", "body"]);
}
