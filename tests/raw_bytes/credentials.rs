//! What users are given as text: connection strings, shared access signatures, and positions in a query.

use azure_table::{Continuation, ErrorKind, SasToken, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use proptest::prelude::*;

use crate::document::text;
use crate::{answered, is_presentable, on_runtime, things};

/// Their secrets are `SECRET`, often enough to be known by.
const CONNECTION_STRINGS: &[&str] = &[
    "DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=SECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSE==;EndpointSuffix=core.windows.net",
    "AccountName=contoso;AccountKey=SECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSE==;TableEndpoint=https://contoso.table.cosmos.azure.com:443/;TableSecondaryEndpoint=http://127.0.0.1:10002/contoso-secondary",
    "TableEndpoint=https://contoso.table.core.windows.net/;SharedAccessSignature=sv=2019-02-02&se=2030-01-01&sp=r&tn=T&sig=SECRETSECRET%3D",
    "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://127.0.0.2",
];
const SETTINGS: &[&str] = &[
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
const SIGNATURES: &[&str] = &[
    "?sv=2019-02-02&ss=t&srt=sco&sp=rwdlacu&se=2030-01-01T00:00:00Z&st=2020-01-01&spr=https&sip=1.1.1.1-2.2.2.2&sig=SECRETSECRET%2B%3D",
    "sv=2019-02-02&tn=things&si=policy&sig=SECRET+SECRET/=",
];
const PARAMETERS: &[&str] = &[
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

/// No part of an error shows a secret.
fn keeps(error: &azure_table::Error) -> Result<(), TestCaseError> {
    is_presentable(error).map_err(TestCaseError::fail)?;
    prop_assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}", error);
    let all = format!(
        "{error} {error:?} {:?}",
        std::error::Error::source(error).map(ToString::to_string)
    );
    prop_assert!(!all.contains("SECRETSECRET"), "{all}");
    Ok(())
}

proptest! {
    #[test]
    fn a_connection_string_means_something_or_is_refused_without_showing_it(text in text(CONNECTION_STRINGS, SETTINGS)) {
        let canned = Canned::new([Step::status(200)]);
        match TableServiceClient::with_transport(&text, canned) {
            Err(error) => keeps(&error)?,
            Ok(service) => {
                // Written out it is the same account, and is written out the same.
                let written = service.to_connection_string().unwrap();
                let again = TableServiceClient::with_transport(&written, Canned::default()).unwrap();
                prop_assert_eq!(again.endpoint(), service.endpoint());
                prop_assert_eq!(again.account(), service.account());
                prop_assert_eq!(again.to_connection_string().unwrap(), written);
                let shown = format!("{service:?}");
                prop_assert!(service.endpoint().contains("SECRET") || !shown.contains("SECRETSECRET"), "{shown}");
                // And a request can be made of it.
                if let Err(error) = on_runtime(async { things(&service).get(("p", "r")).await }) {
                    prop_assert!(error.kind() != ErrorKind::InvalidInput, "{error}");
                }
            }
        }
    }

    #[test]
    fn a_signature_is_usable_or_refused_without_showing_it(text in text(SIGNATURES, PARAMETERS)) {
        match SasToken::new(&text) {
            Err(error) => keeps(&error)?,
            Ok(token) => {
                let _ = token.expiry();
                let exposed = token.expose();
                prop_assert!(SasToken::new(exposed).unwrap() == token);
                let shown = format!("{token:?}");
                prop_assert!(!shown.contains("SECRETSECRET"), "{shown}");
                let canned = Canned::new([Step::status(404)]);
                let service = TableServiceClient::new("http://contoso.table.core.windows.net", token.clone());
                let service = service.unwrap().over(canned.clone());
                let error = on_runtime(async { things(&service).get(("p", "r")).await });
                if exposed.split('&').all(|pair| pair != "spr=https") {
                    prop_assert!(canned.sent().len() == 1, "{error:?}");
                    prop_assert!(canned.sent()[0].uri().query().unwrap().contains(exposed));
                }
            }
        }
    }

    /// Whatever a position says, the next request says it back, or the listing ends with an error: never early without one.
    #[test]
    fn a_position_is_given_back_as_it_came(
        partition in proptest::option::of(proptest::collection::vec(0x20..=0xff_u8, 0..40)),
        row in proptest::option::of("[ -~]{0,40}"),
    ) {
        let partition = partition.map(|bytes| bytes.into_iter().filter(|byte| *byte != 0x7f).collect::<Vec<u8>>());
        let mut first = http::Response::builder().status(200);
        for (name, value) in [
            ("x-ms-continuation-nextpartitionkey", &partition),
            ("x-ms-continuation-nextrowkey", &row.clone().map(String::into_bytes)),
        ] {
            if let Some(value) = value {
                first = first.header(name, value.as_slice());
            }
        }
        let first = Step::Answer(first.body(r#"{"value":[]}"#.into()).unwrap());
        let canned = Canned::new([first, Step::answer(200, &[], r#"{"value":[]}"#)]);
        let service = canned.service();
        let read = on_runtime(async { things(&service).query().all().await });
        let said = |value: &[u8]| !value.is_empty();
        let is_text = partition.as_deref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok());
        if !is_text {
            prop_assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidResponse);
        } else if partition.as_deref().is_some_and(said) || row.as_deref().is_some_and(|row| said(row.as_bytes())) {
            prop_assert_eq!(read.unwrap().len(), 0);
            let sent = canned.sent();
            prop_assert_eq!(sent.len(), 2);
            let query = sent[1].uri().query().unwrap_or_default();
            for (name, value) in [("NextPartitionKey", partition), ("NextRowKey", row.map(String::into_bytes))] {
                let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
                prop_assert_eq!(pair.map(decoded), value.filter(|value| said(value)), "{}", query);
            }
        } else {
            prop_assert_eq!((read.unwrap().len(), canned.sent().len()), (0, 1));
        }
    }

    #[test]
    fn a_kept_position_is_read_or_refused(text in text(
        &[r#"{"next_partition_key":"1!8!cA--","next_row_key":null}"#],
        &["{", "}", "\"", ":", ",", "null", "\"next_partition_key\"", "\"next_row_key\"", "\\u0000", "\\ud800"],
    )) {
        if let Ok(position) = serde_json::from_str::<Continuation>(&text) {
            let again = serde_json::from_str::<Continuation>(&serde_json::to_string(&position).unwrap());
            prop_assert_eq!(again.unwrap(), position.clone());
            let service = answered([Step::answer(200, &[], r#"{"value":[]}"#)]);
            on_runtime(async { things(&service).query().resume_from(position).all().await }).unwrap();
        }
    }
}

/// A request line cannot hold them, and what encodes them on the way breaks the signature.
#[test]
fn a_signature_is_ascii() {
    for text in ["sv=1&sig=é", "\u{2028}sv=1&tn=é&sig=x"] {
        assert!(SasToken::new(text).unwrap_err().to_string().contains("no URL can have"));
    }
}

/// Percent-encoding undone.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(&after[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}
