//! Shared access signatures: their parameters, and the strings to sign.
//!
//! Defines [`SasParameters`], the query parameters of a signature, and the pure strings-to-sign of all kinds, shared by
//! the generator (`sas_builder.rs`), the emulator and their tests.
//!
//! Source: REST "Create a service SAS", "Create an account SAS", "Create a user delegation SAS".

use std::fmt;
use std::net::IpAddr;

use crate::value::datetime::{self, DateTime};

/// The query parameters of shared access signatures. All other parameters of a query belong to the request.
///
/// Source: REST "Create an account SAS", "Create a service SAS", "Create a user delegation SAS".
pub const SAS_PARAMETERS: [&str; 24] = [
    "sv", "ss", "srt", "sp", "se", "st", "spr", "sip", "sig", "tn", "spk", "srk", "epk", "erk", "si", "skoid", "sktid",
    "skt", "ske", "sks", "skv", "skdutid", "sduoid", "ses",
];

/// The decoded parameters of a signature, in their original order. `Debug` shows only their names because one of them
/// is the signature.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SasParameters(Vec<(String, String)>);

impl SasParameters {
    /// Parses the text of a query, with or without a leading `?`. Skips pairs that are not percent-encoded UTF-8.
    pub fn parse(query: &str) -> Self {
        let decode = crate::codec::url::decode;
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=')?;
            Some((decode(name)?, decode(&value.replace('+', "%20"))?))
        };
        Self(query.trim_start_matches('?').split('&').filter_map(pair).collect())
    }

    /// Returns a parameter's value. A missing one is empty, as in the string to sign.
    pub fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    /// Adds a parameter, unless its value is empty.
    pub fn add(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.push((name.to_owned(), value));
        }
    }

    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

impl fmt::Debug for SasParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Parses the value of `sip`: one address, or two with a hyphen. Returns the first and the last.
pub fn addresses(text: &str) -> Option<(IpAddr, IpAddr)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
    (first.is_ipv4() == last.is_ipv4() && first <= last).then_some((first, last))
}

/// Parses a time in any documented form. JavaScript's `toISOString` writes fractions, which Storage rejects in a
/// signature.
///
/// Source: REST "Formatting DateTime values".
pub fn time(text: &str) -> Option<DateTime> {
    datetime::of_service(text).ok()
}

/// The first version that signs the service before the account.
const WITH_SERVICE: &str = "2015-02-21";
/// The first version that signs addresses and protocols.
pub const WITH_ADDRESSES: &str = "2015-04-05";

/// Returns the string to sign for a table, in the form of its version. The table's name is signed in lower case.
///
/// Source: REST "Create a service SAS", the strings of each version.
pub fn table_string_to_sign(parameters: &SasParameters, account: &str, table: &str) -> String {
    let value = |name| parameters.get(name);
    // Versions are dates, so they compare as text.
    let is_since = |version| value("sv") >= version;
    let service = if is_since(WITH_SERVICE) { "/table" } else { "" };
    let resource = format!("{service}/{account}/{}", table.to_lowercase());
    let mut lines = vec![value("sp"), value("st"), value("se"), &resource, value("si")];
    if is_since(WITH_ADDRESSES) {
        lines.extend(["sip", "spr"].map(value));
    }
    lines.extend(["sv", "spk", "srk", "epk", "erk"].map(value));
    lines.join("\n")
}

/// Returns the string that a user delegation key signs for a table: 19 lines.
///
/// Not confirmed by a response of the live service: the order comes from another implementation of the documentation.
///
/// Source: REST "Create a user delegation SAS".
pub fn user_delegation_string_to_sign(parameters: &SasParameters, account: &str, table: &str) -> String {
    const DELEGATION: [&str; 15] = [
        "skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid", "sip", "spr", "sv", "spk", "srk", "epk",
        "erk",
    ];
    let resource = format!("/table/{account}/{}", table.to_lowercase());
    let value = |name| parameters.get(name);
    let mut lines = vec![value("sp"), value("st"), value("se"), &resource];
    lines.extend(DELEGATION.map(value));
    lines.join("\n")
}

/// The first version whose account signatures have a line for the encryption scope.
const WITH_ENCRYPTION_SCOPE: &str = "2020-12-06";

/// Returns the string to sign for an account. It ends with a line end.
pub fn account_string_to_sign(parameters: &SasParameters, account: &str) -> String {
    let value = |name| parameters.get(name);
    let mut lines = vec![account];
    lines.extend(["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"].map(value));
    if value("sv") >= WITH_ENCRYPTION_SCOPE {
        lines.push(value("ses"));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::signature::SigningKey;

    fn parameters(pairs: &[(&str, &str)]) -> SasParameters {
        let mut parameters = SasParameters::default();
        for (name, value) in pairs {
            parameters.add(name, *value);
        }
        parameters
    }

    #[test]
    fn signatures_match_the_published_formulas() {
        let key = SigningKey::development();
        let table = parameters(&[
            ("sv", "2019-02-02"),
            ("sp", "raud"),
            ("se", "2040-01-01T01:01:00Z"),
            ("spk", "p"),
            ("srk", "01"),
            ("epk", "p"),
            ("erk", "01"),
        ]);
        let to_sign = table_string_to_sign(&table, "devstoreaccount1", "T1");
        assert_eq!(key.sign(&to_sign), "Q9pfo2B8ITwhA9Bcxbzfmb4BMXLXq6e5XFrKXYdNgXs=");
        for (version, signature) in [
            ("2019-02-02", "4bNF/Mek8xUkHhawT7Jl+RJjxr0lE5g/KeSUBZSCUvM="),
            ("2020-12-06", "63y2JIUEJ/QzxZ353UAD3iGtp5Q+Rrkzb7IiX4nZhdA="),
        ] {
            let account = parameters(&[
                ("sv", version),
                ("sp", "raud"),
                ("ss", "t"),
                ("srt", "sco"),
                ("se", "2040-01-01T01:01:00Z"),
            ]);
            let to_sign = account_string_to_sign(&account, "devstoreaccount1");
            assert_eq!(key.sign(&to_sign), signature, "{version}");
        }
    }

    #[test]
    fn older_signatures_of_a_table_sign_fewer_fields() {
        let names = ["sp", "st", "se", "si", "sip", "spr", "spk", "srk", "epk", "erk"];
        for (version, expected) in [
            ("2014-02-14", "sp st se /contoso/t1 si 2014-02-14 spk srk epk erk"),
            ("2015-02-21", "sp st se /table/contoso/t1 si 2015-02-21 spk srk epk erk"),
            (
                "2015-04-05",
                "sp st se /table/contoso/t1 si sip spr 2015-04-05 spk srk epk erk",
            ),
        ] {
            let mut all = parameters(&names.map(|name| (name, name)));
            all.add("sv", version);
            assert_eq!(table_string_to_sign(&all, "contoso", "T1").replace('\n', " "), expected);
        }
    }

    #[test]
    fn delegated_signature_signs_nineteen_lines() {
        let names = [
            "sp", "st", "se", "", "skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid", "sip", "spr",
            "sv", "spk", "srk", "epk", "erk",
        ];
        let pairs: Vec<(&str, &str)> = names.iter().map(|name| (*name, *name)).collect();
        let expected = names.map(|name| if name.is_empty() { "/table/contoso/t1" } else { name });
        let signed = user_delegation_string_to_sign(&parameters(&pairs), "contoso", "T1");
        assert_eq!(signed, expected.join("\n"));
        let least = user_delegation_string_to_sign(&SasParameters::default(), "contoso", "T1");
        assert_eq!(least.matches('\n').count(), 18, "lines of missing values are empty");
    }

    /// The vector is computed from the published formula: no live service has confirmed it.
    #[test]
    fn delegated_signature_matches_the_formula() {
        let key = SigningKey::development();
        let all = parameters(&[
            ("sv", "2025-07-05"),
            ("tn", "People"),
            ("sp", "raud"),
            ("st", "2040-01-01T01:01:00Z"),
            ("se", "2040-01-02T01:01:00Z"),
            ("sip", "10.0.0.1-10.0.0.9"),
            ("spr", "https"),
            ("spk", "p"),
            ("srk", "01"),
            ("epk", "q"),
            ("erk", "02"),
            ("skoid", "11059fcc-5514-4800-b5f8-49808b9cfab6"),
            ("sktid", "ab1f708d-50f6-404c-a006-d71b2ac7a606"),
            ("skt", "2040-01-01T00:00:00Z"),
            ("ske", "2040-01-07T00:00:00Z"),
            ("sks", "t"),
            ("skv", "2025-07-05"),
            ("skdutid", "72f988bf-86f1-41af-91ab-2d7cd011db47"),
            ("sduoid", "33059fcc-5514-4800-b5f8-49808b9cfab6"),
        ]);
        let to_sign = user_delegation_string_to_sign(&all, "devstoreaccount1", "People");
        assert_eq!(key.sign(&to_sign), "q4ptJFNfYyNj0dtC3iwPwm9ZS5Gac4EovYT5ETkEtIU=");
    }

    #[test]
    fn times_are_parsed_in_all_forms_of_the_service() {
        for (text, full) in [
            ("2040-01-02", "2040-01-02T00:00:00Z"),
            ("2040-01-02T03:04Z", "2040-01-02T03:04:00Z"),
            ("2040-01-02T03:04:05Z", "2040-01-02T03:04:05Z"),
            ("2040-01-02T03:04:05.123Z", "2040-01-02T03:04:05.123Z"),
            ("2040-01-02T03:04:05+01:00", "2040-01-02T02:04:05Z"),
            ("2040-01-02T03:04", "2040-01-02T03:04:00Z"),
        ] {
            assert_eq!(time(text), Some(full.parse().unwrap()));
        }
        for wrong in [
            "",
            "2040",
            "2040-13-01",
            "2040-01-02Z",
            "2040-01-02T25:00Z",
            "2040-01-02 03:04Z",
            "éééé-01-02",
        ] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn addresses_are_one_or_a_range() {
        let of = |text: &str| addresses(text).map(|(first, last)| format!("{first} {last}"));
        assert_eq!(of("10.0.0.1").unwrap(), "10.0.0.1 10.0.0.1");
        assert_eq!(of("10.0.0.1-10.0.1.0").unwrap(), "10.0.0.1 10.0.1.0");
        for bad in ["10.0.0", "10.0.0.2-10.0.0.1", "10.0.0.1-", "10.0.0.1-::1", "localhost"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
