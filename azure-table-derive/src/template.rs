//! The text of a key template: `"{state};{city}"`.
//!
//! Parses the grammar: `{field}`, `{field:04}` for four digits, text between the fields, `{{` and `}}` for braces. Two
//! fields are never adjacent, because reading a key splits it into its fields again. `ast/key.rs` resolves the fields.

use crate::identifier::continues_name;

/// The maximum length of a key, in UTF-16 code units; the same limit as `azure_table`'s `MAX_KEY_UNITS`.
const MAX_KEY_UNITS: usize = 1_024;
/// The maximum number of digits of a field: the digits of a `u128`.
const MAX_WIDTH: usize = 39;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The text of a field, with the name in the braces.
    Field(String),
    /// The text of a field, padded to this number of digits.
    Padded(String, usize),
    /// A likely field, at a faulty place.
    Guess(String),
    /// Fixed text, never empty.
    Literal(String),
}

/// The pieces of a template, and all of its faults.
#[derive(Debug, Default)]
pub(crate) struct Template {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) faults: Vec<String>,
}

impl Template {
    /// Parses a template. Continues after a fault, to find all of them.
    pub(crate) fn parse(text: &str) -> Self {
        let mut template = Self::default();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            template.literal(&rest[..at]);
            let brace = &rest[at..];
            rest = if let Some(after) = brace.strip_prefix("{{") {
                template.literal("{");
                after
            } else if let Some(after) = brace.strip_prefix("}}") {
                template.literal("}");
                after
            } else if let Some(after) = brace.strip_prefix('{') {
                template.field(after)
            } else {
                template.fault("`}` without `{`: write `{field}` for a field, or `}}` for a brace");
                &brace[1..]
            };
        }
        template.literal(rest);
        template.check_literals();
        template
    }

    /// Parses the field that `rest` begins with. Returns the text after its brace.
    fn field<'a>(&mut self, rest: &'a str) -> &'a str {
        let end = match rest.find(['{', '}']) {
            Some(end) if rest[end..].starts_with('}') => end,
            found => {
                let end = found.unwrap_or(rest.len());
                let unclosed = &rest[..end];
                self.fault(format!(
                    "unclosed `{{{unclosed}`: write `{{field}}` for a field, or `{{{{` for a brace"
                ));
                self.pieces.push(Piece::Guess(identifier(unclosed)));
                return &rest[end..];
            }
        };
        let (name, width) = match rest[..end].split_once(':') {
            Some((name, width)) => (name, Some(width)),
            None => (&rest[..end], None),
        };
        let field = identifier(name);
        if name.is_empty() {
            self.fault("`{}` names no field: write `{field}`, or `{{}}` for the two braces");
        } else if name != field {
            let meant = if field.is_empty() { "field" } else { &*field };
            self.fault(format!(
                "`{{{name}}}` contains more than the name of a field: write `{{{meant}}}`"
            ));
            self.pieces.push(Piece::Guess(field));
        } else {
            if let Some(Piece::Field(before) | Piece::Padded(before, _)) = self.pieces.last() {
                let fault = format!(
                    "`{{{before}}}` and `{{{name}}}` are adjacent, so a key that is read cannot be split: put text \
                     between them, such as `{{{before}}};{{{name}}}`"
                );
                self.fault(fault);
            }
            let piece = match width.map(digits) {
                None => Piece::Field(field),
                Some(Some(width)) => Piece::Padded(field, width),
                Some(None) => {
                    self.fault(format!(
                        "`{{{}}}` has an invalid width: after the colon write a zero and the number of digits, at most \
                         {MAX_WIDTH}, such as `{{{name}:04}}`",
                        &rest[..end]
                    ));
                    Piece::Guess(field)
                }
            };
            self.pieces.push(piece);
        }
        &rest[end + 1..]
    }

    /// Appends fixed text to the preceding text.
    fn literal(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Literal(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Literal(text.to_owned())),
        }
    }

    fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// Checks that fixed text is valid in a key, by the same rules as `value/key_text.rs` of azure-table-wire.
    fn check_literals(&mut self) {
        let literals = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            Piece::Field(_) | Piece::Padded(..) | Piece::Guess(_) => None,
        });
        let text: String = literals.collect();
        if let Some(fault) = key_text_fault(&text) {
            self.fault(fault);
        }
        let units = text.encode_utf16().count();
        if units > MAX_KEY_UNITS {
            self.fault(format!(
                "the fixed text has {units} UTF-16 units: a key has at most {MAX_KEY_UNITS}"
            ));
        }
    }
}

/// Returns the fault of fixed text in a key, apart from its length.
pub(crate) fn key_text_fault(text: &str) -> Option<String> {
    let wrong = text
        .chars()
        .find(|c| matches!(c, '/' | '\\' | '#' | '?') || c.is_control())?;
    Some(format!(
        "{wrong:?} is forbidden in a key: use another character (not / \\ # ? and no control characters)"
    ))
}

/// Returns the width that `04` stands for.
fn digits(width: &str) -> Option<usize> {
    let digits = width.strip_prefix('0')?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|width| (1..=MAX_WIDTH).contains(width))
}

/// Returns the identifier that the text begins with, ignoring spaces and the `r#` of a raw one.
fn identifier(text: &str) -> String {
    let text = text.trim_start();
    let letters = text.strip_prefix("r#").unwrap_or(text).chars();
    letters.take_while(|c| continues_name(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::Piece::{Field, Literal};
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        let template = Template::parse(text);
        assert!(template.faults.is_empty(), "{:?}", template.faults);
        template.pieces
    }

    fn field(name: &str) -> Piece {
        Field(name.to_owned())
    }

    fn literal(text: &str) -> Piece {
        Literal(text.to_owned())
    }

    #[test]
    fn fields_and_text_alternate() {
        assert_eq!(pieces("{state};{city}"), [field("state"), literal(";"), field("city")]);
        assert_eq!(pieces("o-{id}"), [literal("o-"), field("id")]);
        assert_eq!(pieces("{größe_2}€"), [field("größe_2"), literal("€")]);
    }

    #[test]
    fn template_without_fields_is_a_constant() {
        assert_eq!(pieces("settings"), [literal("settings")]);
        assert_eq!(pieces(""), []);
    }

    #[test]
    fn doubled_braces_are_text() {
        assert_eq!(pieces("{{{a}}}-{{b}}"), [literal("{"), field("a"), literal("}-{b}")]);
    }

    #[test]
    fn faults_include_the_correct_form() {
        for (text, fault) in [
            (
                "{state",
                "unclosed `{state`: write `{field}` for a field, or `{{` for a brace",
            ),
            (
                "{a;{b}",
                "unclosed `{a;`: write `{field}` for a field, or `{{` for a brace",
            ),
            (
                "state}",
                "`}` without `{`: write `{field}` for a field, or `}}` for a brace",
            ),
            (
                "{}",
                "`{}` names no field: write `{field}`, or `{{}}` for the two braces",
            ),
            (
                "{n:4}",
                "`{n:4}` has an invalid width: after the colon write a zero and the number of digits, at most 39, such \
                 as `{n:04}`",
            ),
            ("{ n }", "`{ n }` contains more than the name of a field: write `{n}`"),
            (
                "{r#in}",
                "`{r#in}` contains more than the name of a field: write `{in}`",
            ),
            (
                "{a}{b}",
                "`{a}` and `{b}` are adjacent, so a key that is read cannot be split: put text between them, such as \
                 `{a};{b}`",
            ),
            (
                "{a}/{b}",
                "'/' is forbidden in a key: use another character (not / \\ # ? and no control characters)",
            ),
        ] {
            assert_eq!(Template::parse(text).faults, [fault], "{text}");
        }
        let long = Template::parse(&"é".repeat(1_025)).faults;
        assert_eq!(long, ["the fixed text has 1025 UTF-16 units: a key has at most 1024"]);
    }

    #[test]
    fn field_at_a_fault_is_guessed() {
        let guess = |name: &str| Piece::Guess(name.to_owned());
        assert_eq!(Template::parse("{a};{b").pieces, [field("a"), literal(";"), guess("b")]);
        assert_eq!(Template::parse("{ n:04 }").pieces, [guess("n")]);
        assert_eq!(Template::parse("{n:x}").pieces, [guess("n")]);
    }

    #[test]
    fn width_is_a_zero_and_a_number() {
        let padded = |name: &str, width| Piece::Padded(name.to_owned(), width);
        assert_eq!(pieces("{n:04}"), [padded("n", 4)]);
        assert_eq!(pieces("{a};{n:010}"), [field("a"), literal(";"), padded("n", 10)]);
        for wrong in [
            "{n:}", "{n:0}", "{n:00}", "{n:4}", "{n:040}", "{n:0x}", "{n:04x}", "{n:>4}", "{n: 04}",
        ] {
            assert_eq!(Template::parse(wrong).faults.len(), 1, "{wrong}");
        }
        assert!(Template::parse("{n:04}{m}").faults[0].contains("adjacent"));
    }

    #[test]
    fn all_faults_of_a_template_are_reported_together() {
        assert_eq!(Template::parse("{a}{b}}#{}").faults.len(), 4);
    }
}
