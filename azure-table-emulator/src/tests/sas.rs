//! Shared access signatures: valid ones, and how invalid ones are rejected.

mod delegated;
mod policies;
mod rights;
mod rows;

use azure_table_wire::sas::parameters::{SasParameters, account_string_to_sign, table_string_to_sign};

use super::*;

const UNAUTHENTICATED: &str = "Server failed to authenticate the request. Make sure the value of Authorization header \
                               is formed correctly including the signature.";
const ANY: &[(&str, &str)] = &[("if-match", "*")];
const PERMISSION: &str = "This request is not authorized to perform this operation using this permission.";
const NOTHING: &str = "This request is not authorized to perform this operation.";
pub(super) const TABLE: &[(&str, &str)] = &[
    ("sv", "2019-02-02"),
    ("tn", "blogs"),
    ("sp", "raud"),
    ("se", "2999-01-01"),
];
const ACCOUNT: &[(&str, &str)] = &[
    ("sv", "2020-12-06"),
    ("ss", "t"),
    ("srt", "sco"),
    ("sp", "rwdlacu"),
    ("se", "2999-01-01"),
];

/// Builds the query of a signature: `base` with changed values for some parameters. Empty ones are omitted.
pub(super) fn token(base: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    let mut parameters = SasParameters::default();
    for (name, value) in base {
        let changed = changes.iter().find(|(known, _)| known == name);
        parameters.add(name, changed.map_or(*value, |(_, value)| value));
    }
    for (name, value) in changes {
        if !base.iter().any(|(known, _)| known == name) {
            parameters.add(name, *value);
        }
    }
    let string = match parameters.get("tn") {
        "" => account_string_to_sign(&parameters, DEVELOPMENT_ACCOUNT),
        table => table_string_to_sign(&parameters, DEVELOPMENT_ACCOUNT, table),
    };
    parameters.add("sig", SigningKey::development().sign(&string));
    let pairs: Vec<String> = parameters
        .pairs()
        .iter()
        .map(|(name, value)| format!("{name}={}", azure_table_wire::codec::url::encode(value)))
        .collect();
    pairs.join("&")
}

/// Builds a request with a signature and no other credential.
fn with_token(method: &str, path: &str, headers: &[(&str, &str)], body: &str, token: &str) -> Request<Bytes> {
    let separator = if path.contains('?') { '&' } else { '?' };
    let mut request = unsigned(method, &format!("{path}{separator}{token}"), headers, body);
    request.headers_mut().remove("x-ms-date");
    request
}

pub(super) async fn try_with(
    emulator: &Emulator,
    method: &str,
    path: &str,
    body: &str,
    token: &str,
) -> Response<Bytes> {
    let request = with_token(method, path, &[], body, token);
    // Without a yield, so that a test can poll a request turn by turn.
    emulator.exchange(request).await.unwrap()
}

async fn with_rows() -> Emulator {
    let emulator = with_table().await;
    for (partition, row) in [("a", "1"), ("b", "1"), ("b", "2"), ("b", "3"), ("c", "1")] {
        let entity = format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}"}}"#);
        assert_eq!(send(&emulator, "POST", "Blogs", &[], &entity).await.status(), 201);
    }
    emulator
}

fn keys(response: &Response<Bytes>) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    let rows = json["value"].as_array().unwrap().iter();
    rows.map(|row| format!("{}{}", row["PartitionKey"], row["RowKey"]).replace('"', ""))
        .collect()
}

#[tokio::test]
async fn invalid_signature_fails_like_a_wrong_key() {
    let emulator = with_table().await;
    for (base, path) in [
        (TABLE, "Blogs"),
        (ACCOUNT, "Blogs"),
        (ACCOUNT, "Tables"),
        (TABLE, "$batch"),
    ] {
        let mut tokens: Vec<String> = [
            ("se", "2020-01-01"),
            ("se", "2020-01-01T00:00Z"),
            ("se", "2020-01-01T00:00:00Z"),
            ("se", ""),
            ("se", "tomorrow"),
            ("se", "2999-01-01T00"),
            ("se", "2020-01-01T00:00:00"),
            ("se", "2020-01-01T00:00:00.5Z"),
            ("se", "2999-01-01T00:00:00.265131Z"),
            ("st", "2020-01-01T00:00:00.265131Z"),
            ("st", "2998-01-01"),
            ("st", "x"),
            ("sp", ""),
            ("sp", "rr"),
            ("sp", "rz"),
            ("sv", ""),
            ("sv", "2011-08-18"),
            ("sv", "2999-13-01"),
            ("si", "policy"),
            ("spr", "http"),
            ("sip", "here"),
        ]
        .iter()
        .map(|change| token(base, &[*change]))
        .collect();
        let good = token(base, &[]);
        tokens.push(good.replace("se=2999", "se=2998"));
        tokens.push(good.replace("sig=", "sig=x"));
        tokens.push(format!("{good}&sp=r"));
        tokens.push(good.replace("sv=", "x="));
        for token in tokens {
            let response = try_with(
                &emulator,
                if path == "$batch" { "POST" } else { "GET" },
                path,
                "",
                &token,
            )
            .await;
            assert_eq!(
                error(&response),
                rejected(403, "AuthenticationFailed", UNAUTHENTICATED),
                "{token}"
            );
            assert_eq!(header(&response, "x-ms-error-code"), "AuthenticationFailed");
            assert_eq!(response.headers().len(), 5);
        }
    }
    for (base, change) in [
        (TABLE, ("sp", "ar")),
        (TABLE, ("sp", "raudl")),
        (TABLE, ("srk", "1")),
        (TABLE, ("erk", "1")),
        (TABLE, ("epk", "a\nb")),
        (TABLE, ("tn", "")),
        (TABLE, ("ss", "t")),
        (ACCOUNT, ("sv", "2015-02-21")),
        (ACCOUNT, ("srt", "")),
        (ACCOUNT, ("srt", "x")),
        (ACCOUNT, ("ss", "")),
    ] {
        let response = try_with(&emulator, "GET", "Blogs", "", &token(base, &[change])).await;
        assert_eq!(error(&response).1, "AuthenticationFailed", "{change:?}");
    }
    let mut elsewhere = with_token("GET", "", &[], "", &token(ACCOUNT, &[]));
    let uri = elsewhere.uri().to_string().replace(DEVELOPMENT_ACCOUNT, "other");
    *elsewhere.uri_mut() = uri.parse().unwrap();
    let emulator = emulator.account("other", "AAEC").unwrap();
    let response = emulator.send(elsewhere).await.unwrap();
    assert_eq!(error(&response).1, "AuthenticationFailed");
}

#[tokio::test]
async fn valid_signature_is_accepted_in_every_form() {
    let emulator = with_rows().await;
    for (base, changes) in [
        (TABLE, &[][..]),
        (
            TABLE,
            &[("tn", "BLOGS"), ("st", "2020-01-01"), ("se", "2999-01-01T01:02Z")],
        ),
        (TABLE, &[("st", "2020-01-01T00:00:00"), ("se", "2999-01-01T01:02:03Z")]),
        (
            TABLE,
            &[("st", "2020-01-01T00:00+02:00"), ("se", "2999-01-01T01:02:03-02:00")],
        ),
        (TABLE, &[("sp", "r"), ("spr", "https,http"), ("sip", "1.1.1.1")]),
        (TABLE, &[("sv", "2015-04-05"), ("se", "2999-01-01T01:02:03Z")]),
        (ACCOUNT, &[]),
        (TABLE, &[("sv", "2999-01-01")]),
        (ACCOUNT, &[("sv", "2019-02-02"), ("ss", "bqtf"), ("srt", "o")]),
        (ACCOUNT, &[("sp", "rwdlacupiyx")]),
        (ACCOUNT, &[("sp", "rwdxylacuptfi"), ("ses", "scope")]),
    ] {
        let token = token(base, changes);
        let path = "blogs()?$filter=PartitionKey%20eq%20'b'&$top=2&$select=PartitionKey,RowKey";
        let response = try_with(&emulator, "GET", path, "", &token).await;
        assert_eq!(response.status(), 200, "{token}");
        assert_eq!(keys(&response), ["b1", "b2"]);
        let first = with_token("GET", &format!("Blogs?{token}&$top=1"), &[], "", "timeout=5");
        assert_eq!(
            keys(&emulator.send(first).await.unwrap()),
            ["a1"],
            "options may come last"
        );
    }
    // The version of the response is the signature's unless another one is given.
    for (more, version) in [("", "2020-12-06"), ("&api-version=2018-03-28", "2018-03-28")] {
        let mut request = with_token("GET", "Blogs", &[], "", &(token(ACCOUNT, &[]) + more));
        request.headers_mut().remove("x-ms-version");
        assert_eq!(header(&emulator.send(request).await.unwrap(), "x-ms-version"), version);
    }
    let mut both = with_token("GET", "Blogs", &[], "", &token(TABLE, &[]));
    both.headers_mut()
        .insert("authorization", "SharedKey x:y".parse().unwrap());
    assert_eq!(emulator.send(both).await.unwrap().status(), 403);
}

/// The strings to sign are written out: `/table` is part of them since 2015-02-21, `sip` and `spr` since 2015-04-05.
///
/// Source: REST "Create a service SAS"; the Go and npm clients of these versions.
#[tokio::test]
async fn signatures_of_older_versions_are_accepted() {
    let emulator = with_rows().await;
    for (version, resource) in [
        ("2012-02-12", "/devstoreaccount1/blogs"),
        ("2013-08-15", "/devstoreaccount1/blogs"),
        ("2014-02-14", "/devstoreaccount1/blogs"),
        ("2015-02-21", "/table/devstoreaccount1/blogs"),
    ] {
        for (range, found) in [
            (["", "", "", ""], &["a1", "b1", "b2", "b3", "c1"][..]),
            (["b", "2", "b", "3"], &["b2", "b3"]),
        ] {
            let fields = ["r", "2020-01-01", "2999-01-01T00:00:00Z", resource, "", version];
            let to_sign = [&fields[..], &range].concat().join("\n");
            let query = |to_sign: &str| {
                let mut query = format!("sv={version}&tn=Blogs&sp=r&st=2020-01-01&se=2999-01-01T00%3A00%3A00Z");
                for (name, value) in ["spk", "srk", "epk", "erk"].into_iter().zip(range) {
                    query += &format!("&{name}={value}");
                }
                let signature = SigningKey::development().sign(to_sign);
                format!("{query}&sig={}", azure_table_wire::codec::url::encode(&signature))
            };
            let response = try_with(&emulator, "GET", "Blogs", "", &query(&to_sign)).await;
            assert_eq!(response.status(), 200, "{version}: {}", body(&response));
            assert_eq!(keys(&response), found, "{version}");
            let insert = r#"{"PartitionKey":"b","RowKey":"25"}"#;
            let response = try_with(&emulator, "POST", "Blogs", insert, &query(&to_sign)).await;
            assert_eq!(error(&response).1, "AuthorizationPermissionMismatch", "{version}");
            let other = match resource.strip_prefix("/table") {
                Some(older) => to_sign.replace(resource, older),
                None => to_sign.replace(resource, &format!("/table{resource}")),
            };
            let response = try_with(&emulator, "GET", "Blogs", "", &query(&other)).await;
            assert_eq!(error(&response).1, "AuthenticationFailed", "{version}");
        }
    }
}

#[tokio::test]
async fn protocol_service_and_source_are_checked() {
    let emulator = with_table().await;
    let response = try_with(&emulator, "GET", "Blogs", "", &token(TABLE, &[("spr", "https")])).await;
    let text = "This request is not authorized to perform this operation using this protocol.";
    assert_eq!(error(&response), rejected(403, "AuthorizationProtocolMismatch", text));
    let mut secure = with_token("GET", "Blogs", &[], "", &token(ACCOUNT, &[("spr", "https")]));
    *secure.uri_mut() = secure.uri().to_string().replace("http:", "https:").parse().unwrap();
    assert_eq!(emulator.send(secure).await.unwrap().status(), 200);

    let response = try_with(&emulator, "GET", "Blogs", "", &token(ACCOUNT, &[("ss", "bqf")])).await;
    let text = "This request is not authorized to perform this operation using this service.";
    assert_eq!(error(&response), rejected(403, "AuthorizationServiceMismatch", text));

    for (range, peer, allowed) in [
        ("10.0.0.1", "10.0.0.1:80", true),
        ("10.0.0.1-10.0.0.9", "10.0.0.9:80", true),
        ("10.0.0.1-10.0.0.9", "[::ffff:10.0.0.2]:80", true),
        ("10.0.0.1-10.0.0.9", "10.0.0.10:80", false),
        ("10.0.0.1", "[::1]:80", false),
    ] {
        let mut request = with_token("GET", "Blogs", &[], "", &token(TABLE, &[("sip", range)]));
        let peer: std::net::SocketAddr = peer.parse().unwrap();
        request.extensions_mut().insert(peer);
        let response = emulator.send(request).await.unwrap();
        if allowed {
            assert_eq!(response.status(), 200, "{range} {peer}");
        } else {
            let ip = peer.ip();
            let text = format!("This request is not authorized to perform this operation using this source IP {ip}.");
            assert_eq!(error(&response), rejected(403, "AuthorizationSourceIPMismatch", &text));
        }
    }
}

#[tokio::test]
async fn source_address_is_that_of_the_http_connection() {
    use std::io::{Read as _, Write as _};
    let server = crate::EmulatorServer::bind(with_table().await, "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    for (range, status) in [("127.0.0.1", "200"), ("127.0.0.2", "403")] {
        let (address, token) = (server.address(), token(TABLE, &[("sip", range)]));
        let response = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            let head = format!(
                "GET /{DEVELOPMENT_ACCOUNT}/Blogs?{token} HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\n\
                 Connection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            response
        });
        let response = response.await.unwrap();
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{response}");
    }
}
