//! The results as JSON, and the badge in the form of the endpoint of shields.io.

use serde_json::{Value, json};

use crate::parity::results::{Figure, Grade, Measured, Results, described};

/// Returns the outcome of each fact, with its differences.
pub(crate) fn results(results: &Results) -> Value {
    let figure = |of: Figure| json!({ "alike": of.alike, "close": of.close, "of": of.of });
    let facts = |is_alike: bool| {
        let facts = results.facts.iter();
        facts.filter(move |fact| (fact.grade() == Grade::Alike) == is_alike)
    };
    let areas = results.areas().into_iter();
    let areas = areas.map(|(area, number)| (format!("{area:?}"), figure(number)));
    let suite = results.of_suite();
    let failed = results
        .suite
        .iter()
        .filter_map(|(name, outcome)| Some(json!({ "name": name, "why": outcome.as_ref().err()? })));
    json!({
        "date": results.date,
        "service": results.service,
        "product": results.product,
        "facts": figure(results.all()),
        "areas": areas.collect::<serde_json::Map<_, _>>(),
        "alike": facts(true).map(|fact| fact.fact.name).collect::<Vec<_>>(),
        "different": facts(false).map(different).collect::<Vec<_>>(),
        "suite": { "alike": suite.alike, "of": suite.of, "failed": failed.collect::<Vec<_>>() },
        "problems": results.problems,
    })
}

fn different(measured: &Measured) -> Value {
    let mut differences = Vec::new();
    for exchange in &measured.exchanges {
        for mismatch in &exchange.mismatches {
            differences.push(json!({
                "request": exchange.request,
                "part": mismatch.part,
                "expected": mismatch.expected,
                "came": mismatch.came,
            }));
        }
    }
    let (source, date, _) = described(measured.fact.source);
    json!({
        "name": measured.fact.name,
        "close": measured.grade() == Grade::Close,
        "source": format!("{source}, {date}"),
        "differences": differences,
        "failed": measured.failed,
    })
}

/// Returns the badge.
///
/// Source: shields.io, "Endpoint Badge".
pub(crate) fn badge(results: &Results) -> Value {
    let (all, is_finished) = (results.all(), results.problems.is_empty());
    let color = match all.percent() {
        _ if !is_finished => "lightgrey",
        100 => "brightgreen",
        95.. => "green",
        80.. => "yellowgreen",
        _ => "yellow",
    };
    let message = match is_finished {
        true => format!("{} of {} facts", all.alike, all.of),
        false => "not finished".to_owned(),
    };
    json!({
        "schemaVersion": 1,
        "label": format!("as {}", results.service),
        "message": message,
        "color": color,
    })
}
