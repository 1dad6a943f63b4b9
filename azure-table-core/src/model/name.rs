//! Table and property names.

use std::fmt;
use std::sync::Arc;

use crate::model::error::{Error, Result};
use crate::model::error_text::Shown;
use crate::model::ordinal::utf16_len;

/// A table's name.
///
/// It is a letter, then 2 to 62 letters and digits, ASCII only; or one of the service's own `$…` tables.
///
/// Source: REST "Understanding the Table service data model", table names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName(Arc<str>);

impl TableName {
    /// Creates a table name from valid text.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::model::error::ErrorKind::InvalidInput): the text does not have 3 to 63 characters, has
    ///   one that is not an ASCII letter or digit, begins with a digit, or is the reserved name `tables`.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        let invalid = |why: &str| {
            Err(Error::invalid_input(format!(
                "table name {}: {why} (3 to 63 ASCII letters and digits, a letter first)",
                Shown(name)
            )))
        };
        let body = name.strip_prefix('$').unwrap_or(name);
        if !(3..=63).contains(&name.chars().count()) {
            return invalid(&format!("it has {} characters", name.chars().count()));
        }
        if let Some(wrong) = body.chars().find(|c| !c.is_ascii_alphanumeric()) {
            return invalid(&format!("it contains {wrong:?}"));
        }
        if !body.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return invalid("it does not start with a letter");
        }
        if name.eq_ignore_ascii_case("tables") {
            return invalid("the service reserves it");
        }
        Ok(Self(name.into()))
    }

    /// Returns the name, as passed in.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for TableName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The maximum length of a property name, in UTF-16 code units.
pub const MAX_PROPERTY_NAME: usize = 255;

/// The names that the service reserves.
pub const SYSTEM_PROPERTIES: [&str; 3] = ["PartitionKey", "RowKey", "Timestamp"];

/// The bytes of ASCII letters, digits and `_`.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        plain[byte as usize] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    plain
};

/// Returns the fault in a property name, if any: it must be a C# identifier of at most 255 UTF-16 units.
///
/// Source: REST "Understanding the Table service data model", property names.
#[inline]
pub fn property_name_fault(name: &str) -> Option<String> {
    // The fast path of nearly all names. The rest of the function finds the fault.
    let bytes = name.as_bytes();
    let starts_well = bytes
        .first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    // Without a branch per byte, since it runs for every property that is written.
    let is_plain = bytes.iter().fold(true, |plain, byte| plain & PLAIN[usize::from(*byte)]);
    if starts_well && is_plain && bytes.len() <= MAX_PROPERTY_NAME && !SYSTEM_PROPERTIES.contains(&name) {
        return None;
    }
    unusual_name_fault(name)
}

#[cold]
fn unusual_name_fault(name: &str) -> Option<String> {
    let mut chars = name.chars();
    match chars.next() {
        None => return Some("it is empty".into()),
        Some(first) if first != '_' && !first.is_alphabetic() => {
            return Some(format!("it starts with {first:?}, not with a letter or `_`"));
        }
        Some(_) => {}
    }
    if let Some(wrong) = chars.find(|c| *c != '_' && !c.is_alphanumeric()) {
        return Some(format!("it contains {wrong:?} (letters, digits and `_` are allowed)"));
    }
    if SYSTEM_PROPERTIES.contains(&name) {
        return Some("the service reserves it".into());
    }
    // A name of at most 255 bytes has at most 255 UTF-16 units: only longer ones are counted.
    if name.len() > MAX_PROPERTY_NAME && utf16_len(name) > MAX_PROPERTY_NAME {
        return Some(format!(
            "it has {} UTF-16 units, the limit is {MAX_PROPERTY_NAME}",
            utf16_len(name)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_table_names_are_rejected_with_the_reason() {
        for good in [
            "abc",
            "Blogs",
            "A1234567890",
            &"x".repeat(63),
            "$MetricsHourPrimaryTransactionsTable",
        ] {
            assert_eq!(TableName::new(good).unwrap().as_str(), good);
        }
        for (bad, why) in [
            ("ab", "2 characters"),
            (&*"x".repeat(64), "64 characters"),
            ("my_table", "'_'"),
            ("1st", "start with a letter"),
            ("Ünïcode", "'Ü'"),
            ("Tables", "reserves"),
            ("", "0 characters"),
        ] {
            let text = TableName::new(bad).unwrap_err().to_string();
            assert!(text.contains(why) && text.contains(bad), "{text}");
        }
    }

    #[test]
    fn property_names_follow_the_service() {
        for good in ["a", "_x", "Größe", "rtg2", &"x".repeat(255)] {
            assert_eq!(property_name_fault(good), None, "{good}");
        }
        for bad in ["", "1a", "a-b", "a b", "RowKey", "odata.etag", &"x".repeat(256)] {
            assert!(property_name_fault(bad).is_some(), "{bad}");
        }
    }
}
