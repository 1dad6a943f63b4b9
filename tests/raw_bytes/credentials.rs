//! Texts from users: connection strings, shared access signatures, URLs with them, and continuations.

use azure_table::{ErrorKind, SasToken};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::untrusted::credentials::{
    CONNECTION_STRINGS, PARAMETERS, POSITIONS, SAS_URLS, SETTINGS, SIGNATURES, URL_PARTS, check_connection_string,
    check_position, check_sas_url, check_signature,
};
use azure_table_tests::untrusted::{on_runtime, things};
use proptest::prelude::*;

use crate::document::text;

proptest! {
    #[test]
    fn connection_string_is_valid_or_rejected_without_showing_it(text in text(CONNECTION_STRINGS, SETTINGS)) {
        check_connection_string(&text);
    }

    #[test]
    fn signature_is_valid_or_rejected_without_showing_it(text in text(SIGNATURES, PARAMETERS)) {
        check_signature(&text);
    }

    #[test]
    fn sas_url_creates_a_client_or_is_rejected_without_showing_the_signature(text in text(SAS_URLS, URL_PARTS)) {
        check_sas_url(&text);
    }

    /// For any continuation, the next request repeats it, or the listing ends with an error: never early without one.
    #[test]
    fn continuation_is_sent_back_unchanged(
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
        let first = Step::Received(first.body(r#"{"value":[]}"#.into()).unwrap());
        let canned = Canned::new([first, Step::response(200, &[], r#"{"value":[]}"#)]);
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
    fn stored_continuation_is_read_or_rejected(text in text(
        POSITIONS,
        &["{", "}", "\"", ":", ",", "null", "\"next_partition_key\"", "\"next_row_key\"", "\\u0000", "\\ud800"],
    )) {
        check_position(&text);
    }
}

/// A request line cannot contain them, and encoding them breaks the signature.
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
