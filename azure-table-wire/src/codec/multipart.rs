//! Parses `multipart/mixed` bodies and the HTTP messages inside of them.
//!
//! It divides text into parts, and accepts both kinds of line ends, because live responses mix them. The
//! client writes batches, and knows which status or body it expects.
//!
//! Source: REST "Performing entity group transactions"; RFC 2046 §5.1.

mod repetition;

use memchr::{memchr, memmem};

use crate::codec::multipart::repetition::Repetition;
use crate::error::{Error, Result};

/// A message: headers, and the bytes after them.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// `POST /x HTTP/1.1` or `HTTP/1.1 204 No Content`; empty for a part of a multipart body.
    pub start_line: &'a str,
    /// The status in the start line of a response. Most parts of a batch repeat the start line of the one before.
    status: Option<u16>,
    /// The header lines. They are searched on request, since most are never read.
    head: &'a [u8],
    /// The first letters of the headers' names, a bit each. Most requested headers are absent.
    initials: u32,
    /// The ETag, found while the head is read, since every response to a write needs it.
    pub etag: Option<&'a str>,
    pub body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Returns the value of a header. Names compare without case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let initial = name.bytes().next().map_or(0, initial);
        if self.initials & initial == 0 {
            return None;
        }
        lines(self.head).find_map(|line| value_of(line, name))
    }

    /// Returns all headers.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        // A line that is not text hides no other line.
        let lines = self.head.split(|byte| *byte == b'\n').map(str::from_utf8);
        let headers = lines.filter_map(|line| line.ok()?.split_once(':'));
        headers.map(|(name, value)| (name.trim(), value.trim()))
    }

    /// Returns `true` if all header lines are text with a colon.
    pub fn has_headers(&self) -> bool {
        str::from_utf8(self.head).is_ok() && lines(self.head).all(|line| memchr(b':', line).is_some())
    }

    /// Returns the status of a response.
    pub fn status(&self) -> Result<u16> {
        self.status.ok_or_else(|| malformed("a part has no HTTP status line"))
    }
}

/// Returns the status in the start line of a response.
fn status_in(start_line: &str) -> Option<u16> {
    let line = start_line.strip_prefix("HTTP/")?;
    line.split(' ').nth(1)?.parse().ok()
}

/// Returns the boundary in a Content-Type.
pub fn boundary(content_type: &str) -> Result<&str> {
    let value = content_type.split(';').find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("boundary")
            .then(|| value.trim().trim_matches('"'))
    });
    value
        .filter(|b| !b.is_empty())
        .ok_or_else(|| malformed("the multipart Content-Type names no boundary"))
}

/// Returns the parts of a batch, or of its change set.
///
/// As the service does, accepts a batch without its last boundary, and a change set without a line end before a
/// boundary (recorded from the C++ SDK).
pub fn parts<'a>(body: &'a [u8], boundary: &str, is_change_set: bool) -> Result<Vec<Message<'a>>> {
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut start = None;
    for at in memmem::find_iter(body, delimiter.as_bytes()) {
        if at > 0 && body[at - 1] != b'\n' && !is_change_set {
            continue;
        }
        let mut end = at + delimiter.len();
        let rest = next_line(body, &mut end).trim_ascii_end();
        if !rest.is_empty() && rest != b"--" {
            continue;
        }
        if let Some(start) = start {
            // The line end before a boundary belongs to the boundary.
            parts.push(message(trim_line_end(&body[start..at]), false)?);
        }
        if rest == b"--" {
            return Ok(parts);
        }
        start = Some(end);
    }
    let has_end = memmem::find(body, format!("{delimiter}--").as_bytes()).is_some();
    if is_change_set || has_end {
        return Err(malformed("the multipart body does not end with its boundary"));
    }
    parts.extend(start.map(|start| message(&body[start..], false)).transpose()?);
    Ok(parts)
}

/// An iterator over the HTTP messages in the parts of a body.
///
/// Messages without a body, such as most responses to writes, need no search for their end. A message that differs from
/// the previous one only in its ETag and address is not read line by line.
#[derive(Debug)]
pub struct HttpParts<'a> {
    delimiter: String,
    /// The text after the last boundary that was read.
    text: &'a [u8],
    is_over: bool,
    last: Option<Repetition<'a>>,
}

impl<'a> HttpParts<'a> {
    /// Returns the messages of a body, or of the change set that is its first part.
    pub fn of(body: &'a [u8], content_type: &str) -> Result<Self> {
        let parts = Self::begin(body, boundary(content_type)?)?;
        let first = message(parts.text, false)?;
        let first_type = first.header("content-type").unwrap_or_default();
        if first_type.to_ascii_lowercase().starts_with("multipart/") {
            return Self::begin(first.body, boundary(first_type)?);
        }
        Ok(parts)
    }

    fn begin(body: &'a [u8], boundary: &str) -> Result<Self> {
        let mut parts = Self {
            delimiter: format!("--{boundary}"),
            text: body,
            is_over: false,
            last: None,
        };
        parts.pass(body)?;
        Ok(parts)
    }

    /// Continues after the next boundary. Returns the text before it.
    fn pass(&mut self, text: &'a [u8]) -> Result<&'a [u8]> {
        // The line end before a boundary belongs to the boundary.
        let near = text.strip_prefix(b"\r\n").or(text.strip_prefix(b"\n"));
        let mut near = [text, near.unwrap_or(text)].into_iter();
        if let Some((behind, is_last)) = near.find_map(|text| self.behind_boundary(text)) {
            (self.text, self.is_over) = (behind, is_last);
            return Ok(b"");
        }
        for at in memmem::find_iter(text, self.delimiter.as_bytes()) {
            let begins_line = at == 0 || text[at - 1] == b'\n';
            if begins_line && let Some((behind, is_last)) = self.behind_boundary(&text[at..]) {
                (self.text, self.is_over) = (behind, is_last);
                return Ok(trim_line_end(&text[..at]));
            }
        }
        self.is_over = true;
        Err(malformed("the multipart body does not end with its boundary"))
    }

    /// Returns the text after the boundary that `text` begins with, and `true` if it is the last boundary.
    fn behind_boundary(&self, text: &'a [u8]) -> Option<(&'a [u8], bool)> {
        let rest = text.strip_prefix(self.delimiter.as_bytes())?;
        let mut at = 0;
        let line = next_line(rest, &mut at).trim_ascii_end();
        (line.is_empty() || line == b"--").then(|| (&rest[at..], !line.is_empty()))
    }

    fn read(&mut self) -> Result<Message<'a>> {
        if let Some((message, rest)) = self.last.as_ref().and_then(|last| last.read(self.text)) {
            self.text = rest;
            return Ok(message);
        }
        let text = self.text;
        let part = message(text, false)?;
        let message = message(part.body, true)?;
        let body = self.pass(message.body)?;
        let message = Message { body, ..message };
        let part = &text[..text.len() - self.text.len()];
        self.last = Repetition::of(part, &message).filter(|_| !self.is_over);
        Ok(message)
    }
}

impl<'a> Iterator for HttpParts<'a> {
    type Item = Result<Message<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = self.read();
        self.is_over |= read.is_err();
        Some(read)
    }
}

/// Reads the HTTP message in a part of type `application/http`.
pub fn http_message(part: &[u8]) -> Result<Message<'_>> {
    message(part, true)
}

fn message(text: &[u8], has_start_line: bool) -> Result<Message<'_>> {
    let mut at = 0;
    let mut start_line = "";
    if has_start_line {
        // Some writers put an extra empty line before it.
        while start_line.is_empty() && at < text.len() {
            let line = str::from_utf8(next_line(text, &mut at));
            start_line = line.map_err(|_| malformed("a header line of a part is not UTF-8"))?;
        }
    }
    let (from, mut to, mut etag, mut initials) = (at, at, None, 0);
    while at < text.len() {
        // Azurite omits the empty line before the JSON of an entity. No header begins with a brace.
        if text[at] == b'{' {
            break;
        }
        let line = next_line(text, &mut at);
        match line.first() {
            None => break,
            // A boundary: the part ended before its head did.
            Some(b'-') if line.starts_with(b"--") => return Err(malformed("the head of a part has no end")),
            Some(b'e' | b'E' | b' ') if etag.is_none() => etag = value_of(line, "etag"),
            Some(_) => {}
        }
        initials |= line.trim_ascii_start().first().map_or(0, |byte| initial(*byte));
        to = at;
    }
    Ok(Message {
        start_line,
        status: status_in(start_line),
        head: &text[from..to],
        initials,
        etag,
        body: &text[at..],
    })
}

/// Returns the bit of a letter, in either case.
fn initial(letter: u8) -> u32 {
    1 << (letter & 0x1f)
}

/// Returns the value of the header in a line, if the header has this name.
fn value_of<'a>(line: &'a [u8], name: &str) -> Option<&'a str> {
    let (start, value) = line.trim_ascii_start().split_at_checked(name.len())?;
    if !start.eq_ignore_ascii_case(name.as_bytes()) {
        return None;
    }
    let value = value.trim_ascii_start().strip_prefix(b":")?;
    str::from_utf8(value.trim_ascii()).ok()
}

/// Returns the lines of a head.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || (at < head.len()).then(|| next_line(head, &mut at)))
}

/// Returns the line at `at` without its end, and moves `at` past it.
fn next_line<'a>(text: &'a [u8], at: &mut usize) -> &'a [u8] {
    let rest = &text[*at..];
    let end = memchr(b'\n', rest);
    *at += end.map_or(rest.len(), |end| end + 1);
    trim_line_end(&rest[..end.map_or(rest.len(), |end| end + 1)])
}

fn trim_line_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

fn malformed(what: &'static str) -> Error {
    Error::invalid_response(what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;

    #[test]
    fn line_ends_may_be_mixed() {
        let body = b"--x\nContent-Type: application/http\n\nHTTP/1.1 409 Conflict\r\nA: b\r\n\r\n{}\n--x--\r\n";
        let parts = parts(body, "x", false).unwrap();
        let message = http_message(parts[0].body).unwrap();
        assert_eq!(
            (message.status().unwrap(), message.header("a"), message.body),
            (409, Some("b"), &b"{}"[..])
        );
    }

    #[test]
    fn json_needs_no_empty_line_before_it() {
        let message = http_message(b"HTTP/1.1 200 OK\r\nETag: x\r\n{\"a\":1}").unwrap();
        assert_eq!((message.header("etag"), message.body), (Some("x"), &b"{\"a\":1}"[..]));
    }

    #[test]
    fn an_unfinished_body_is_an_error() {
        for body in [&b""[..], b"--x\r\nA: b\r\n\r\n", b"<html>"] {
            assert!(parts(body, "x", true).is_err());
        }
        assert!(boundary("text/html").is_err());
        assert_eq!(boundary("multipart/mixed; Boundary=\"q w\"").unwrap(), "q w");
    }

    /// Returns each message, the position of its head and the text after it, or the error.
    fn read(body: &[u8], may_be_alike: bool) -> Vec<String> {
        let Ok(mut parts) = HttpParts::begin(body, "x") else {
            return Vec::new();
        };
        let place = |text: &[u8]| text.as_ptr().addr() - body.as_ptr().addr();
        let mut all = Vec::new();
        loop {
            parts.last = parts.last.take().filter(|_| may_be_alike);
            all.push(match parts.next() {
                None => return all,
                Some(Err(e)) => e.to_string(),
                Some(Ok(message)) => {
                    for name in ["etag", "location", "dataserviceid", "content-type", "x"] {
                        let of_each_line = lines(message.head).find_map(|line| value_of(line, name));
                        assert_eq!(message.header(name), of_each_line, "{name}");
                    }
                    let (start_line, head, etag) = (message.start_line, message.head, message.etag);
                    let left = (place(parts.text), parts.is_over);
                    format!(
                        "{start_line:?} {} {head:?} {etag:?} {:?} {left:?}",
                        place(head),
                        message.body
                    )
                }
            });
        }
    }

    #[test]
    fn repeated_part_is_not_read_line_by_line() {
        let part = |etag| {
            format!(
                "--x\r\nA: b\r\n\r\nHTTP/1.1 204 No Content\r\nLocation: h/T({etag})\r\nDataServiceId: h/T({etag})\r\nETag: {etag}\r\nC: d\r\n\r\n\r\n"
            )
        };
        let body = format!("{}{}{}{}--x--", part("1"), part("22"), part(" 3"), part("4"));
        let messages: Result<Vec<_>> = HttpParts::begin(body.as_bytes(), "x").unwrap().collect();
        let messages = messages.unwrap();
        let etags: Vec<_> = messages.iter().filter_map(|message| message.etag).collect();
        assert_eq!(etags, ["1", "22", "3", "4"]);
        assert!(messages.iter().all(|message| message.header("c") == Some("d")));
        assert_eq!(messages[1].header("location"), Some("h/T(22)"));
        // A repeated message shares the text of the one before.
        let is_alike = |of: usize| std::ptr::eq(messages[of].start_line, messages[of - 1].start_line);
        assert_eq!([is_alike(1), is_alike(2), is_alike(3)], [true, false, false]);
    }

    /// A part of lines with many kinds of ends. `*` is replaced by an ETag, `?` by a byte that is not text.
    fn any_part() -> impl Strategy<Value = String> {
        let or_rare = |often, rare| prop_oneof![9 => Just(often), 1 => select(rare)];
        let end = move || prop_oneof![4 => Just("\r\n"), 1 => or_rare("\n", &["\r\r\n", " \r\n", "\r"][..])];
        let boundary = or_rare("--x", &["--x ", "--xy", "--x-", "--x--"]);
        let lines = [
            "ETag: *",
            "ETag: *",
            "etag:*",
            " ETag : * ",
            "ETag:\t*\t",
            "ETag: ?",
            "ETag2: *",
            "Location: *",
            "Location: h/T(*)",
            "DataServiceId:*",
            "location:\t*",
            "A: b",
            "?: b",
            "--",
        ];
        let start = or_rare("HTTP/1.1 204 No Content", &["HTTP/1.1 200 OK", "", "?"]);
        let body = select(&["", "", "\r\n", "\n", "\r", "{}\r\n", "{\r\n", "--xy\r\n", "{--x"][..]);
        let line = (select(lines.to_vec()), end()).prop_map(|(line, end)| format!("{line}{end}"));
        let lines = || prop::collection::vec(line.clone(), 0..3).prop_map(|lines| lines.concat());
        let part = (boundary, end(), lines(), end(), start, end(), lines(), end(), body);
        part.prop_map(|(a, b, c, d, e, f, g, h, i)| [a, b, &c, d, e, f, &g, h, i].concat())
    }

    /// A body of parts in few forms with several ETags, and a last boundary. Some bytes are changed or removed.
    fn any_body() -> impl Strategy<Value = Vec<u8>> {
        let etag = select(&["W/\"1\"", "W/\"22\"", "1", "", " 1", "1 ", "1\r2", "?", "é", "{", "--x"][..]);
        let forms = prop::collection::vec(any_part(), 1..3);
        let parts = prop::collection::vec((any::<Index>(), etag), 1..6);
        let byte = prop::option::of(select(b"\r\n -xE:{?".to_vec()));
        let changes = prop::collection::vec((any::<Index>(), byte), 0..3);
        (forms, parts, changes).prop_map(|(forms, parts, changes)| {
            let parts = parts.iter().map(|(form, etag)| form.get(&forms).replace('*', etag));
            let mut body = parts.chain(["--x--\r\n".into()]).collect::<String>().into_bytes();
            for (at, byte) in changes {
                let at = at.index(body.len());
                body.splice(at..=at, byte);
            }
            body.iter()
                .map(|byte| if *byte == b'?' { 0xff } else { *byte })
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, ..Default::default() })]

        #[test]
        fn repeated_part_reads_as_it_does_alone(body in any_body()) {
            prop_assert_eq!(read(&body, true), read(&body, false));
        }
    }
}
