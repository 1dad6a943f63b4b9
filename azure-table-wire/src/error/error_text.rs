//! External text in an error: quoted, of bounded length, on one line.

use std::fmt;

/// The number of characters shown of a key or name.
const MAX_CHARACTERS: usize = 80;
/// The number of characters shown of a sentence. The service's own sentences are much shorter.
const MAX_OF_LINE: usize = 1_000;

/// A text in quotes, cut after 80 characters.
#[derive(Debug)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(MAX_CHARACTERS) {
            None => write!(f, "{:?}", self.0),
            Some((end, _)) => write!(f, "{:?}…", &self.0[..end]),
        }
    }
}

/// Returns `true` if a character changes the display order of the characters around it.
///
/// Such a character can make a line read as a different one.
///
/// Source: Unicode Standard Annex 9, section 2 "Directional Formatting Characters".
pub fn is_bidirectional_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text on one line, cut after 1,000 characters.
///
/// Runs of line breaks and control characters become one space. Bidirectional controls are escaped.
#[derive(Debug)]
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let end = self
            .0
            .char_indices()
            .nth(MAX_OF_LINE)
            .map_or(self.0.len(), |(end, _)| end);
        let (text, rest) = self.0.split_at(end);
        for (n, part) in text.split(breaks).filter(|part| !part.is_empty()).enumerate() {
            if n > 0 {
                f.write_str(" ")?;
            }
            for piece in part.split_inclusive(is_bidirectional_control) {
                let control = piece.chars().next_back().filter(|c| is_bidirectional_control(*c));
                f.write_str(piece.trim_end_matches(is_bidirectional_control))?;
                control.map_or(Ok(()), |control| write!(f, "{}", control.escape_unicode()))?;
            }
        }
        f.write_str(if rest.is_empty() { "" } else { "…" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_and_lines_are_joined() {
        assert_eq!(Shown("a\"b").to_string(), r#""a\"b""#);
        assert_eq!(Shown(&"é".repeat(81)).to_string(), format!("\"{}\"…", "é".repeat(80)));
        assert_eq!(OneLine("a\r\n\u{1b}b\u{2028}c\n").to_string(), "a b c");
        assert_eq!(
            OneLine(&"é".repeat(1_001)).to_string(),
            format!("{}…", "é".repeat(1_000))
        );
    }

    #[test]
    fn bidirectional_controls_are_escaped() {
        let controls =
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        for control in controls.chars() {
            let text = format!("a{control}b");
            let escaped = format!("a\\u{{{:x}}}b", u32::from(control));
            assert_eq!(OneLine(&text).to_string(), escaped);
            assert_eq!(Shown(&text).to_string(), format!("\"{escaped}\""));
        }
        // Joiners and right-to-left letters are shown unchanged.
        assert_eq!(OneLine("a\u{200d}\u{5d0}").to_string(), "a\u{200d}\u{5d0}");
    }
}
