//! The rules of the service for the text of a key.
//!
//! The types that write such text are in `key/table_key.rs` of azure-table.

use crate::value::ordinal::length_fault;

/// The maximum length of a PartitionKey or RowKey, in UTF-16 code units: the widest of the published limits.
///
/// Source: REST "Understanding the Table service data model" (1 KB) and "Scalability targets" (1,024 characters).
pub const MAX_KEY_UNITS: usize = 1_024;

/// The bytes of the ASCII characters that a key may have.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x20;
    while byte < 0x7f {
        plain[byte] = !matches!(byte as u8, b'/' | b'\\' | b'#' | b'?');
        byte += 1;
    }
    plain
};

/// Returns the fault in the text of a PartitionKey or RowKey, if any.
///
/// Forbidden: `/ \ # ?` and the control characters U+0000..U+001F and U+007F..U+009F.
/// Source: REST "Understanding the Table service data model", characters disallowed in key fields.
pub fn key_text_fault(text: &str) -> Option<String> {
    // The fast path of nearly all keys. The rest of the function finds the fault.
    if text.len() <= MAX_KEY_UNITS && text.bytes().all(|byte| PLAIN[usize::from(byte)]) {
        return None;
    }
    if let Some((at, wrong)) = text
        .chars()
        .enumerate()
        .find(|(_, c)| matches!(c, '/' | '\\' | '#' | '?') || c.is_control())
    {
        return Some(format!(
            "{wrong:?} at position {at} is forbidden in a key (no / \\ # ? and no control characters); a field of the type \
             `Escaped` may contain it"
        ));
    }
    length_fault(text, MAX_KEY_UNITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_characters_are_named_with_their_place() {
        for (bad, why) in [
            ("a/b", "'/' at position 1"),
            ("é#", "'#' at position 1"),
            ("\u{85}", "position 0"),
        ] {
            assert!(key_text_fault(bad).unwrap().contains(why));
        }
        for good in ["", " ", "it's 100% +&", "漢字", &"x".repeat(1_024)] {
            assert_eq!(key_text_fault(good), None);
        }
        assert!(key_text_fault(&"é".repeat(1_025)).unwrap().contains("1025"));
    }
}
