//! Pages and entities, checked against serde_json, and lists of tables.
//!
//! If serde_json accepts a page or an entity, the client accepts it with the same values. If serde_json rejects the
//! JSON, the client rejects it. The oracle allows for these intended differences:
//! - a byte order mark is skipped, because live responses may have one;
//! - skipped values may be nested 64 levels deep and not 128: the service's own responses are flat;
//! - a number beyond the range of a double is valid if its value is not needed;
//! - doubles are those nearest to their digits, while serde_json is sometimes off by a bit;
//! - `-0` without a point is an Int32;
//! - a value has to fit the type in its annotation, and a duplicate name has no meaning.

use azure_table::{DynamicEntity, EdmValue, ErrorKind, Result};

use super::oracle::{self, Verdict};
use super::{Kind, assert_presentable, on_runtime, responded, response, things};

/// Pages, entities and lists of tables.
pub const KIND: Kind = Kind {
    name: "json",
    check: |body| {
        check_page(body);
        check_entity(body);
        check_list_of_tables(body);
    },
    samples: &[PAGES, ENTITIES, LISTS],
    pieces: PIECES,
};

/// Pages.
pub const PAGES: &[&str] = &[
    r#"{"odata.metadata":"https://contoso.table.core.windows.net/$metadata#Things","value":[{"odata.etag":"W/\"datetime'2026-01-02T03%3A04%3A05.1Z'\"","PartitionKey":"p","RowKey":"1","Timestamp":"2026-01-02T03:04:05.1Z","L@odata.type":"Edm.Int64","L":"5","D":5.25,"I":5,"S":"a\"b\u00e9\ud83d\ude00","N":null,"B":true,"G@odata.type":"Edm.Guid","G":"debc44d5-04a9-42ea-ab2f-4e2cb49ff833"},{"odata.etag":"e","PartitionKey":"p","RowKey":"2","Timestamp":"2026-01-02T03:04:05.1Z","L@odata.type":"Edm.Int64","L":"6"}]}"#,
    r#"{"value":[]}"#,
    r#" { "value" : [ { "PartitionKey" : "" , "RowKey" : "" , "D" : -1.5e-3 , "X@odata.type" : "Edm.Binary" , "X" : "AAEC" } ] , "deep" : { "a" : [ [ { } , null ] ] } } "#,
    r#"{"value":[{"PartitionKey":"p","RowKey":"r","D@odata.type":"Edm.Double","D":"NaN","T":"2026-01-02T03:04:05Z","T@odata.type":"Edm.DateTime"}]}"#,
];

/// Single entities.
pub const ENTITIES: &[&str] = &[
    r#"{"odata.metadata":"m","odata.etag":"e","PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-02T03:04:05.1Z","L@odata.type":"Edm.Int64","L":"-9223372036854775808","D":0.1,"I":-2147483648,"S":"\\\/\b\f\n\r\t","B":false}"#,
    r#"{"PartitionKey":"p","RowKey":"r"}"#,
];

/// Parts of both.
pub const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\"value\"",
    "\"value\":[",
    "\"PartitionKey\":\"p\",",
    "\"RowKey\":\"r\"",
    "\"A\":",
    "\"A@odata.type\":",
    "\"Edm.Int64\"",
    "\"Edm.Double\"",
    "\"Timestamp\":",
    "\"odata.etag\":",
    "null",
    "true",
    "false",
    "5",
    "-",
    ".",
    "e",
    "0",
    "\\ud83d",
    "\\ude00",
    "\\u0000",
    "{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"r\",",
];

/// Lists of tables.
pub const LISTS: &[&str] = &[r#"{"odata.metadata":"m","value":[{"TableName":"A"},{"TableName":"B"}]}"#];

/// Returns the rows that a client reads from a page.
///
/// # Errors
/// The errors of the query.
pub fn page(body: &[u8]) -> Result<Vec<DynamicEntity>> {
    let service = responded([response(200, &[], body)]);
    on_runtime(async { things(&service).query().all().await })
}

/// The key of each requested entity.
const REQUESTED: (&str, &str) = ("p", "r");

fn entity(body: &[u8]) -> Result<Vec<DynamicEntity>> {
    let service = responded([response(200, &[], body)]);
    on_runtime(async { things(&service).get(REQUESTED).await }).map(Vec::from_iter)
}

/// Checks that a page is read as serde_json reads it.
pub fn check_page(body: &[u8]) {
    check(page(body), oracle::page(body));
}

/// Checks that an entity is read as serde_json reads it, and rejected if its key is not the requested one.
pub fn check_entity(body: &[u8]) {
    let read = entity(body);
    match oracle::entity(body) {
        Verdict::Rows(rows) if rows.iter().any(|row| !is_requested(row)) => {
            let Err(error) = read else {
                panic!("{read:?} was not requested")
            };
            assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
            assert_presentable(&error);
        }
        verdict => check(read, verdict),
    }
}

fn is_requested(row: &DynamicEntity) -> bool {
    (&*row.partition_key, &*row.row_key) == REQUESTED
}

/// Checks that a list of tables is read or rejected.
pub fn check_list_of_tables(body: &[u8]) {
    let service = responded([response(200, &[], body)]);
    if let Err(error) = on_runtime(async { service.list_tables().await }) {
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        assert_presentable(&error);
    }
}

/// Checks that the samples are read.
///
/// # Panics
/// A sample is not.
pub fn check_samples() {
    for sample in PAGES {
        assert!(matches!(oracle::page(sample.as_bytes()), Verdict::Rows(_)), "{sample}");
        page(sample.as_bytes()).unwrap();
    }
    for sample in ENTITIES {
        assert!(
            matches!(oracle::entity(sample.as_bytes()), Verdict::Rows(_)),
            "{sample}"
        );
        entity(sample.as_bytes()).unwrap();
    }
}

/// Compares the result with the verdict.
fn check(read: Result<Vec<DynamicEntity>>, verdict: Verdict) {
    if let Err(error) = &read {
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        assert_presentable(error);
    }
    match (verdict, read) {
        (Verdict::NotJson, Ok(rows)) => panic!("this is no JSON, and read as {rows:?}"),
        (Verdict::Rows(expected), Ok(rows)) => {
            assert_eq!(rows.len(), expected.len());
            for (row, expected) in rows.iter().zip(&expected) {
                assert!(same(row, expected), "{row:?} is not {expected:?}");
            }
        }
        (Verdict::Rows(expected), Err(error)) => panic!("{error} instead of {expected:?}"),
        (Verdict::NotJson, Err(_)) | (Verdict::Open, _) => {}
    }
}

fn same(row: &DynamicEntity, expected: &DynamicEntity) -> bool {
    let heads = |row: &DynamicEntity| {
        let names: Vec<String> = row.properties.keys().cloned().collect();
        (
            row.partition_key.clone(),
            row.row_key.clone(),
            row.timestamp,
            row.etag.clone(),
            names,
        )
    };
    heads(row) == heads(expected)
        && row
            .properties
            .values()
            .zip(expected.properties.values())
            .all(same_value)
}

/// Compares values: doubles up to the last bit, in which serde_json errs.
fn same_value((ours, theirs): (&EdmValue, &EdmValue)) -> bool {
    match (ours, theirs) {
        (EdmValue::Double(a), EdmValue::Double(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 4.0 * f64::EPSILON * b.abs()
        }
        // serde_json parses `-0` as a double.
        (EdmValue::Int32(0), EdmValue::Double(b)) => *b == 0.0 && b.is_sign_negative(),
        (a, b) => a == b,
    }
}
