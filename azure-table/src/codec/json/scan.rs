//! The search for the characters that JSON strings treat specially, for reader and writer alike.

/// How many bytes stand for themselves in a string: up to a quote, a backslash or a control character.
///
/// Looks at eight bytes at once. Subtracting sets the high bit of a byte that is below what is subtracted (and perhaps
/// of one behind it, never before it), so the lowest high bit is the first hit.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let equals = |word: u64, byte: u8| {
        let difference = word ^ (ONES * u64::from(byte));
        difference.wrapping_sub(ONES) & !difference
    };
    let mut chunks = bytes.chunks_exact(8);
    for (n, chunk) in chunks.by_ref().enumerate() {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let hits = (control | equals(word, b'"') | equals(word, b'\\')) & HIGH;
        if hits != 0 {
            return n * 8 + hits.trailing_zeros() as usize / 8;
        }
    }
    let rest = chunks.remainder();
    let stop = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
    bytes.len() - rest.len() + stop.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_special_byte_is_found(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let first = bytes.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(bytes.len());
            prop_assert_eq!(plain_length(&bytes), first);
        }
    }
}
