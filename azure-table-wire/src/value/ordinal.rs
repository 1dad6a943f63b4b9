//! The order of text in the service: ordinal, by UTF-16 code unit.
//!
//! Below U+10000 this is the order of the characters. For characters beyond, whose first surrogate sorts before
//! U+E000..U+FFFF, the live service's order is not confirmed; .NET's ordinal order is assumed.

use std::cmp::Ordering;

/// Compares two texts as the service orders keys and string values.
pub fn compare(a: &str, b: &str) -> Ordering {
    // Not compared: an empty text's address may be unmapped, and AVX-512 loads from it slowly.
    if a.is_empty() || b.is_empty() {
        return a.len().cmp(&b.len());
    }
    let order = a.cmp(b);
    // Only a character beyond U+FFFF (four bytes, first byte at least 0xF0) makes the two orders differ, and only
    // beside another one that is not ASCII.
    if order.is_eq() || a.is_ascii() || b.is_ascii() || a.bytes().chain(b.bytes()).all(|byte| byte < 0xf0) {
        return order;
    }
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Returns the length in UTF-16 code units, in which the service counts text.
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

/// Returns the fault of a text with more than `limit` UTF-16 units.
pub(crate) fn length_fault(text: &str, limit: usize) -> Option<String> {
    // No text has more UTF-16 units than bytes: only longer ones are counted.
    let units = if text.len() > limit { utf16_len(text) } else { 0 };
    (units > limit).then(|| format!("it has {units} UTF-16 units, more than the limit of {limit}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn order_is_that_of_utf_16_code_units(a in "[a\u{e9}\u{e000}\u{ffff}\u{10000}\u{1F600}]{0,4}", b in "[a\u{e9}\u{e000}\u{ffff}\u{10000}\u{1F600}]{0,4}") {
            prop_assert_eq!(compare(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }
    }

    #[test]
    fn a_surrogate_pair_sorts_before_the_private_use_area() {
        assert_eq!(compare("\u{1F600}", "\u{E000}"), Ordering::Less);
        assert_eq!(compare("a", "b"), Ordering::Less);
        assert_eq!(compare("Z", "a"), Ordering::Less);
        assert_eq!(compare("", "a"), Ordering::Less);
        assert_eq!(utf16_len("a\u{1F600}"), 3);
    }
}
