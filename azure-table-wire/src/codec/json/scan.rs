//! Finds the characters that JSON strings treat specially, for reader and writer alike.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// Sets the high bit of the bytes that equal `byte`.
///
/// It may also set the bit of bytes after the first match, but never before it, since subtraction borrows upwards.
#[inline]
const fn equals(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * byte as u64);
    difference.wrapping_sub(ONES) & !difference & HIGH
}

/// Returns the bytes as one number, the first byte lowest.
#[inline]
fn word(chunk: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(bytes)
}

/// Returns the number of leading bytes that need no unescaping: up to a quote, a backslash or a control character.
#[inline]
pub fn plain_length(bytes: &[u8]) -> usize {
    length_before::<false>(bytes)
}

/// Returns the number of leading bytes to write unchanged. It also stops at the first byte of U+2028 and U+2029, which
/// other characters share.
pub fn plain_length_to_write(bytes: &[u8]) -> usize {
    length_before::<true>(bytes)
}

/// The first byte of U+2028 and U+2029.
pub const LEAD: u8 = 0xe2;

#[inline]
fn length_before<const LINES: bool>(bytes: &[u8]) -> usize {
    let mut chunks = bytes.chunks_exact(8);
    for (n, chunk) in chunks.by_ref().enumerate() {
        let word = word(chunk);
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        // The lowest high bit is the first hit.
        let mut hits = control | equals(word, b'"') | equals(word, b'\\');
        if LINES {
            hits |= equals(word, LEAD);
        }
        if hits != 0 {
            return n * 8 + hits.trailing_zeros() as usize / 8;
        }
    }
    let rest = chunks.remainder();
    let stops = |b: &u8| *b == b'"' || *b == b'\\' || *b < 0x20 || (LINES && *b == LEAD);
    bytes.len() - rest.len() + rest.iter().position(stops).unwrap_or(rest.len())
}

/// Returns `true` if the name belongs to an annotation. It has an `@` or a `.`, which no property name has.
#[inline]
pub fn is_annotation(name: &[u8]) -> bool {
    name.chunks(8).any(|chunk| {
        let word = word(chunk);
        equals(word, b'@') | equals(word, b'.') != 0
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn annotations_are_recognized_by_their_names() {
        for (name, is) in [
            ("", false),
            ("Name", false),
            ("a@b", true),
            ("odata.etag", true),
            ("LongerThanEight@x", true),
        ] {
            assert_eq!(is_annotation(name.as_bytes()), is, "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_first_special_byte_is_found(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let first = bytes.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(bytes.len());
            prop_assert_eq!(plain_length(&bytes), first);
            let line = bytes.iter().position(|b| *b == LEAD).unwrap_or(bytes.len());
            prop_assert_eq!(plain_length_to_write(&bytes), first.min(line));
        }
    }
}
