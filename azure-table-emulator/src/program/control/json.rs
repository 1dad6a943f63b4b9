//! The JSON of requests, parsed so that an error names the member.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Deserializer;

/// Parses one object.
pub(super) fn object<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    // serde would accept an array too, as the members in their order.
    match text.trim_start().chars().next() {
        Some('{') => {}
        Some('[') => return Err("expected a JSON object, found an array".to_owned()),
        Some(_) => return Err("expected a JSON object".to_owned()),
        None => return Err("expected a JSON object, it is empty".to_owned()),
    }
    let mut reader = Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|e| {
        let (path, why) = (e.path().to_string(), e.inner().to_string());
        // The text for an unknown or missing member already names it.
        if path == "." || why.contains(&format!("`{path}`")) {
            why
        } else {
            format!("{path}: {why}")
        }
    })?;
    reader.end().map_err(|e| e.to_string())?;
    Ok(value)
}

/// Splits a text into its consecutive values, usually lines. Fails with the number of the invalid one.
pub(super) fn values(text: &str) -> Result<Vec<&str>, (usize, String)> {
    let mut parts = Vec::new();
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut begin = 0;
    while let Some(value) = values.next() {
        value.map_err(|e| (parts.len() + 1, e.to_string()))?;
        let end = values.byte_offset();
        parts.extend(text.get(begin..end));
        begin = end;
    }
    Ok(parts)
}
