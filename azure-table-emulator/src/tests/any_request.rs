//! Every request gets a valid response.

use futures::FutureExt as _;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Text made of pieces that mean something to the service, and of arbitrary characters.
fn text(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => select(pieces).prop_map(str::to_owned), 1 => any::<String>()];
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

const PATH: &[&str] = &[
    "Tables",
    "Blogs",
    "(",
    ")",
    "'",
    "''",
    "PartitionKey=",
    "RowKey=",
    "'p'",
    ",",
    "%27",
    "%",
    "%ff",
    "/",
    "$batch",
    "?",
    "&",
    "$filter=",
    "$select=",
    "$top=",
    "A%20eq%201",
    "NextPartitionKey=",
    "NextRowKey=",
    "1!4!cDA-",
    "-",
    "+",
    "=",
    "?restype=service&comp=",
    "comp=acl",
    "properties",
    "stats",
    "userdelegationkey",
    "si=x",
    "sig=x",
    "tn=Blogs",
    "skoid=x",
    "sduoid=x",
];
const BODY: &[&str] = &[
    "{",
    "}",
    "\"",
    ":",
    ",",
    "[",
    "]",
    "\"PartitionKey\":\"p\"",
    "\"RowKey\":\"r\"",
    "\"TableName\":\"Blogs\"",
    "\"A@odata.type\":\"Edm.Int64\"",
    "\"A\":",
    "1",
    "-",
    "1e999",
    "null",
    "\\u0000",
    "\n",
    "--b",
    "--b--",
    "--c",
    "--c--",
    "Content-Type: multipart/mixed; boundary=c\n\n",
    "Content-Type: application/http\n\n",
    "POST /Blogs HTTP/1.1\n",
    "DELETE /Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: *\n\n",
    " HTTP/1.1",
    "<SignedIdentifiers>",
    "</SignedIdentifiers>",
    "<SignedIdentifier><Id>x</Id></SignedIdentifier>",
    "<StorageServiceProperties>",
    "</StorageServiceProperties>",
    "<Cors><CorsRule>",
    "</CorsRule></Cors>",
    "<MaxAgeInSeconds>9</MaxAgeInSeconds>",
    "<KeyInfo>",
    "&#0;",
];
const HOSTS: &[&str] = &[
    BASE,
    "http://127.0.0.1:10002/devstoreaccount1-secondary",
    "https://devstoreaccount1.table.core.windows.net",
    "https://devstoreaccount1.table.cosmos.azure.com",
];

proptest! {
    #[test]
    fn no_request_causes_a_panic(
        host in select(HOSTS),
        method in select(&["GET", "POST", "PUT", "MERGE", "DELETE", "OPTIONS"][..]),
        origin in prop_oneof![Just("https://a.com".to_owned()), "[*,;a-z]{0,4}"],
        path in text(PATH),
        body in text(BODY),
        is_batch in any::<bool>(),
        if_match in prop_oneof![Just("*".to_owned()), "[\"W/x]{0,4}"],
    ) {
        let path = if is_batch { "$batch".to_owned() } else { path };
        let mut request = Request::new(Bytes::from(body));
        let Ok(uri) = format!("{host}/{path}").parse() else { return Ok(()) };
        *request.uri_mut() = uri;
        *request.method_mut() = method.parse().unwrap();
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        for (name, value) in [
            ("x-ms-date", &*date),
            ("accept", "application/json"),
            ("content-type", if is_batch { "multipart/mixed; boundary=b" } else { "application/json" }),
            ("if-match", &if_match),
            ("origin", &origin),
            ("access-control-request-method", &if_match),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
        let emulator = Emulator::new();
        let site = crate::site::at(BASE);
        emulator.service.store.write().create_table(site.replica(), "Blogs", emulator.clock().now()).unwrap();
        let response = emulator.service.serve(request).now_or_never().unwrap().0;
        prop_assert!(response.status().as_u16() < 500 || response.status() == 501);
        // A 403 is valid only for an action that the key does not permit, and for a preflight request that no rule
        // matches.
        let is_signed = method != "OPTIONS" && !path.contains("comp=") && host != HOSTS[1];
        prop_assert!(!is_signed || response.status() != 403);
    }
}
