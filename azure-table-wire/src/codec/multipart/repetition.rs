//! A part that repeats the one before except for a few values, as most parts of a batch response do.
//!
//! Defines [`Repetition`]. `multipart.rs` reads parts line by line and knows what they mean.
//!
//! The parts of a response differ only in ETag and address. Only the text around these is compared, and only a part of
//! another form is read line by line. A property test checks that both ways agree.

use memchr::memchr2;

use crate::codec::multipart::{Message, lines, value_of};

/// The headers whose values differ. Responses to inserts have all three.
const VARYING: [&str; 3] = ["etag", "location", "dataserviceid"];

/// A part without a body, as the text around the values that differ.
#[derive(Debug)]
pub(super) struct Repetition<'a> {
    /// The message itself, whose start line, status and headers the next one repeats.
    message: Message<'a>,
    /// The text before each value, then the text after the last one, up to the end of the boundary line.
    pieces: Vec<&'a [u8]>,
    /// The index of the value that is the ETag.
    etag: usize,
    /// The start of the head, and the number of bytes after it.
    head: usize,
    behind_head: usize,
}

impl<'a> Repetition<'a> {
    /// Returns the form of `part`, its boundary line included. `None` if it has a body or no ETag.
    pub(super) fn of(part: &'a [u8], message: &Message<'a>) -> Option<Self> {
        let etag = message.etag.filter(|_| message.body.is_empty())?;
        let place = |piece: &[u8]| (piece.as_ptr() as usize).checked_sub(part.as_ptr() as usize);
        let (mut pieces, mut at, mut etag_value) = (Vec::with_capacity(VARYING.len() + 1), 0, None);
        for line in lines(message.head) {
            let Some(value) = VARYING.iter().find_map(|name| value_of(line, name)) else {
                continue;
            };
            let from = place(value.as_bytes()).filter(|_| !value.is_empty())?;
            if from == place(etag.as_bytes())? {
                etag_value = Some(pieces.len());
            }
            pieces.push(part.get(at..from)?);
            at = from + value.len();
        }
        pieces.push(part.get(at..)?);
        let head = place(message.head)?;
        Some(Self {
            message: *message,
            pieces,
            etag: etag_value?,
            head,
            behind_head: part.len().checked_sub(head + message.head.len())?,
        })
    }

    /// Returns the message that `text` begins with and the text after it, if the message has this form.
    #[inline]
    pub(super) fn read(&self, text: &'a [u8]) -> Option<(Message<'a>, &'a [u8])> {
        let (last, pieces) = self.pieces.split_last()?;
        let (mut rest, mut etag) = (text, None);
        for (at, piece) in pieces.iter().enumerate() {
            let behind = rest.strip_prefix(*piece)?;
            let (value, behind) = behind.split_at(memchr2(b'\r', b'\n', behind)?);
            if at == self.etag {
                // A value with spaces around it is read line by line.
                etag = str::from_utf8(value)
                    .ok()
                    .filter(|_| value.trim_ascii().len() == value.len());
                etag?;
            }
            rest = behind;
        }
        let rest = rest.strip_prefix(*last)?;
        let end = text.len() - rest.len() - self.behind_head;
        let message = Message {
            head: &text[self.head..end],
            etag,
            ..self.message
        };
        Some((message, rest))
    }
}
