//! Facts whose source is a recording hold for the recorded exchange.

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use crate::fact::{Fact, On, Source};
use crate::facts;
use crate::parity::expectation::mismatches;
use crate::parity::pattern::Bound;
use crate::service::mask::decoded;
use crate::step::Names;

/// Returns the form of a path below the account, and the names of its options: without names, keys and signatures. A
/// continuation is `{text}`, as in the names of patterns.
fn form(path: &str) -> (String, Vec<String>) {
    const SIGNATURE: [&str; 14] = [
        "sv", "ss", "srt", "sp", "st", "se", "sip", "spr", "tn", "sig", "si", "spk", "epk", "srk",
    ];
    const CONTINUATION: &str = "<next>";
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = decoded(path).replace("''", "");
    let mut parts = path.split('\'');
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        bare.push_str(if index % 2 == 1 { part } else { "''" });
    }
    let end = bare.find('(').unwrap_or(bare.len());
    let resource = match &bare[..end] {
        known @ ("" | "Tables" | "$batch" | "$metadata") => known,
        _ => "T",
    };
    let names = query.split('&').filter(|pair| !pair.is_empty());
    let names = names.map(|pair| decoded(pair.split('=').next().unwrap_or_default()));
    let mut names: Vec<_> = names
        .filter(|name| !SIGNATURE.contains(&name.as_str()) && !["erk", "timeout"].contains(&name.as_str()))
        .filter(|name| !name.starts_with("Next") && name != CONTINUATION)
        .collect();
    names.sort();
    names.dedup();
    (format!("{resource}{}", bare[end..].trim_end_matches("()")), names)
}

/// Returns what the recording of a fact contradicts.
fn contradictions(fact: &Fact) -> Vec<String> {
    let Source::Recording { file, exchange, date } = fact.source else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let (service, name) = file.split_once('/').unwrap();
    if fact.on != On::Both && (service == "cosmos") != (fact.on == On::Cosmos) {
        found.push(format!("{file} is of the other service"));
    }
    let text = std::fs::read(azure_table_tests::fixtures::recordings(service).join(name)).unwrap();
    let session: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let recorded = &session[exchange];
    let asked = fact
        .exchanges
        .iter()
        .rev()
        .find(|asked| asked.expected.is_some())
        .unwrap();

    let (request, response) = (&recorded["request"], &recorded["response"]);
    let url = request["url"].as_str().unwrap();
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    if request["method"] != asked.step.method {
        found.push(format!("method {}", request["method"]));
    }
    let [own, live] = [&Names::placeholders().fill(asked.step.path), path].map(form);
    if own != live {
        found.push(format!("path {live:?}, not {own:?}"));
    }
    let mut built = Response::new(Bytes::from(response["body"].as_str().unwrap_or_default().to_owned()));
    *built.status_mut() = u16::try_from(response["status"].as_u64().unwrap())
        .unwrap()
        .try_into()
        .unwrap();
    for (name, value) in response["headers"].as_object().unwrap() {
        let name: http::HeaderName = name.to_ascii_lowercase().parse().unwrap();
        built
            .headers_mut()
            .insert(name, value.as_str().unwrap().parse().unwrap());
    }
    if let Some(sent) = built.headers().get("date") {
        let day = httpdate::parse_http_date(sent.to_str().unwrap()).unwrap();
        let day = azure_table::DateTime::try_from(day).unwrap().to_string();
        if !day.starts_with(date) {
            found.push(format!("date {day:.10}, not {date}"));
        }
    }
    let expected = asked.expected.unwrap();
    let differences = mismatches(&expected, &built, &Names::placeholders(), &mut Bound::default());
    found.extend(differences.into_iter().map(|mismatch| format!("{mismatch:?}")));
    found
}

#[test]
#[cfg_attr(not(recordings), ignore = "needs the recordings: set AZURE_TABLE_FIXTURES")]
fn facts_hold_for_their_recordings() {
    let recorded = facts::all().filter(|fact| matches!(fact.source, Source::Recording { .. }));
    let wrong: Vec<_> = recorded
        .map(|fact| (fact.name, contradictions(fact)))
        .filter(|(_, contradictions)| !contradictions.is_empty())
        .map(|(name, contradictions)| format!("{name}\n    {}", contradictions.join("\n    ")))
        .collect();
    assert!(wrong.is_empty(), "{} facts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn facts_have_names_of_their_own_and_something_to_compare() {
    let mut names = std::collections::BTreeSet::new();
    for fact in facts::all() {
        assert!(names.insert(fact.name), "twice: {}", fact.name);
        assert!(
            fact.name.ends_with('.') && !fact.name.contains('\n'),
            "no sentence: {}",
            fact.name
        );
        assert!(
            fact.exchanges.iter().any(|exchange| exchange.expected.is_some()),
            "nothing is compared: {}",
            fact.name
        );
        let (Source::Recording { date, .. }
        | Source::Page { date, .. }
        | Source::Report { date, .. }
        | Source::Suite { date, .. }) = fact.source;
        assert!(date.len() >= 4 && date.starts_with("20"), "no date: {}", fact.name);
    }
}

#[test]
fn forms_of_paths_have_no_names() {
    for (path, expected) in [
        ("People(PartitionKey='a''b',RowKey='c')", "T(PartitionKey='',RowKey='')"),
        ("People()", "T"),
        ("Tables('People')", "Tables('')"),
        ("Tables(%27People%27)?sv=1&sig=x", "Tables('')"),
        ("$batch", "$batch"),
    ] {
        assert_eq!(form(path), (expected.to_owned(), Vec::new()), "{path}");
    }
    let options = form("People()?$filter=a&%24top=1&sv=1").1;
    assert_eq!(options, ["$filter", "$top"]);
}
