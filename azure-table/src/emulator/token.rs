//! Continuation tokens: a position in a table, as text that is opaque to clients.
//!
//! The shape is that of the service: `1!`, the length of what follows, `!`, base64 with `-` for `=`. They hold no state
//! of the emulator, so a token works as long as the table exists.
//!
//! Source: recorded continuation headers; REST "Query timeout and pagination".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::emulator::refusal::{Refusal, Result};
use crate::model::datetime::DateTime;

/// The token of a key.
pub(crate) fn of_key(key: &str) -> String {
    let text = STANDARD.encode(key).replace('=', "-");
    format!("1!{}!{text}", text.len())
}

/// The key of a token.
pub(crate) fn key(token: &str) -> Result<String> {
    read(token).ok_or(Refusal::INVALID_INPUT)
}

/// The token of a table: its lower-case name and an id, which live is that of the table.
pub(crate) fn of_table(name: &str, created: DateTime) -> String {
    of_key(&format!("{name}\u{1}{:016x}", created.ticks()))
}

/// The lower-case name in a table's token.
pub(crate) fn table_name(token: &str) -> Result<String> {
    let mut name = key(token)?;
    name.truncate(name.find('\u{1}').unwrap_or(name.len()));
    Ok(name)
}

fn read(token: &str) -> Option<String> {
    let (length, text) = token.strip_prefix("1!")?.split_once('!')?;
    if length.parse() != Ok(text.len()) {
        return None;
    }
    String::from_utf8(STANDARD.decode(text.replace('-', "=")).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_look_like_the_services() {
        assert_eq!(of_key("pk801016e8"), "1!16!cGs4MDEwMTZlOA--");
        assert_eq!(key("1!16!cGs4MDEwMTZlOA--").unwrap(), "pk801016e8");
        assert_eq!(of_key(""), "1!0!");
        assert_eq!(
            table_name("1!40!dGFibGUzNTg2MTlkMgEwMWQzNTljZGFiMWI3OTg1").unwrap(),
            "table358619d2"
        );
        for wrong in ["", "1!", "1!5!YQ--", "1!4!!!!!", "2!4!YQ--", "1!4!/w--", "x"] {
            assert_eq!(key(wrong), Err(Refusal::INVALID_INPUT), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_key_survives(text in any::<String>()) {
            prop_assert_eq!(key(&of_key(&text)).unwrap(), text);
        }
    }
}
