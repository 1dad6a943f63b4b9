//! Names of tables, and URLs with them. Recordings of azure-data-tables: `create_table_underscore_name`,
//! `create_table_unicode_name`, `table_name_errors_bad_chars`, `table_name_errors_bad_length`,
//! `client_with_url_ends_with_table_name` (2024 and 2026).

use super::*;

const FULL: &str = "application/json;odata=fullmetadata";
const ADDRESS: &str = "Request url is invalid.";
const VALUE: &str = "One of the input values is invalid.";

#[tokio::test]
async fn names_of_any_script_are_accepted_and_returned() {
    let emulator = with_table().await;
    for name in [
        "my_table",
        "\u{554a}\u{9f44}\u{4e02}",
        "a-b",
        "ab",
        "1",
        &"x".repeat(254),
    ] {
        let created = ask(
            &emulator,
            "POST",
            "Tables",
            &[],
            &format!(r#"{{"TableName":"{name}"}}"#),
        )
        .await;
        assert_eq!(created.status(), 201, "{name}: {}", body(&created));
        let path = azure_table_wire::codec::url::encode(name).to_string();
        let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
        assert_eq!(ask(&emulator, "POST", &path, &[], row).await.status(), 201, "{name}");
        let deleted = ask(&emulator, "DELETE", &format!("Tables('{path}')"), &[], "").await;
        assert_eq!(deleted.status(), 204, "{name}");
    }
}

#[tokio::test]
async fn error_for_names_with_url_characters_depends_on_the_character() {
    let emulator = with_table().await;
    for (name, wrong) in [(r"\\", r"\"), ("//", "/"), ("#", "#"), ("?", "?"), (r"a\\", r"\")] {
        let created = ask(
            &emulator,
            "POST",
            "Tables",
            &[],
            &format!(r#"{{"TableName":"{name}"}}"#),
        )
        .await;
        let text = format!("The table name contains an invalid character {wrong}.");
        assert_eq!(error(&created), rejected(400, "InvalidInput", &text));
        assert_eq!(header(&created, "content-type"), FULL);
    }
    let space = ask(&emulator, "POST", "Tables", &[], r#"{"TableName":"- "}"#).await;
    assert_eq!(
        error(&space),
        rejected(400, "InvalidInput", "Table name cannot end with a space.")
    );
    let long = format!(r#"{{"TableName":"{}"}}"#, "-".repeat(255));
    let long = ask(&emulator, "POST", "Tables", &[], &long).await;
    let text = "Message: {\"Errors\":[\"The input name is invalid. Ensure to provide a unique non-empty string less than \
                '255' characters.\",\"The request payload is invalid. Ensure to provide a valid request payload.\"]}";
    assert_eq!(error(&long), rejected(400, "BadRequest", text));
    assert_eq!(header(&long, "content-type"), "application/json;odata=minimalmetadata");
}

#[tokio::test]
async fn error_for_invalid_names_in_urls_depends_on_the_operation() {
    let emulator = with_table().await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let any = [("if-match", "*")];
    let merge = [("x-http-method", "MERGE")];
    let entity = "%2F%2F(PartitionKey='p',RowKey='r')";
    for (method, path, headers, status, code, text) in [
        (
            "DELETE",
            "Tables('%5C')",
            &[][..],
            405,
            "MethodNotAllowed",
            "RequestHandler.Delete",
        ),
        (
            "DELETE",
            "Tables('%23')",
            &[],
            405,
            "MethodNotAllowed",
            "RequestHandler.Delete",
        ),
        ("DELETE", "Tables('%2F%2F')", &[], 400, "InvalidInput", ADDRESS),
        ("POST", "%2F%2F", &[], 400, "InvalidInput", ADDRESS),
        ("POST", entity, &merge, 400, "InvalidInput", VALUE),
        ("DELETE", entity, &any, 400, "InvalidInput", VALUE),
        (
            "POST",
            "%5C",
            &[],
            404,
            "ResourceNotFound",
            "The specified resource does not exist.",
        ),
        ("POST", "Blogs/Tables", &[], 400, "InvalidInput", ADDRESS),
        ("POST", "Blogs/$batch", &[], 400, "InvalidInput", ADDRESS),
        ("DELETE", "Blogs/Tables('Blogs')", &[], 400, "InvalidInput", ADDRESS),
    ] {
        let response = ask(&emulator, method, path, headers, row).await;
        assert_eq!(error(&response), rejected(status, code, text), "{method} {path}");
        let is_row = status == 404;
        assert_eq!(header(&response, "content-type") == FULL, !is_row, "{method} {path}");
    }
    let batch = format!(
        "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nPOST \
         {COSMOS}/{entity} HTTP/1.1\r\nX-HTTP-Method: MERGE\r\n\r\n{{}}\r\n--c--\r\n--b--\r\n"
    );
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    let response = ask(&emulator, "POST", "$batch", &multipart, &batch).await;
    assert_eq!(error(&response), rejected(400, "InvalidInput", VALUE));
}
