//! The characters of C#'s identifiers, as the names of properties are.
//!
//! The same rules as `value/name.rs` of azure-table-wire, which no macro crate can import.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Returns `true` if the name of a property can begin with the character.
pub(crate) fn begins_name(character: char) -> bool {
    use GeneralCategory::{
        LetterNumber, LowercaseLetter, ModifierLetter, OtherLetter, TitlecaseLetter, UppercaseLetter,
    };
    character == '_'
        || matches!(
            get_general_category(character),
            UppercaseLetter | LowercaseLetter | TitlecaseLetter | ModifierLetter | OtherLetter | LetterNumber
        )
}

/// Returns `true` if the character can follow the first one of a property's name.
pub(crate) fn continues_name(character: char) -> bool {
    use GeneralCategory::{ConnectorPunctuation, DecimalNumber, Format, NonspacingMark, SpacingMark};
    begins_name(character)
        || matches!(
            get_general_category(character),
            NonspacingMark | SpacingMark | DecimalNumber | ConnectorPunctuation | Format
        )
}
