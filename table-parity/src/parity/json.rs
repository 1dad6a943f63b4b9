//! The results as JSON, which a page can be drawn from, and the badge in the form of the endpoint of shields.io.

use serde_json::{Value, json};

use crate::fact::Fact;
use crate::facts;
use crate::parity::expectation::Mismatch;
use crate::parity::results::{Exchanged, Figure, Grade, Measured, Results, described};

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
    for (index, exchange) in measured.exchanges.iter().enumerate() {
        for mismatch in &exchange.mismatches {
            differences.push(json!({
                "exchange": index,
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
        "responses": measured.exchanges.len(),
    })
}

/// Reads the results that [`results`] wrote. Requests and expectations are those of the program's facts.
pub(crate) fn read(text: &str) -> Result<Results, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut facts = Vec::new();
    for fact in facts::all() {
        if list(&value["alike"]).iter().any(|known| known == fact.name) {
            facts.push(measured(fact, &Value::Null));
        } else if let Some(found) = list(&value["different"])
            .iter()
            .find(|found| found["name"] == fact.name)
        {
            facts.push(measured(fact, found));
        }
    }
    let known = list(&value["alike"]).len() + list(&value["different"]).len();
    if facts.len() != known || facts.is_empty() {
        let found = facts.len();
        return Err(format!(
            "{found} of its {known} facts are facts of this version of the program"
        ));
    }
    let alike = value["suite"]["alike"].as_u64().unwrap_or_default();
    let failed = list(&value["suite"]["failed"]).into_iter();
    let failed = failed.map(|failed| (name(&failed["name"]), Err(name(&failed["why"]))));
    Ok(Results {
        date: name(&value["date"]),
        service: name(&value["service"]),
        product: value["product"].as_str().map(str::to_owned),
        facts,
        suite: (0..alike).map(|_| (String::new(), Ok(()))).chain(failed).collect(),
        problems: list(&value["problems"]).iter().map(name).collect(),
    })
}

/// Returns a fact with what is written about it. `Null` is a fact as live.
fn measured(fact: &'static Fact, written: &Value) -> Measured {
    let responses = written["responses"]
        .as_u64()
        .and_then(|count| usize::try_from(count).ok());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mismatches = |index: usize| {
        let differences = written["differences"].as_array().into_iter().flatten();
        let own = differences.filter(move |difference| difference["exchange"] == index);
        own.map(|difference| Mismatch {
            part: text(&difference["part"]),
            expected: text(&difference["expected"]),
            came: text(&difference["came"]),
        })
    };
    let exchanges = fact.exchanges.iter().take(responses.unwrap_or(usize::MAX)).enumerate();
    Measured {
        fact,
        exchanges: exchanges
            .map(|(index, exchange)| Exchanged {
                request: exchange.step.to_string(),
                expected: exchange.expected.as_ref().map(ToString::to_string).unwrap_or_default(),
                mismatches: mismatches(index).collect(),
                ..Exchanged::default()
            })
            .collect(),
        failed: written["failed"].as_str().map(str::to_owned),
    }
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
