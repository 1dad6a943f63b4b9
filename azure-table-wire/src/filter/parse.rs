//! Parses OData `$filter` text to an [`Expression`]: the reverse of `expression.rs` and `literal.rs`.
//!
//! Accepts what the service documents: six comparisons between one property and one constant in either order, `and`,
//! `or`, `not (…)`, parentheses, and constants of the eight types. A property alone is a condition: that it is `true`.
//! `true` and `false` are conditions too, as users report (Azurite issues 1573, 1787 and 2450). Rejects functions and
//! arithmetic, which the service does not have, and everything else that was not seen to work.
//!
//! The error texts follow OData's parser, as far as they were seen:
//! - an unexpected word (recording `entity_query_invalid_filter` of azure-data-tables, 2024);
//! - a number as the whole filter (Azurite issue 1185);
//! - a constant that is too large;
//! - a character that begins nothing (recorded in 2020 for `<`);
//! - a key as a condition (the tests of azure-storage-net).
//!
//! Not confirmed, and rejected here: `not` without parentheses before a comparison.
//! Not confirmed, and accepted here: `NaN`, `Infinity`, `INF` and their negatives as constants of type Edm.Double.
//!
//! Source: REST "Querying tables and entities"; "Query operators supported for the Table service"; "Constructing Filter
//! Strings for the Table Designer".

use std::collections::VecDeque;
use std::fmt;

use crate::codec::odata::literal::quoted;
use crate::error::error_text::Shown;
use crate::filter::expression::{Comparison, Expression, MAX_DEPTH};
use crate::value::datetime;
use crate::value::edm::EdmValue;
use crate::value::name::{begins_name, continues_name};

/// The reason that text is not a filter. Its `Display` is the service's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text follows no rule of filters.
    Invalid,
    /// A complete filter, followed by more text.
    Syntax {
        /// The UTF-16 units up to the end of the first unexpected word.
        at: usize,
        filter: Box<str>,
    },
    /// A character begins no part of a filter.
    Character {
        character: char,
        at: usize,
        filter: Box<str>,
    },
    /// The filter is a constant that is neither `true` nor `false`, or a key.
    NotBoolean,
    /// A condition of a chain is a property with a declared type.
    Operands {
        types: [&'static str; 2],
        operator: &'static str,
    },
    /// A constant does not fit its type.
    Literal {
        type_name: &'static str,
        literal: Box<str>,
        at: usize,
        filter: Box<str>,
    },
    /// The text uses a part of OData that the service does not have.
    Unsupported,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid => f.write_str("One of the request inputs is not valid."),
            Self::Syntax { at, filter } => write!(f, "Syntax error at position {at} in '{filter}'."),
            Self::Character { character, at, filter } => write!(
                f,
                "Syntax error: character '{character}' is not valid at position {at} in '{filter}'."
            ),
            Self::Operands {
                types: [left, right],
                operator,
            } => write!(
                f,
                "A binary operator with incompatible types was detected. Found operand types '{left}' and '{right}' \
                 for operator kind '{operator}'."
            ),
            Self::NotBoolean => f.write_str("The $filter expression must evaluate to a single boolean value."),
            Self::Literal {
                type_name,
                literal,
                at,
                filter,
            } => {
                write!(
                    f,
                    "Unrecognized '{type_name}' literal '{literal}' at '{at}' in '{filter}'."
                )
            }
            Self::Unsupported => f.write_str("The requested operation is not implemented on the specified resource."),
        }
    }
}

type Result<T> = std::result::Result<T, ParseError>;

/// Returns the first raw text of an expression that is not a filter, with the place of its first unexpected word.
pub fn raw_fault(expression: &Expression) -> Option<String> {
    let text = match expression {
        Expression::Raw(text) => text,
        Expression::Comparison { .. } => return None,
        Expression::And(parts) | Expression::Or(parts) => return parts.iter().find_map(raw_fault),
        Expression::Not(inner) => return raw_fault(inner),
    };
    let (_, at) = parse_to(text).err()?;
    let (before, rest) = text.split_at(at);
    Some(match rest {
        "" => format!("the filter {} ends too early", Shown(text)),
        rest => format!(
            "the filter {} is not understood from character {} on, {}",
            Shown(text),
            before.chars().count() + 1,
            Shown(rest)
        ),
    })
}

/// Returns `true` if a part of the expression compares this property.
pub fn compares(expression: &Expression, property: &str) -> bool {
    match expression {
        Expression::Comparison { name, .. } => name == property,
        Expression::And(parts) | Expression::Or(parts) => parts.iter().any(|part| compares(part, property)),
        Expression::Not(inner) => compares(inner, property),
        Expression::Raw(text) => parse_to(text).is_ok_and(|parsed| compares(&parsed, property)),
    }
}

/// Parses a filter without the position of an error.
#[cfg(test)]
pub fn parse(text: &str) -> Result<Expression> {
    parse_to(text).map_err(|(error, _)| error)
}

/// Parses a filter. Empty or blank text is an error, because the service treats it as no filter.
///
/// An error has the byte offset of the unexpected word.
pub fn parse_to(text: &str) -> std::result::Result<Expression, (ParseError, usize)> {
    let mut parser = Parser {
        text,
        at: 0,
        started: 0,
        depth: 0,
        declared: None,
    };
    parser.whole().map_err(|error| (error, parser.started))
}

enum Token<'a> {
    Open,
    Close,
    Word(&'a str),
    Literal(EdmValue),
    End,
}

enum Operand<'a> {
    Property(&'a str),
    Literal(EdmValue),
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The start of the word that was read last.
    started: usize,
    depth: usize,
    /// The type of the condition that was parsed last, if it is a declared property alone and thus no Boolean.
    declared: Option<&'static str>,
}

impl<'a> Parser<'a> {
    fn whole(&mut self) -> Result<Expression> {
        let expression = self.or()?;
        match self.next()? {
            Token::End if self.declared.is_some() => Err(ParseError::NotBoolean),
            Token::End => Ok(expression),
            _ => Err(self.syntax()),
        }
    }

    /// Returns the error of the token that was read last, if the filter could have ended before it.
    ///
    /// The service's text between parentheses differs, and was not seen.
    fn syntax(&self) -> ParseError {
        if self.depth > 0 {
            return ParseError::Invalid;
        }
        ParseError::Syntax {
            at: self.units(self.at),
            filter: self.text.into(),
        }
    }

    /// Returns the number of UTF-16 units before a byte of the text.
    fn units(&self, at: usize) -> usize {
        self.text[..at].encode_utf16().count()
    }

    fn or(&mut self) -> Result<Expression> {
        self.chain("or", Expression::Or, Self::and)
    }

    fn and(&mut self) -> Result<Expression> {
        self.chain("and", Expression::And, Self::condition)
    }

    /// Parses one or more parts with `word` between them. Returns a single part unchanged.
    fn chain(
        &mut self,
        word: &str,
        join: fn(VecDeque<Expression>) -> Expression,
        part: fn(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        let first = part(self)?;
        if !self.take_word(word)? {
            return Ok(first);
        }
        let mut left = self.declared.take();
        let mut parts = VecDeque::from([first]);
        loop {
            parts.push_back(part(self)?);
            let types = [left.take(), self.declared.take()];
            if types.iter().any(Option::is_some) {
                return Err(ParseError::Operands {
                    types: types.map(|declared| declared.unwrap_or("Edm.Boolean")),
                    operator: if word == "and" { "And" } else { "Or" },
                });
            }
            if !self.take_word(word)? {
                return Ok(join(parts));
            }
        }
    }

    fn condition(&mut self) -> Result<Expression> {
        let start = self.at;
        match self.next()? {
            Token::Open => {
                let inner = self.nested(Self::or)?;
                match self.next()? {
                    Token::Close => Ok(inner),
                    _ => Err(ParseError::Invalid),
                }
            }
            Token::Word("not") if self.is_before_condition()? => {
                // Parentheses count their own depth.
                let inner = match self.peek()? {
                    Token::Open => self.condition()?,
                    _ => self.nested(Self::condition)?,
                };
                match self.declared {
                    Some(_) => Err(ParseError::Invalid),
                    None => Ok(Expression::Not(Box::new(inner))),
                }
            }
            Token::Literal(EdmValue::Boolean(value)) if !self.is_before_operator()? => Ok(if value {
                Expression::And(VecDeque::new())
            } else {
                Expression::Or(VecDeque::new())
            }),
            _ => {
                self.at = start;
                self.comparison()
            }
        }
    }

    /// Returns `true` if a condition follows `not`: one in parentheses, another `not`, or a property alone.
    fn is_before_condition(&mut self) -> Result<bool> {
        Ok(match self.peek()? {
            Token::Open | Token::Word("not") => true,
            Token::Word(word) if Comparison::from_name(word).is_none() => {
                let start = self.at;
                self.next()?;
                let is_alone = self.ends_condition()?;
                self.at = start;
                is_alone
            }
            _ => false,
        })
    }

    /// Returns `true` if the next token cannot continue a condition.
    fn ends_condition(&mut self) -> Result<bool> {
        Ok(matches!(
            self.peek()?,
            Token::End | Token::Close | Token::Word("and" | "or")
        ))
    }

    fn is_before_operator(&mut self) -> Result<bool> {
        let next = self.peek()?;
        Ok(matches!(next, Token::Word(word) if Comparison::from_name(word).is_some() || is_arithmetic(word)))
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Expression>) -> Result<Expression> {
        if self.depth == MAX_DEPTH {
            return Err(ParseError::Invalid);
        }
        self.depth += 1;
        let expression = inner(self)?;
        self.depth -= 1;
        Ok(expression)
    }

    fn comparison(&mut self) -> Result<Expression> {
        let begins_filter = self.text[..self.at].trim_start().is_empty();
        let left = self.operand()?;
        if let Operand::Property(name) = left
            && !matches!(name, "not" | "and" | "or")
            && self.ends_condition()?
        {
            self.declared = match name {
                "PartitionKey" | "RowKey" | "TableName" => Some("Edm.String"),
                "Timestamp" => Some("Edm.DateTime"),
                _ => None,
            };
            return Ok(Expression::comparison(name.to_owned(), Comparison::Eq, true.into()));
        }
        let operator = match self.next()? {
            Token::Word(word) if is_arithmetic(word) => return Err(ParseError::Unsupported),
            Token::Word(word) => match (Comparison::from_name(word), &left) {
                (Some(operator), _) => operator,
                (None, Operand::Property("not")) => return Err(ParseError::Invalid),
                (None, _) => return Err(self.syntax()),
            },
            Token::End if begins_filter && matches!(left, Operand::Literal(_)) => return Err(ParseError::NotBoolean),
            Token::End => return Err(ParseError::Invalid),
            _ => return Err(self.syntax()),
        };
        let right = self.operand()?;
        if let Token::Word(word) = self.peek()?
            && is_arithmetic(word)
        {
            return Err(ParseError::Unsupported);
        }
        match (left, right) {
            (Operand::Property(name), Operand::Literal(value)) => {
                Ok(Expression::comparison(name.to_owned(), operator, value))
            }
            // Either order works (Azurite issue 1599, seen live).
            (Operand::Literal(value), Operand::Property(name)) => {
                Ok(Expression::comparison(name.to_owned(), operator.mirrored(), value))
            }
            _ => Err(ParseError::Invalid),
        }
    }

    fn operand(&mut self) -> Result<Operand<'a>> {
        match self.next()? {
            // Rejected by the live service (Azurite issue 2471).
            Token::Word("null") => Err(ParseError::Invalid),
            Token::Word(_) if matches!(self.peek()?, Token::Open) => Err(ParseError::Unsupported),
            Token::Word(name) => Ok(Operand::Property(name)),
            Token::Literal(value) => Ok(Operand::Literal(value)),
            _ => Err(ParseError::Invalid),
        }
    }

    fn take_word(&mut self, word: &str) -> Result<bool> {
        let start = self.at;
        if matches!(self.next()?, Token::Word(found) if found == word) {
            return Ok(true);
        }
        self.at = start;
        Ok(false)
    }

    fn peek(&mut self) -> Result<Token<'a>> {
        let start = self.at;
        let token = self.next();
        self.at = start;
        token
    }

    fn next(&mut self) -> Result<Token<'a>> {
        let rest = self.rest().trim_start();
        self.at = self.text.len() - rest.len();
        self.started = self.at;
        let Some(first) = rest.chars().next() else {
            return Ok(Token::End);
        };
        match first {
            '(' | ')' => {
                self.at += 1;
                Ok(if first == '(' { Token::Open } else { Token::Close })
            }
            '\'' => self.quoted().map(|text| Token::Literal(EdmValue::from(text))),
            '0'..='9' | '-' => self.number().map(Token::Literal),
            _ if begins_name(first) => self.word(),
            // They are parts of OData.
            ',' | '=' | '/' | '?' | '.' | '*' | ':' => Err(ParseError::Invalid),
            character => Err(ParseError::Character {
                character,
                at: self.units(self.at),
                filter: self.text.into(),
            }),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn quoted(&mut self) -> Result<String> {
        let (text, length) = quoted(self.rest()).ok_or(ParseError::Invalid)?;
        self.at += length;
        Ok(text)
    }

    /// Reads a name, a word of the language, a constant that is a word, or a constant in quotes after its type prefix.
    fn word(&mut self) -> Result<Token<'a>> {
        let rest = self.rest();
        let end = rest.find(|c: char| !continues_name(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        if rest[end..].starts_with('\'') {
            let text = self.quoted()?;
            return typed(word, &text).map(Token::Literal).ok_or(ParseError::Invalid);
        }
        Ok(match word {
            "true" => Token::Literal(EdmValue::from(true)),
            "false" => Token::Literal(EdmValue::from(false)),
            "NaN" => Token::Literal(EdmValue::from(f64::NAN)),
            "INF" | "Infinity" => Token::Literal(EdmValue::from(f64::INFINITY)),
            _ => Token::Word(word),
        })
    }

    fn number(&mut self) -> Result<EdmValue> {
        let rest = self.rest();
        let mut previous = ' ';
        let end = rest
            .char_indices()
            .find(|&(at, c)| {
                let sign = matches!(c, '-' | '+') && (at == 0 || matches!(previous, 'e' | 'E'));
                previous = c;
                !(sign || c == '.' || c.is_ascii_alphanumeric())
            })
            .map_or(rest.len(), |(at, _)| at);
        let text = &rest[..end];
        let at = self.at;
        self.at += end;
        let unrecognized = |type_name| ParseError::Literal {
            type_name,
            literal: text.into(),
            at,
            filter: self.text.into(),
        };
        if let Some(digits) = text.strip_suffix(['L', 'l']) {
            return digits
                .parse::<i64>()
                .map(EdmValue::from)
                .map_err(|_| unrecognized("Edm.Int64"));
        }
        if matches!(text, "-INF" | "-Infinity") {
            return Ok(EdmValue::from(f64::NEG_INFINITY));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ParseError::Invalid);
        }
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            return text
                .parse::<i32>()
                .map(EdmValue::from)
                .map_err(|_| unrecognized("Edm.Int32"));
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(EdmValue::from(value)),
            _ => Err(unrecognized("Edm.Double")),
        }
    }
}

fn is_arithmetic(word: &str) -> bool {
    matches!(word, "add" | "sub" | "mul" | "div" | "mod")
}

/// Returns the value of `prefix'text'`.
fn typed(prefix: &str, text: &str) -> Option<EdmValue> {
    match prefix.to_ascii_lowercase().as_str() {
        "datetime" => datetime::of_service(text).ok().map(EdmValue::DateTime),
        "guid" => text.parse().ok().map(EdmValue::Guid),
        "x" | "binary" => hexadecimal(text).map(EdmValue::from),
        _ => None,
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks();
    let bytes = pairs.iter().map(|[high, low]| (high << 4 | low) as u8);
    rest.is_empty().then(|| bytes.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::datetime::DateTime;
    use crate::value::guid::Guid;

    /// Formats the filter after parsing, with all parentheses.
    fn read(text: &str) -> String {
        parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).to_string()
    }

    #[test]
    fn constants_of_every_type_are_read() {
        for (text, expected) in [
            ("S eq 'O''Brien'", "S eq 'O''Brien'"),
            ("S eq ''", "S eq ''"),
            (
                "S eq 'a and b or not c (eq) ''q'''",
                "S eq 'a and b or not c (eq) ''q'''",
            ),
            ("I eq -2147483648", "I eq -2147483648"),
            ("L eq 4294967296L", "L eq 4294967296L"),
            ("D gt 1.0e10", "D gt 10000000000.0"),
            ("D eq -1.5e-7", "D eq -1.5e-7"),
            ("D eq -INF", "D eq -INF"),
            ("B eq true", "B eq true"),
            (
                "T eq datetime'2012-11-10T03:04:05.200Z'",
                "T eq datetime'2012-11-10T03:04:05.2Z'",
            ),
            ("T ge datetime'2023-01-01T23:00'", "T ge datetime'2023-01-01T23:00:00Z'"),
            (
                "G eq guid'C9DA6455-213D-42C9-9A79-3E9149A57833'",
                "G eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
            ),
            ("X eq binary'0102fF'", "X eq X'0102ff'"),
            ("X eq X''", "X eq X''"),
            ("Größe eq 1", "Größe eq 1"),
        ] {
            assert_eq!(read(text), expected);
        }
    }

    #[test]
    fn constant_on_the_left_mirrors_the_comparison() {
        assert_eq!(read("9 le I"), "I ge 9");
        assert_eq!(read("'x' eq PartitionKey"), "PartitionKey eq 'x'");
        assert_eq!(read("1 gt I"), "I lt 1");
    }

    #[test]
    fn not_binds_before_and_which_binds_before_or() {
        assert_eq!(read("A eq 1 or B eq 2 and C eq 3"), "A eq 1 or (B eq 2 and C eq 3)");
        assert_eq!(read("(A eq 1 or B eq 2) and C eq 3"), "(A eq 1 or B eq 2) and C eq 3");
        assert_eq!(read("not (A eq 1) and B eq 2"), "(not (A eq 1)) and B eq 2");
        assert_eq!(read("not not (A eq 1)"), "not (not (A eq 1))");
        assert_eq!(read(" ( ( A eq 1 ) ) "), "A eq 1");
        assert_eq!(read("not eq 1"), "not eq 1", "a property may have the name of a word");
    }

    #[test]
    fn invalid_filters_are_rejected_with_the_service_message() {
        for text in [
            "",
            "I eq",
            "I == 1",
            "(I eq 1",
            "S eq 'unterminated",
            "S eq null",
            "null eq S",
            "T eq datetime'not a date'",
            "G eq guid'123'",
            "X eq X'012'",
            "X eq X'0g'",
            "I eq 1 and",
            "and",
            "I eq 1 and or",
            "not",
            "not I eq 1",
            "not RowKey",
            "I eq J",
            "1 eq 1",
            "time'x' eq I",
            "-",
            "I eq -",
            "I eq -x",
            "'",
            "()",
        ] {
            assert_eq!(parse(text), Err(ParseError::Invalid), "{text}");
        }
        assert_eq!(
            ParseError::Invalid.to_string(),
            "One of the request inputs is not valid."
        );
        let overflow = parse("I eq 1498179600055").unwrap_err().to_string();
        assert!(
            overflow.starts_with("Unrecognized 'Edm.Int32' literal '1498179600055' at '5' in"),
            "{overflow}"
        );
        for (text, at) in [
            ("aaa bbb ccc", 7),
            ("I EQ 1", 4),
            ("I eq 1)", 7),
            ("S eq 'é\u{1F600}' 'b'", 14),
            ("I eq 1 true", 11),
        ] {
            let expected = format!("Syntax error at position {at} in '{text}'.");
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
        for text in ["1", " 'x'", "5L"] {
            assert_eq!(parse(text), Err(ParseError::NotBoolean), "{text}");
        }
        assert_eq!(parse("(aaa bbb)"), Err(ParseError::Invalid));
        for (text, at) in [("<class 'filter'>", 0), ("S eq '\u{1F600}' and (I eq <", 20)] {
            let expected = format!("Syntax error: character '<' is not valid at position {at} in '{text}'.");
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
        for text in [
            "I eq 99999999999",
            "L eq 9223372036854775808L",
            "D eq 1e999",
            "D eq 1.5f",
            "I eq 0x10",
        ] {
            assert!(matches!(parse(text), Err(ParseError::Literal { .. })), "{text}");
        }
        for text in [
            "startswith(S,'pre')",
            "substringof('re', S)",
            "length(S) eq 3",
            "I add 1 eq 2",
            "I eq 1 add 1",
        ] {
            assert_eq!(parse(text), Err(ParseError::Unsupported), "{text}");
        }
    }

    #[test]
    fn property_alone_is_true() {
        for (text, expected) in [
            ("B", "B eq true"),
            ("B and N eq 1", "B eq true and N eq 1"),
            ("(B) or N eq 0", "B eq true or N eq 0"),
            ("not B", "not (B eq true)"),
            ("not (B) and not C", "(not (B eq true)) and (not (C eq true))"),
            (
                "PartitionKey eq 'Rick Riordan' and Format eq 'Hardback' and IsPublished",
                "PartitionKey eq 'Rick Riordan' and Format eq 'Hardback' and IsPublished eq true",
            ),
        ] {
            assert_eq!(read(text), expected);
        }
        for text in ["PartitionKey", "(RowKey)", "Timestamp"] {
            assert_eq!(parse(text), Err(ParseError::NotBoolean), "{text}");
        }
        for (text, types, operator) in [
            (
                "(PartitionKey ) and (RowKey ge '000050')",
                ["Edm.String", "Edm.Boolean"],
                "And",
            ),
            ("B or Timestamp", ["Edm.Boolean", "Edm.DateTime"], "Or"),
        ] {
            assert_eq!(parse(text), Err(ParseError::Operands { types, operator }), "{text}");
        }
    }

    #[test]
    fn boolean_constants_are_conditions() {
        for (text, expected) in [
            ("true", "true"),
            (" ( false ) ", "false"),
            (
                "(true and RowKey eq '1') or false",
                "((true) and RowKey eq '1') or (false)",
            ),
            ("not (true)", "not (true)"),
            ("true eq B", "B eq true"),
            ("B ne false", "B ne false"),
        ] {
            assert_eq!(read(text), expected);
        }
        for text in ["true B", "true true", "true eq false", "not true"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |open: &str, n: usize| format!("{}A eq 1{}", open.repeat(n), ")".repeat(n));
        assert!(parse(&nested("(", MAX_DEPTH)).is_ok());
        assert_eq!(parse(&nested("(", MAX_DEPTH + 1)), Err(ParseError::Invalid));
        assert_eq!(parse(&nested("not (", 50_000)), Err(ParseError::Invalid));
        assert_eq!(parse(&"not ".repeat(50_000)), Err(ParseError::Invalid));
        let long = vec!["A eq 1"; 10_000].join(" or ");
        assert!(parse(&long).is_ok(), "a long chain is not deep");
    }

    fn value() -> impl Strategy<Value = EdmValue> {
        prop_oneof![
            any::<String>().prop_map(EdmValue::from),
            any::<bool>().prop_map(EdmValue::from),
            any::<i32>().prop_map(EdmValue::from),
            any::<i64>().prop_map(EdmValue::from),
            any::<f64>()
                .prop_filter("NaN is not equal to itself", |d| !d.is_nan())
                .prop_map(EdmValue::from),
            (0..=DateTime::MAX.ticks())
                .prop_filter_map("in range", |t| DateTime::from_ticks(t).map(EdmValue::DateTime)),
            any::<[u8; 16]>().prop_map(|bytes| EdmValue::Guid(Guid(bytes))),
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(EdmValue::from),
        ]
    }

    fn comparison() -> impl Strategy<Value = Expression> {
        let operator = proptest::sample::select(vec!["eq", "ne", "gt", "ge", "lt", "le"]);
        ("[A-Za-zé_][A-Za-z0-9_漢]{0,8}", operator, value())
            .prop_filter("a word that is a constant", |(name, ..)| {
                !["true", "false", "null", "NaN", "INF", "Infinity"].contains(&name.as_str())
            })
            .prop_map(|(name, operator, value)| {
                Expression::comparison(name, Comparison::from_name(operator).unwrap(), value)
            })
    }

    fn expression() -> impl Strategy<Value = Expression> {
        comparison().prop_recursive(5, 30, 4, |inner| {
            prop_oneof![
                proptest::collection::vec_deque(inner.clone(), 2..4).prop_map(Expression::And),
                proptest::collection::vec_deque(inner.clone(), 2..4).prop_map(Expression::Or),
                inner.prop_map(|inner| Expression::Not(Box::new(inner))),
            ]
        })
    }

    proptest! {
        #[test]
        fn expression_is_read_back_from_its_text(expression in expression()) {
            prop_assert_eq!(parse(&expression.to_string()), Ok(expression));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn no_text_of_filter_pieces_panics(pieces in proptest::collection::vec(proptest::sample::select(vec![
            "A", " ", "'", "''", "(", ")", "not", "and", "or", "eq", "X'", "datetime'", "1", "-", ".", "e", "L", "null", "true", "é", ",",
        ]), 0..16)) {
            let _ = parse(&pieces.concat());
        }
    }
}
