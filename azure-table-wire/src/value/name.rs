//! Table and property names.

use unicode_general_category::{GeneralCategory, get_general_category};

use crate::value::ordinal::length_fault;

/// The characters that no table name of any service has. They separate the parts of a URL.
const NEVER_IN_TABLE_NAMES: [char; 4] = ['/', '\\', '#', '?'];
/// The names that address another resource in a URL.
const RESERVED_TABLE_NAMES: [&str; 4] = ["Tables", "$batch", ".", ".."];
/// The maximum length of a table name, in characters: Cosmos DB's.
pub const MAX_TABLE_NAME: usize = 254;

/// Returns the fault in a table name that no service accepts.
///
/// Source: the errors of Cosmos DB (recordings of azure-data-tables, `table_name_errors*`), whose names include those
/// of Azure Table storage. Control characters, the names of other resources and a single character are not confirmed.
pub fn table_name_fault(name: &str) -> Option<String> {
    let length = name.chars().count();
    if !(1..=MAX_TABLE_NAME).contains(&length) {
        return Some(format!("it has {length} characters"));
    }
    let is_wrong = |c: &char| NEVER_IN_TABLE_NAMES.contains(c) || c.is_control();
    if let Some(wrong) = name.chars().find(is_wrong) {
        return Some(format!("it contains {wrong:?}"));
    }
    if name.ends_with(' ') {
        return Some("it ends with a space".to_owned());
    }
    let is_reserved = RESERVED_TABLE_NAMES.contains(&name);
    is_reserved.then(|| "the service reserves it".to_owned())
}

/// Returns the fault in a table name that Azure Table storage does not accept.
///
/// Source: REST "Understanding the Table service data model", table names.
pub fn storage_table_name_fault(name: &str) -> Option<String> {
    let body = name.strip_prefix('$').unwrap_or(name);
    let length = name.chars().count();
    let fault = if !(3..=63).contains(&length) {
        format!("it has {length} characters")
    } else if let Some(wrong) = body.chars().find(|c| !c.is_ascii_alphanumeric()) {
        format!("it contains {wrong:?}")
    } else if !body.starts_with(|c: char| c.is_ascii_alphabetic()) {
        "it does not start with a letter".to_owned()
    } else if name.eq_ignore_ascii_case("tables") {
        "the service reserves it".to_owned()
    } else {
        return None;
    };
    Some(format!(
        "{fault}; Azure Table storage allows 3 to 63 ASCII letters and digits, a letter first"
    ))
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

/// Returns `true` if a property name can begin with the character: the letters of C#'s identifiers, and `_`.
///
/// Not confirmed for characters beyond U+FFFF.
pub fn begins_name(character: char) -> bool {
    use GeneralCategory::{
        LetterNumber, LowercaseLetter, ModifierLetter, OtherLetter, TitlecaseLetter, UppercaseLetter,
    };
    if character.is_ascii() {
        return character.is_ascii_alphabetic() || character == '_';
    }
    matches!(
        get_general_category(character),
        UppercaseLetter | LowercaseLetter | TitlecaseLetter | ModifierLetter | OtherLetter | LetterNumber
    )
}

/// Returns `true` if the character can follow the first one of a property name: the letters, digits, marks, connectors
/// and format characters of C#'s identifiers.
pub fn continues_name(character: char) -> bool {
    use GeneralCategory::{ConnectorPunctuation, DecimalNumber, Format, NonspacingMark, SpacingMark};
    if let Ok(byte) = u8::try_from(character)
        && byte.is_ascii()
    {
        return PLAIN[usize::from(byte)];
    }
    let is_mark = || {
        matches!(
            get_general_category(character),
            NonspacingMark | SpacingMark | DecimalNumber | ConnectorPunctuation | Format
        )
    };
    begins_name(character) || is_mark()
}

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
        Some(first) if !begins_name(first) => {
            return Some(format!("it starts with {first:?}, not with a letter or `_`"));
        }
        Some(_) => {}
    }
    if let Some(wrong) = chars.find(|c| !continues_name(*c)) {
        return Some(format!("it contains {wrong:?} (letters, digits and `_` are allowed)"));
    }
    if SYSTEM_PROPERTIES.contains(&name) {
        return Some("the service reserves it".into());
    }
    length_fault(name, MAX_PROPERTY_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_storage_are_letters_and_digits() {
        for good in [
            "abc",
            "Blogs",
            "A1234567890",
            &"x".repeat(63),
            "$MetricsHourPrimaryTransactionsTable",
        ] {
            assert_eq!(storage_table_name_fault(good), None);
            assert_eq!(table_name_fault(good), None);
        }
        for (bad, why) in [
            ("ab", "2 characters"),
            (&*"x".repeat(64), "64 characters"),
            ("my_table", "'_'"),
            ("1st", "start with a letter"),
            ("Ünïcode", "'Ü'"),
            ("tables", "reserves"),
            ("", "0 characters"),
        ] {
            let text = storage_table_name_fault(bad).unwrap();
            assert!(text.contains(why) && text.contains("3 to 63 ASCII letters"), "{text}");
        }
    }

    #[test]
    fn property_names_follow_the_service() {
        for good in [
            "a",
            "_x",
            "Größe",
            "rtg2",
            "हिन्दी",
            "ก่อน",
            "e\u{301}",
            "a‿b",
            "Ⅷ",
            "a\u{200d}٣",
            &"x".repeat(255),
        ] {
            assert_eq!(property_name_fault(good), None, "{good}");
        }
        for bad in [
            "",
            "1a",
            "a-b",
            "a b",
            "m²",
            "Ⓐ",
            "‿a",
            "\u{301}e",
            "٣a",
            "RowKey",
            "odata.etag",
            &"x".repeat(256),
        ] {
            assert!(property_name_fault(bad).is_some(), "{bad}");
        }
    }
}
