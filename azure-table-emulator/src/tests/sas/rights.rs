//! The permissions of each letter and each resource type of a signature.

use super::*;

/// An operation and its required permissions: the resource type, and the letters, all of at least one text.
struct Needed {
    method: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    kind: &'static str,
    letters: &'static [&'static str],
}

const fn needed(
    method: &'static str,
    path: &'static str,
    kind: &'static str,
    letters: &'static [&'static str],
) -> Needed {
    Needed {
        method,
        path,
        headers: &[],
        body: "{}",
        kind,
        letters,
    }
}

const ROW: &str = "Blogs(PartitionKey='b',RowKey='1')";

fn operations() -> Vec<Needed> {
    vec![
        needed("GET", "Tables", "c", &["l"]),
        needed("GET", "Tables('Blogs')", "c", &["l"]),
        Needed {
            body: r#"{"TableName":"Another"}"#,
            ..needed("POST", "Tables", "c", &["c", "w"])
        },
        needed("DELETE", "Tables('Blogs')", "c", &["d"]),
        needed("GET", "Blogs", "o", &["r"]),
        needed("GET", ROW, "o", &["r"]),
        Needed {
            body: r#"{"PartitionKey":"b","RowKey":"9"}"#,
            ..needed("POST", "Blogs", "o", &["a"])
        },
        Needed {
            headers: ANY,
            ..needed("PUT", ROW, "o", &["u"])
        },
        Needed {
            headers: ANY,
            ..needed("MERGE", ROW, "o", &["u"])
        },
        Needed {
            headers: &[("if-match", "*"), ("x-http-method", "MERGE")],
            ..needed("POST", ROW, "o", &["u"])
        },
        needed("PUT", ROW, "o", &["au"]),
        needed("PATCH", ROW, "o", &["au"]),
        Needed {
            headers: ANY,
            ..needed("DELETE", ROW, "o", &["d"])
        },
    ]
}

/// Every subset of the letters, in order.
fn subsets(letters: &str) -> impl Iterator<Item = String> {
    (1..1_u32 << letters.len()).map(move |set| {
        let chosen = letters.chars().enumerate().filter(|(n, _)| set & (1 << n) != 0);
        chosen.map(|(_, letter)| letter).collect()
    })
}

#[tokio::test]
async fn account_signature_allows_what_its_letters_and_types_permit() {
    for operation in operations() {
        let Needed {
            method,
            path,
            headers,
            body,
            kind,
            letters,
        } = operation;
        for given in subsets("rwdlacu") {
            let emulator = with_rows().await;
            let token = token(ACCOUNT, &[("sp", &given), ("srt", kind)]);
            let response = emulator
                .send(with_token(method, path, headers, body, &token))
                .await
                .unwrap();
            if letters
                .iter()
                .any(|all| all.chars().all(|letter| given.contains(letter)))
            {
                assert!(response.status().is_success(), "{method} {path} with {given}");
                continue;
            }
            assert_eq!(
                error(&response),
                rejected(403, "AuthorizationPermissionMismatch", PERMISSION),
                "{method} {given}"
            );
            // As recorded: an ordinary error.
            assert_eq!(header(&response, "cache-control"), "no-cache");
            assert_eq!(header(&response, "x-ms-error-code"), "");
        }
        let others: String = "sco".chars().filter(|other| !kind.contains(*other)).collect();
        let token = token(ACCOUNT, &[("srt", &others)]);
        let response = with_rows()
            .await
            .send(with_token(method, path, headers, body, &token))
            .await
            .unwrap();
        let text = "This request is not authorized to perform this operation using this resource type.";
        assert_eq!(
            error(&response),
            rejected(403, "AuthorizationResourceTypeMismatch", text),
            "{method} {path}"
        );
    }
    let emulator = with_table().await;
    let all = token(ACCOUNT, &[]);
    let acl = error(&try_with(&emulator, "GET", "Blogs?comp=acl", "", &all).await);
    assert_eq!(
        acl,
        rejected(403, "AuthorizationFailure", NOTHING),
        "no signature touches policies"
    );
    for (method, srt, sp, code) in [
        ("GET", "s", "r", ""),
        ("PUT", "s", "w", ""),
        ("GET", "s", "w", "AuthorizationPermissionMismatch"),
        ("GET", "co", "r", "AuthorizationResourceTypeMismatch"),
    ] {
        let token = token(ACCOUNT, &[("srt", srt), ("sp", sp)]);
        let body = "<StorageServiceProperties />";
        let response = try_with(&emulator, method, "?restype=service&comp=properties", body, &token).await;
        if code.is_empty() {
            assert!(response.status().is_success(), "{method}");
        } else {
            assert_eq!(error(&response).1, code, "{method} {srt} {sp}");
        }
    }
    assert_eq!(error(&try_with(&emulator, "PUT", "Tables", "", &all).await).0, 405);
}

#[tokio::test]
async fn table_signature_is_limited_to_the_rows_of_its_table() {
    for operation in operations() {
        let Needed {
            method,
            path,
            headers,
            body,
            kind,
            letters,
        } = operation;
        for given in subsets("raud") {
            let emulator = with_rows().await;
            let token = token(TABLE, &[("sp", &given)]);
            let response = emulator
                .send(with_token(method, path, headers, body, &token))
                .await
                .unwrap();
            if kind != "o" {
                assert_eq!(
                    error(&response),
                    rejected(403, "AuthorizationFailure", NOTHING),
                    "{method} {path}"
                );
            } else if letters
                .iter()
                .any(|all| all.chars().all(|letter| given.contains(letter)))
            {
                assert!(response.status().is_success(), "{method} {path} with {given}");
            } else {
                assert_eq!(
                    error(&response),
                    rejected(403, "AuthorizationPermissionMismatch", PERMISSION),
                    "{method} {given}"
                );
                assert_eq!(header(&response, "x-ms-error-code"), "");
            }
        }
    }
    let emulator = with_table().await;
    let token = token(TABLE, &[]);
    for path in [
        "Others",
        "Others(PartitionKey='b',RowKey='1')",
        "Blogs?comp=acl",
        "?restype=service&comp=properties",
    ] {
        let response = try_with(&emulator, "GET", path, "", &token).await;
        assert_eq!(
            error(&response),
            rejected(403, "AuthorizationFailure", NOTHING),
            "{path}"
        );
    }
}
