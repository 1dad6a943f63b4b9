//! URLs that name no table, or more than one: recordings of azure-data-tables, `table_name_errors` (2024),
//! `client_with_url_ends_with_table_name` (2024 and 2026) and `new_non_existent_table` (2026).

use super::*;

const CHARACTERS: (&str, &str) = (
    "InvalidResourceName",
    "The specifed resource name contains invalid characters.",
);
const LENGTH: (&str, &str) = (
    "OutOfRangeInput",
    "The specified resource name length is not within the permissible limits.",
);
const ROW: &str = r#"{"PartitionKey":"p","RowKey":"r"}"#;

#[tokio::test]
async fn error_for_an_invalid_table_name_describes_the_fault() {
    let emulator = with_table().await;
    let long = "a".repeat(64);
    for (name, (code, text)) in [
        ("1table", CHARACTERS),
        ("my_table", CHARACTERS),
        ("aa", LENGTH),
        (&long, LENGTH),
        ("a%2F%2F", LENGTH),
    ] {
        let entity = format!("{name}(PartitionKey='p',RowKey='r')");
        let acl = format!("{name}?comp=acl");
        for (method, path, body) in [
            ("POST", name, ROW),
            ("PATCH", &entity, "{}"),
            ("DELETE", &entity, ""),
            ("GET", name, ""),
            ("GET", &acl, ""),
        ] {
            let response = send(&emulator, method, path, &[("if-match", "*")], body).await;
            assert_eq!(error(&response), rejected(400, code, text), "{method} {path}");
            assert_eq!(header(&response, "cache-control"), "", "{method} {path}");
            assert_eq!(header(&response, "x-ms-version"), "2019-02-02", "{method} {path}");
            let is_acl = path.ends_with("acl");
            assert_eq!(header(&response, "x-ms-error-code"), if is_acl { code } else { "" });
        }
    }
    let created = send(&emulator, "POST", "Tables", &[], r#"{"TableName":"a//"}"#).await;
    assert_eq!(error(&created), rejected(400, CHARACTERS.0, CHARACTERS.1));
    assert_eq!(header(&created, "cache-control"), "no-cache");
}

#[tokio::test]
async fn account_url_that_ends_in_a_table_addresses_that_table() {
    let emulator = with_table().await;
    let name = r#"{"TableName":"Blogs"}"#;
    let insert = send(&emulator, "POST", "Blogs/Tables", &[], name).await;
    let text = "The values are not specified for all properties in the entity.";
    assert_eq!(error(&insert), rejected(400, "PropertiesNeedValue", text));
    assert_eq!(header(&insert, "cache-control"), "no-cache");
    let text = "The number of keys specified in the URI does not match number of key properties for the resource \
                'devstoreaccount1.Blogs'.";
    let delete = send(&emulator, "DELETE", "Blogs/Tables('Blogs')", &[], "").await;
    assert_eq!(error(&delete), rejected(400, "InvalidInput", text));
    assert_eq!(header(&delete, "cache-control"), "");
    for (method, path, body) in [("POST", "None/Tables", name), ("DELETE", "None/Tables('None')", "")] {
        let response = send(&emulator, method, path, &[], body).await;
        assert_eq!(
            error(&response),
            rejected(404, "TableNotFound", "The table specified does not exist.")
        );
        assert_eq!(header(&response, "cache-control"), "");
    }
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    let batch = send(&emulator, "POST", "Blogs/$batch", &multipart, "--b--").await;
    let text = "None of the provided media types are supported";
    assert_eq!(error(&batch), rejected(415, "MediaTypeNotSupported", text));
    assert_eq!(
        (header(&batch, "cache-control"), header(&batch, "x-ms-version")),
        ("", "2019-02-02")
    );
    for method in ["GET", "PUT"] {
        let response = send(&emulator, method, "Blogs/?restype=service&comp=properties", &[], "").await;
        let text = "Value for one of the query parameters specified in the request URI is invalid.";
        assert_eq!(error(&response), rejected(400, "InvalidQueryParameterValue", text));
        assert_eq!(header(&response, "content-type"), "application/xml");
        assert_eq!(header(&response, "x-ms-error-code"), "InvalidQueryParameterValue");
        assert_eq!(header(&response, "x-ms-version"), "");
    }
}
