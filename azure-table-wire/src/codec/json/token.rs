//! A pull reader for JSON. Pieces are borrowed from the text if they have no escapes.
//!
//! It implements the grammar of RFC 8259, with a nesting of at most `MAX_DEPTH`, and gives no meaning to names.
//! serde_json is the oracle of its tests. It replaces a serde visitor because entities need the digits of a number
//! unchanged, whatever features of serde_json another crate turns on.

use std::borrow::Cow;
use std::fmt;
use std::str::Utf8Error;

use crate::codec::json::scan::plain_length;
use crate::value::edm::Token;

/// A value that is neither object nor array. Text is owned if it has escapes.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Boolean(bool),
    /// The digits as received, so that `5` and `5.0` stay distinct and no double is rounded twice.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    /// Text with half of a surrogate pair, which the service stores and no `str` can hold.
    HalfPair,
}

impl Scalar<'_> {
    /// Returns the same value, borrowed.
    #[inline]
    pub fn token(&self) -> Token<'_> {
        match self {
            Self::Null => Token::Null,
            Self::Boolean(value) => Token::Boolean(*value),
            Self::Number(digits) => Token::Number(digits),
            Self::Text(text) => Token::Text(text),
            Self::HalfPair => Token::HalfPair,
        }
    }
}

impl<'a> From<Token<'a>> for Scalar<'a> {
    fn from(token: Token<'a>) -> Self {
        match token {
            Token::Null => Self::Null,
            Token::Boolean(value) => Self::Boolean(value),
            Token::Number(digits) => Self::Number(Cow::Borrowed(digits)),
            Token::Text(text) => Self::Text(Cow::Borrowed(text)),
            Token::HalfPair => Self::HalfPair,
        }
    }
}

/// The maximum nesting of a skipped value.
const MAX_DEPTH: usize = 64;

/// The reason for rejecting text that is not valid Unicode.
const HALF_PAIR: &str = "half of a surrogate pair";

/// The position and the reason of a JSON error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError(Box<Fault>);

/// Boxed, so that a result is not larger than the value that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    /// The byte at which reading stopped.
    at: usize,
    what: Cow<'static, str>,
}

impl JsonError {
    fn new(at: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Fault { at, what: what.into() }))
    }

    /// Returns the byte offset of the error, and its reason.
    pub fn into_parts(self) -> (usize, Cow<'static, str>) {
        (self.0.at, self.0.what)
    }
}

impl From<Utf8Error> for JsonError {
    fn from(error: Utf8Error) -> Self {
        Self::new(error.valid_up_to(), "the text is not UTF-8")
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.0.what, self.0.at)
    }
}

impl std::error::Error for JsonError {}

type Result<T> = std::result::Result<T, JsonError>;

/// The reader: a position in a JSON text.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of `body`, after a byte order mark.
    pub fn new(body: &'a [u8]) -> Result<Self> {
        Ok(Self::of_text(std::str::from_utf8(body)?))
    }

    /// Starts at the beginning of `text`, after a byte order mark.
    pub fn of_text(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Self { text, at }
    }

    /// Continues at the [`position`](Self::position) of an earlier reader of the same text.
    pub fn resume(text: &'a str, position: usize) -> Self {
        Self { text, at: position }
    }

    /// Enters an object. Its members follow by [`next_member`](Self::next_member).
    #[inline]
    pub fn enter_object(&mut self) -> Result<()> {
        self.expect(b'{', "expected an object")
    }

    /// Returns the name of the next member, or `None` after the last. The caller must then read its value.
    #[inline]
    pub fn next_member(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>> {
        Ok(self.next_member_start(first)?.map(|(name, _)| name))
    }

    /// Returns the name of the next member with the position of its opening quote.
    #[inline]
    pub fn next_member_start(&mut self, first: &mut bool) -> Result<Option<(Cow<'a, str>, usize)>> {
        if !self.follows(b'}', first, "expected `,` or `}`")? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.error("expected a member's name"));
        }
        let start = self.at;
        let name = self.string()?;
        self.expect(b':', "expected `:`")?;
        Ok(Some((name, start)))
    }

    /// Returns the text from an earlier position to this one.
    #[inline]
    pub fn text_from(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// Returns `true` and skips the text if the next member starts with exactly this text.
    #[inline]
    pub fn next_member_is(&mut self, text: &str, first: bool) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let name = if first { Some(rest) } else { rest.strip_prefix(b",") };
        let is = name.is_some_and(|name| name.starts_with(text.as_bytes()));
        if is {
            self.at += text.len() + usize::from(!first);
        }
        is
    }

    /// Enters an array. Its elements follow by [`next_element`](Self::next_element).
    pub fn enter_array(&mut self) -> Result<()> {
        self.expect(b'[', "expected an array")
    }

    /// Returns `true` if another element follows. The caller must then read it.
    #[inline]
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool> {
        self.follows(b']', first, "expected `,` or `]`")
    }

    /// Returns `true` and skips the comma if another member or element follows. Otherwise skips the `end`.
    #[inline]
    fn follows(&mut self, end: u8, first: &mut bool, expected: &'static str) -> Result<bool> {
        match self.peek() {
            Some(byte) if byte == end => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !*first => self.at += 1,
            Some(_) if *first => {}
            _ => return Err(self.error(expected)),
        }
        *first = false;
        Ok(true)
    }

    /// Reads a value that is neither object nor array.
    #[inline]
    pub fn scalar(&mut self) -> Result<Scalar<'a>> {
        match self.peek() {
            Some(b'"') => self.string().map(Scalar::Text),
            Some(b'-' | b'0'..=b'9') => self.number().map(|digits| Scalar::Number(Cow::Borrowed(digits))),
            Some(b't') => self.word("true").map(|()| Scalar::Boolean(true)),
            Some(b'f') => self.word("false").map(|()| Scalar::Boolean(false)),
            Some(b'n') => self.word("null").map(|()| Scalar::Null),
            Some(b'{' | b'[') => Err(self.error("expected a plain value, not an object or array")),
            _ => Err(self.error("expected a value")),
        }
    }

    /// Reads text or `null`.
    #[inline]
    pub fn text(&mut self) -> Result<Option<Cow<'a, str>>> {
        match self.peek() {
            Some(b'"') => self.string().map(Some),
            Some(b'n') => self.word("null").map(|()| None),
            _ => Err(self.error("expected text")),
        }
    }

    /// Skips the rest of a text after the `error` of [`scalar`](Self::scalar), if it is half of a surrogate pair.
    #[cold]
    pub fn skip_half_pair(&mut self, error: JsonError) -> Result<Scalar<'a>> {
        if error.0.what != HALF_PAIR {
            return Err(error);
        }
        self.at += self.length_to_quote();
        match self.text.as_bytes().get(self.at) {
            Some(b'"') => self.at += 1,
            _ => return Err(self.error("the string does not end")),
        }
        Ok(Scalar::HalfPair)
    }

    /// Skips a value of any kind.
    pub fn skip(&mut self) -> Result<()> {
        self.skip_at(0)
    }

    fn skip_at(&mut self, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(self.error("the value is nested too deeply"));
        }
        let mut first = true;
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                while self.next_member(&mut first)?.is_some() {
                    self.skip_at(depth + 1)?;
                }
                Ok(())
            }
            Some(b'[') => {
                self.at += 1;
                while self.next_element(&mut first)? {
                    self.skip_at(depth + 1)?;
                }
                Ok(())
            }
            _ => self.scalar().map(drop),
        }
    }

    /// Checks that only white space follows.
    pub fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("expected the end of the text")),
        }
    }

    /// Returns the value here and skips it, if it is a number, a boolean or text without escapes.
    #[inline(always)]
    pub fn plain_scalar(&mut self) -> Option<Token<'a>> {
        match self.text.as_bytes().get(self.at)? {
            b'"' => self.plain_text().map(Token::Text),
            b'-' | b'0'..=b'9' => {
                let start = self.at;
                let digits = self.number();
                // If this is not a number, nothing is skipped.
                digits.map(Token::Number).inspect_err(|_| self.at = start).ok()
            }
            b't' => self.word("true").ok().map(|()| Token::Boolean(true)),
            b'f' => self.word("false").ok().map(|()| Token::Boolean(false)),
            _ => None,
        }
    }

    /// Returns the text here and skips it, if it has no escapes.
    #[inline(always)]
    pub fn plain_text(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let end = start + plain_length(&bytes[start..]);
        if bytes.get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        Some(&self.text[start..end])
    }

    /// Returns the bytes that are left.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Skips bytes that the caller has compared.
    #[inline]
    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Returns the number of bytes read.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    #[cold]
    pub fn error(&self, what: impl Into<Cow<'static, str>>) -> JsonError {
        JsonError::new(self.at, what)
    }

    /// Returns the next byte that is not white space, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<()> {
        if self.peek() != Some(byte) {
            return Err(self.error(what));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<()> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.error("expected a digit"))
        } else {
            Ok(())
        }
    }

    fn number(&mut self) -> Result<&'a str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        if bytes[self.at] == b'-' {
            self.at += 1;
        }
        if bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
            if bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                return Err(self.error("a number does not start with 0"));
            }
        } else {
            self.digits()?;
        }
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Reads a string, from its opening quote on.
    fn string(&mut self) -> Result<Cow<'a, str>> {
        self.at += 1;
        let start = self.plain();
        let borrowed = &self.text[start..self.at];
        if self.text.as_bytes().get(self.at) != Some(&b'"') {
            return self.escaped(borrowed).map(Cow::Owned);
        }
        self.at += 1;
        Ok(Cow::Borrowed(borrowed))
    }

    /// Skips characters that need no unescaping. Returns the start of them.
    fn plain(&mut self) -> usize {
        let start = self.at;
        self.at += plain_length(&self.text.as_bytes()[start..]);
        start
    }

    /// Reads the rest of a string that has escapes, after its plain beginning.
    fn escaped(&mut self, beginning: &str) -> Result<String> {
        // Unescaping makes no text longer, so one allocation is enough. This matters because each row of a page has an
        // ETag with escapes.
        let mut text = String::with_capacity(beginning.len() + self.length_to_quote());
        text.push_str(beginning);
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let character = self.escape()?;
                    text.push(character);
                }
                Some(byte) if *byte >= 0x20 => {
                    let start = self.plain();
                    text.push_str(&self.text[start..self.at]);
                }
                Some(_) => return Err(self.error("a control character must be escaped")),
                None => return Err(self.error("the string does not end")),
            }
        }
    }

    /// Returns the number of bytes up to the closing quote, a control character or the end of the text.
    fn length_to_quote(&self) -> usize {
        let bytes = &self.text.as_bytes()[self.at..];
        let mut length = plain_length(bytes);
        while bytes.get(length) == Some(&b'\\') && length + 2 <= bytes.len() {
            length += 2;
            length += plain_length(&bytes[length..]);
        }
        length
    }

    /// Reads the character of an escape, after its backslash.
    fn escape(&mut self) -> Result<char> {
        let byte = self.text.as_bytes().get(self.at).copied();
        self.at += 1;
        Ok(match byte {
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => {
                self.at -= 1;
                return Err(self.error("unknown escape"));
            }
        })
    }

    fn unicode_escape(&mut self) -> Result<char> {
        let first = self.hex4()?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
                    return Err(self.error(HALF_PAIR));
                }
                self.at += 2;
                let second = self.hex4()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.error(HALF_PAIR));
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| self.error(HALF_PAIR))
    }

    fn hex4(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = is_hexadecimal.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
        let code = code.ok_or_else(|| self.error("expected four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accepts(text: &[u8]) -> Result<()> {
        let mut reader = Reader::new(text)?;
        reader.skip()?;
        reader.end()
    }

    fn one_string(text: &str) -> Result<String> {
        match Reader::new(text.as_bytes())?.scalar()? {
            Scalar::Text(text) => Ok(text.into_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn accepts_and_rejects_the_same_text_as_serde_json() {
        for text in [
            "{}",
            "[]",
            "[1,2]",
            "{\"a\":{\"b\":[null,true,false]}}",
            " { \"a\" : 1.5e-3 } ",
            "-0",
            "0.1",
            "\"\\u00e9\\ud83d\\ude00\"",
            "",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "{\"a\":1,}",
            "[1,]",
            "[,1]",
            "[1 2]",
            "01",
            "1.",
            ".5",
            "1e",
            "+1",
            "-",
            "nul",
            "truex",
            "\"",
            "\"\\x\"",
            "\"\\ud83d\"",
            "\"\\udc00\"",
            "\"\u{1}\"",
            "{\"a\":1}x",
            "NaN",
            "{'a':1}",
            "[[]",
            "\"\\u12\"",
            "\"\\ud83d\\u0041\"",
            "\"\\",
        ] {
            let oracle = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(accepts(text.as_bytes()).is_ok(), oracle, "{text}");
        }
        assert!(accepts(&[b'"', 0xff, b'"']).is_err());
        assert!(accepts("\u{feff}{}".as_bytes()).is_ok());
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        assert!(accepts(deep.as_bytes()).is_ok());
        let deeper = "[".repeat(100_000);
        assert!(accepts(deeper.as_bytes()).unwrap_err().to_string().contains("nested"));
    }

    #[test]
    fn strings_without_escapes_are_borrowed() {
        let token = Reader::new(b"\"plain\"").unwrap().scalar().unwrap();
        assert!(matches!(token, Scalar::Text(Cow::Borrowed("plain"))));
    }

    proptest! {
        #[test]
        fn text_written_by_serde_json_is_read(text in any::<String>()) {
            prop_assert_eq!(one_string(&serde_json::to_string(&text).unwrap()).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_accepted_or_rejected_as_by_serde_json(bytes in proptest::collection::vec(
            proptest::sample::select(b"{}[]\",:\\u0019aeftn.-+ \xc3\xa9".to_vec()), 0..24))
        {
            let oracle = serde_json::from_slice::<serde_json::Value>(&bytes);
            // serde_json rejects numbers beyond a double's range, which are well-formed.
            let oracle = oracle.map_err(|e| e.to_string().contains("out of range"));
            if oracle != Err(true) {
                prop_assert_eq!(accepts(&bytes).is_ok(), oracle.is_ok());
            }
        }
    }
}
