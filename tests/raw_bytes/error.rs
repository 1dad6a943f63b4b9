//! Error responses in every form, and in none.

use azure_table::{CallOptions, ErrorKind, NoRetry};
use azure_table_tests::untrusted::{is_presentable, on_runtime, responded, response, things};
use proptest::prelude::*;

use crate::document::document;

const ERRORS: &[&str] = &[
    r#"{"odata.error":{"code":"TableNotFound","message":{"lang":"en-US","value":"0:The table specified does not exist.\nRequestId:a\nTime:b"}}}"#,
    "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>AuthenticationFailed</Code><Message>Server failed ?sv=1&amp;sig=SECRET&amp;se=2\nRequestId:x</Message></Error>",
    "<?xml version=\"1.0\"?><m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>X</m:code><m:message xml:lang=\"en-US\">sig=SECRET</m:message></m:error>",
    "<html><body>GET /Things()?sig=SECRET</body></html>",
    r#"{"odata.error":{"code":"X"}}"#,
];

const PIECES: &[&str] = &[
    "{",
    "}",
    "\"",
    "\"odata.error\":",
    "\"code\":",
    "\"message\":",
    "\"value\":",
    "99999999999999999999:",
    "\\n",
    "\\u001b[31m",
    "\nRequestId:",
    "sig=SECRET",
    "<Error>",
    "</Error>",
    "<Code>",
    "</Code>",
    "<Message>",
    "&#10;",
    "&lt;",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE",
    "<!ENTITY",
    "é",
    "\u{1b}[2J",
];

proptest! {
    #[test]
    fn any_error_response_can_be_logged(
        status in 400..500_u16,
        code in proptest::option::of("[!-~]{1,40}"),
        content_type in proptest::option::of("[ -~]{0,40}"),
        body in document(ERRORS, PIECES),
    ) {
        let headers = [("x-ms-error-code", &code), ("content-type", &content_type)];
        let headers: Vec<_> = headers.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
        let service = responded([response(status, &headers, &body.0)]);
        let table = things(&service);
        let error = on_runtime(async { table.query().with(&CallOptions::new().retry(NoRetry)).all().await }).unwrap_err();
        is_presentable(&error).map_err(TestCaseError::fail)?;
        prop_assert!(error.status() == Some(status) || error.kind() == ErrorKind::InvalidResponse, "{error:?}");
        let shown = format!("{error} {error:?}");
        prop_assert!(!shown.contains("sig=SECRET"), "{shown}");
    }
}
