//! Documents that others may have written: anything at all, pieces of a grammar, good samples with damage.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Bytes as they came; shown with escapes.
#[derive(Clone, PartialEq)]
pub(crate) struct Document(pub(crate) Vec<u8>);

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Damage, and what is merely unusual, in any text: not UTF-8, a surrogate in UTF-8, the mark at the start, characters
/// that end lines or texts, digits beyond any number, nesting.
const TROUBLE: [&[u8]; 12] = [
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\0",
    b"\r\n",
    b"\x1f",
    "\u{2028}é".as_bytes(),
    b"9999999999999999999999999999999999999999999999",
    b"1e400",
    b"-0",
    b"((((((((((((((((((((((((((((((((((((((((",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

/// One damage.
#[derive(Clone, Debug)]
enum Change {
    Replace(Index, u8),
    Insert(Index, &'static [u8]),
    Delete(Index, u8),
    /// Some bytes from here, so often again.
    Repeat(Index, u8, u8),
    /// Some bytes from here, moved there.
    Move(Index, u8, Index),
    Cut(Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        // Behind the last byte is a place as well.
        let place = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        let range = |index: &Index, length: u8, bytes: &[u8]| {
            let start = place(index, bytes);
            start..bytes.len().min(start + usize::from(length))
        };
        match self {
            Self::Replace(at, byte) => {
                let at = place(at, bytes);
                if let Some(found) = bytes.get_mut(at) {
                    *found = *byte;
                }
            }
            Self::Insert(at, piece) => {
                let at = place(at, bytes);
                bytes.splice(at..at, piece.iter().copied());
            }
            Self::Delete(at, length) => drop(bytes.drain(range(at, *length, bytes))),
            Self::Repeat(at, length, times) => {
                let range = range(at, *length, bytes);
                let again = bytes[range.clone()].repeat(usize::from(*times));
                bytes.splice(range.end..range.end, again);
            }
            Self::Move(from, length, to) => {
                let moved: Vec<u8> = bytes.drain(range(from, *length, bytes)).collect();
                let to = place(to, bytes);
                bytes.splice(to..to, moved);
            }
            Self::Cut(at) => bytes.truncate(place(at, bytes)),
        }
    }
}

fn change(pieces: Vec<&'static [u8]>) -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (at(), select(pieces)).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (at(), 1..40_u8).prop_map(|(at, length)| Change::Delete(at, length)),
        (at(), 1..80_u8, 1..4_u8).prop_map(|(at, length, times)| Change::Repeat(at, length, times)),
        (at(), 1..40_u8, at()).prop_map(|(from, length, to)| Change::Move(from, length, to)),
        at().prop_map(Change::Cut),
    ]
}

/// Documents of a kind: `samples` are good ones, `pieces` what they are made of.
pub(crate) fn document(
    samples: &'static [&'static str],
    pieces: &'static [&'static str],
) -> impl Strategy<Value = Document> {
    let grammar: Vec<&'static [u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
    let all = [grammar.clone(), TROUBLE.to_vec()].concat();
    prop_oneof![
        1 => vec(any::<u8>(), 0..64),
        3 => vec(select(all.clone()), 0..24).prop_map(|pieces| pieces.concat()),
        2 => vec(select(grammar), 0..24).prop_map(|pieces| pieces.concat()),
        6 => (select(samples), vec(change(all), 0..5)).prop_map(|(sample, changes)| {
            let mut bytes = sample.as_bytes().to_vec();
            for change in &changes {
                change.apply(&mut bytes);
            }
            bytes
        }),
    ]
    .prop_map(Document)
}

/// The same where only text can stand.
pub(crate) fn text(samples: &'static [&'static str], pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    document(samples, pieces).prop_map(|document| String::from_utf8_lossy(&document.0).into_owned())
}
