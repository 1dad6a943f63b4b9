//! Texts from users: connection strings, shared access signatures, URLs with them, and continuations.

use azure_table::{
    Continuation, DynamicEntity, Error, ErrorKind, SasToken, TableClient, TableName, TableServiceClient,
};

use super::{Kind, assert_presentable, on_runtime, responded, things};
use crate::canned::{Canned, Step};

/// Connection strings, shared access signatures, URLs with them, and continuations.
pub const KIND: Kind = Kind {
    name: "credentials",
    check: |text| {
        let text = String::from_utf8_lossy(text);
        check_connection_string(&text);
        check_signature(&text);
        check_sas_url(&text);
        check_position(&text);
    },
    samples: &[CONNECTION_STRINGS, SIGNATURES, SAS_URLS, POSITIONS],
    pieces: PARAMETERS,
};

/// Connection strings. Their secrets are `SECRET`, repeated so that they can be recognized.
pub const CONNECTION_STRINGS: &[&str] = &[
    "DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=SECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSE==;EndpointSuffix=core.windows.net",
    "AccountName=contoso;AccountKey=SECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSE==;TableEndpoint=https://contoso.table.cosmos.azure.com:443/;TableSecondaryEndpoint=http://127.0.0.1:10002/contoso-secondary",
    "TableEndpoint=https://contoso.table.core.windows.net/;SharedAccessSignature=sv=2019-02-02&se=2030-01-01&sp=r&tn=T&sig=SECRETSECRET%3D",
    "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://127.0.0.2",
];
/// Parts of connection strings.
pub const SETTINGS: &[&str] = &[
    ";",
    "=",
    "AccountName=",
    "AccountKey=",
    "TableEndpoint=",
    "EndpointSuffix=",
    "SharedAccessSignature=",
    "https://",
    "http://[::1]:1/",
    "UseDevelopmentStorage=true",
    "contoso",
    "sig=SECRETSECRET",
    "SECRETSECRET",
    "?",
    "#",
    "@",
    "%",
    "%ff",
    "/",
    ":",
    " ",
    "é",
];
/// Shared access signatures.
pub const SIGNATURES: &[&str] = &[
    "?sv=2019-02-02&ss=t&srt=sco&sp=rwdlacu&se=2030-01-01T00:00:00Z&st=2020-01-01&spr=https&sip=1.1.1.1-2.2.2.2&sig=SECRETSECRET%2B%3D",
    "sv=2019-02-02&tn=things&si=policy&sig=SECRET+SECRET/=",
];
/// Parts of signatures.
pub const PARAMETERS: &[&str] = &[
    "&",
    "=",
    "?",
    "#",
    "+",
    "%",
    "%2B",
    "%ff",
    "sig=",
    "sig=SECRETSECRET",
    "se=",
    "se=9999-12-31T23:59:59.9999999Z",
    "ss=b",
    "sr=c",
    "sip=::1",
    "2030-01-01",
    " ",
    "é",
    "\u{7f}",
    "https://",
];

/// URLs with their shared access signature.
pub const SAS_URLS: &[&str] = &[
    "https://contoso.table.core.windows.net/?sv=2019-02-02&ss=t&srt=sco&sp=rl&se=2030-01-01T00:00:00Z&sig=SECRETSECRET%2B%3D",
    "http://contoso-secondary.table.core.windows.net/Blogs?sv=2019-02-02&tn=blogs&sp=r&sig=SECRETSECRET%3D",
    "http://127.0.0.1:10002/devstoreaccount1/Blogs?sv=2019-02-02&tn=Blogs&si=policy&sig=SECRETSECRET/=",
    "http://tables.contoso.com/Blogs?sv=2019-02-02&ss=t&sig=SECRETSECRET%3D",
];
/// Parts of URLs with their shared access signature.
pub const URL_PARTS: &[&str] = &[
    "https://",
    "http://[::1]:1",
    "-secondary",
    ".table.",
    ".blob.core.",
    "contoso",
    "Blogs",
    "tn=Orders&",
    "sig=SECRETSECRET%3D",
    "SECRETSECRET%3D",
    "SECRETSECRET=",
    "?",
    "&",
    "/",
    "//",
    ":",
    ".",
    "@",
    "#",
    "%",
    "%26",
    "%ff",
    " ",
    "é",
    "\u{7f}",
];

/// Continuations in their stored form.
pub const POSITIONS: &[&str] = &[
    r#"{"next_partition_key":"1!8!cA--","next_row_key":null}"#,
    r#"{"kind":"query","at":"start"}"#,
    r#"{"kind":"query","at":"end","query":7}"#,
];

/// Checks that no part of an error contains a secret.
fn check_error(error: &Error) {
    assert_presentable(error);
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let all = format!(
        "{error} {error:?} {:?}",
        std::error::Error::source(error).map(ToString::to_string)
    );
    assert!(!all.contains("SECRETSECRET"), "{all}");
}

/// Checks that a connection string is valid, or rejected without showing it.
///
/// # Panics
/// It is neither.
pub fn check_connection_string(text: &str) {
    let canned = Canned::new([Step::status(200)]);
    match TableServiceClient::from_connection_string(text).map(|service| service.transport(canned)) {
        Err(error) => check_error(&error),
        Ok(service) => {
            // Written out, it names the same account, and is written out the same.
            let written = service.to_connection_string().unwrap();
            let again = TableServiceClient::from_connection_string(&written)
                .unwrap()
                .transport(Canned::default());
            assert_eq!(again.endpoint(), service.endpoint());
            assert_eq!(again.account(), service.account());
            assert_eq!(again.to_connection_string().unwrap(), written);
            let shown = format!("{service:?}");
            assert!(
                service.endpoint().contains("SECRET") || !shown.contains("SECRETSECRET"),
                "{shown}"
            );
            // A request can be created from it.
            if let Err(error) = on_runtime(async { things(&service).get(("p", "r")).await }) {
                assert!(error.kind() != ErrorKind::InvalidInput, "{error}");
            }
        }
    }
}

/// Checks that a signature is valid, or rejected without showing it.
///
/// # Panics
/// It is neither.
pub fn check_signature(text: &str) {
    match SasToken::new(text) {
        Err(error) => check_error(&error),
        Ok(token) => {
            let _ = token.expiry();
            let exposed = token.expose();
            assert!(SasToken::new(exposed).unwrap() == token);
            let shown = format!("{token:?}");
            assert!(!shown.contains("SECRETSECRET"), "{shown}");
            let canned = Canned::new([Step::status(404)]);
            let service = TableServiceClient::new("http://contoso.table.core.windows.net", token.clone());
            let service = service.unwrap().transport(canned.clone());
            let error = on_runtime(async { things(&service).get(("p", "r")).await });
            if exposed.split('&').all(|pair| pair != "spr=https") {
                assert!(canned.sent().len() == 1, "{error:?}");
                assert!(canned.sent()[0].uri().query().unwrap().contains(exposed));
            }
        }
    }
}

/// Checks that a URL with its signature creates a client of the account or the table, or is rejected without showing
/// the signature.
///
/// # Panics
/// It does neither.
pub fn check_sas_url(text: &str) {
    match TableServiceClient::from_sas_url(text) {
        Err(error) => check_url_error(&error),
        Ok(service) => {
            let token = text.trim().split_once('?').unwrap().1;
            let same = TableServiceClient::new(service.endpoint(), SasToken::new(token).unwrap()).unwrap();
            assert_eq!(same.account(), service.account());
            assert_eq!(
                same.to_connection_string().unwrap(),
                service.to_connection_string().unwrap()
            );
            check_hidden(&format!("{service:?} {}", service.settings()));
        }
    }
    match TableClient::<DynamicEntity>::from_sas_url(text) {
        Err(error) => check_url_error(&error),
        Ok(table) => {
            assert!(TableName::new(table.name().as_str()).is_ok());
            check_hidden(&format!("{table:?} {}", table.settings()));
        }
    }
}

fn check_url_error(error: &Error) {
    assert_presentable(error);
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    check_hidden(&format!(
        "{error} {error:?} {:?}",
        std::error::Error::source(error).map(ToString::to_string)
    ));
}

/// Checks that no part of a signature is shown. A table may be named `SECRETSECRET`, but no name has the padding or the
/// `=` of a signature.
fn check_hidden(shown: &str) {
    for part in ["sig=S", "SECRETSECRET=", "SECRETSECRET%", "SECRETSECRET/"] {
        assert!(!shown.contains(part), "{shown}");
    }
}

/// Checks that a stored continuation is read or rejected, at the latest before the first request.
///
/// # Panics
/// It is neither.
pub fn check_position(text: &str) {
    if let Ok(position) = serde_json::from_str::<Continuation>(text) {
        let again = serde_json::from_str::<Continuation>(&serde_json::to_string(&position).unwrap());
        assert_eq!(again.unwrap(), position);
        let service = responded([Step::response(200, &[], r#"{"value":[]}"#)]);
        let rest = on_runtime(async { things(&service).query().resume_from(position).all().await });
        // It may name no position of a query.
        if let Err(error) = rest {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
    }
}
