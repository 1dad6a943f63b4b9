//! Documents from outside: arbitrary bytes, pieces of a grammar, damaged samples.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The original bytes, shown with escapes.
#[derive(Clone, PartialEq)]
pub(crate) struct Document(pub(crate) Vec<u8>);

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Damage and unusual text of any kind: not UTF-8, a surrogate in UTF-8, a byte order mark, characters that end lines
/// or texts, digits beyond any number, nesting.
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
pub(crate) enum Change {
    Replace(Index, u8),
    Insert(Index, &'static [u8]),
    Delete(Index, u8),
    /// Bytes from here, repeated this often.
    Repeat(Index, u8, u8),
    /// Bytes from here, moved there.
    Move(Index, u8, Index),
    Cut(Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        // The end of the text is a position as well.
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

/// No damage, or some; `pieces` can be inserted into the text.
pub(crate) fn damage(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<Change>> {
    let at = any::<Index>;
    let change = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (at(), select(with_trouble(pieces))).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (at(), 1..40_u8).prop_map(|(at, length)| Change::Delete(at, length)),
        (at(), 1..80_u8, 1..4_u8).prop_map(|(at, length, times)| Change::Repeat(at, length, times)),
        (at(), 1..40_u8, at()).prop_map(|(from, length, to)| Change::Move(from, length, to)),
        at().prop_map(Change::Cut),
    ];
    vec(change, 0..5)
}

/// Returns the bytes after these changes.
pub(crate) fn damaged(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes {
        change.apply(&mut bytes);
    }
    bytes
}

fn with_trouble(pieces: &'static [&'static str]) -> Vec<&'static [u8]> {
    let pieces = pieces.iter().map(|piece| piece.as_bytes());
    pieces.chain(TROUBLE).collect()
}

/// Documents of a kind: `samples` are valid, `pieces` are their parts.
pub(crate) fn document(
    samples: &'static [&'static str],
    pieces: &'static [&'static str],
) -> impl Strategy<Value = Document> {
    prop_oneof![
        1 => vec(any::<u8>(), 0..64),
        3 => vec(select(with_trouble(pieces)), 0..24).prop_map(|pieces| pieces.concat()),
        2 => vec(select(pieces), 0..24).prop_map(|pieces| pieces.concat().into_bytes()),
        6 => (select(samples), damage(pieces)).prop_map(|(sample, changes)| damaged(sample.as_bytes(), &changes)),
    ]
    .prop_map(Document)
}

/// The same for places that accept only text.
pub(crate) fn text(samples: &'static [&'static str], pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    document(samples, pieces).prop_map(|document| String::from_utf8_lossy(&document.0).into_owned())
}
