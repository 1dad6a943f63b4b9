//! The comparison of a response with the expected one.

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use crate::fact::{Expected, Part};
use crate::parity::pattern::{self, Bound};
use crate::service::seen;
use crate::step::Names;

/// A part of a response that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// `status`, `code`, `message`, `body`, or the name of a header after `header `.
    pub(crate) part: String,
    pub(crate) expected: String,
    pub(crate) came: String,
}

/// Returns the parts of a response that are not as expected. `names` replaces the names of the run, or keeps them as
/// parts of patterns, for which `bound` has the recorded names.
pub(crate) fn mismatches(
    expected: &Expected,
    response: &Response<Bytes>,
    names: &Names,
    bound: &mut Bound,
) -> Vec<Mismatch> {
    let body = String::from_utf8_lossy(response.body()).replace("\r\n", "\n");
    let (code, message) = seen::error(&body).unwrap_or_default();
    let mut found = Vec::new();
    let mut note = |is_alike: bool, part: &str, expected: &str, came: &str| {
        if !is_alike {
            found.push(Mismatch {
                part: part.to_owned(),
                expected: expected.to_owned(),
                came: came.to_owned(),
            });
        }
    };
    let status = response.status().as_u16();
    let [expected_status, came_status] = [expected.status, status].map(|status| status.to_string());
    note(expected.status == status, "status", &expected_status, &came_status);
    note(pattern::is(expected.code, &code, bound), "code", expected.code, &code);
    let is_alike = pattern::is(&names.fill(expected.message), &message, bound);
    note(is_alike, "message", expected.message, &message);
    for (name, value) in expected.headers {
        let came = response
            .headers()
            .get(*name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        let came = came.as_deref().unwrap_or_default();
        let is_alike = pattern::is(&seen::spaces(&names.fill(value)), &seen::spaces(came), bound);
        note(is_alike, &format!("header {name}"), value, came);
    }
    for part in expected.body {
        let (is_alike, expected) = match part {
            Part::Is(text) => (is_body(&names.fill(text), &body, bound), (*text).to_owned()),
            Part::Has(text) => (pattern::has(&names.fill(text), &body, bound), format!("a part {text}")),
            Part::Lacks(text) => (
                !pattern::has(&names.fill(text), &body, &mut bound.clone()),
                format!("no part {text}"),
            ),
        };
        note(is_alike, "body", &expected, &body);
    }
    found
}

/// Compares a whole body: a JSON document by its values, any other by its text.
fn is_body(expected: &str, body: &str, bound: &mut Bound) -> bool {
    let document = |text: &str| {
        let value = serde_json::from_str::<Value>(text).ok();
        value.filter(|value| value.is_object() || value.is_array())
    };
    match (document(expected), document(body)) {
        (Some(expected), Some(came)) => is_value(&expected, &came, bound),
        _ => pattern::is(expected, body, bound),
    }
}

fn is_value(expected: &Value, came: &Value, bound: &mut Bound) -> bool {
    match (expected, came) {
        (Value::String(expected), Value::String(came)) => pattern::is(expected, came, bound),
        (Value::Array(expected), Value::Array(came)) => {
            expected.len() == came.len() && expected.iter().zip(came).all(|(a, b)| is_value(a, b, bound))
        }
        (Value::Object(expected), Value::Object(came)) => {
            let mut members = expected.iter();
            expected.len() == came.len()
                && members.all(|(name, value)| came.get(name).is_some_and(|came| is_value(value, came, bound)))
        }
        _ => expected == came,
    }
}
