//! The EDM type `Edm.Guid`.

#[cfg(feature = "uuid-1")]
mod uuid;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{ValueError, expected};
use crate::value::serde_text::serde_text;

/// A GUID: sixteen bytes in the order of its text.
///
/// ```
/// use azure_table::Guid;
/// let id: Guid = "debc44d5-04a9-42ea-ab2f-4e2cb49ff833".parse().unwrap();
/// assert_eq!(id.to_string(), "debc44d5-04a9-42ea-ab2f-4e2cb49ff833");
/// assert_eq!(id.0[0], 0xde);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid(pub [u8; 16]);

/// The places of the bytes' first digits in the text, and of the hyphens.
const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The values of hexadecimal digits of either case, and 255 for all other bytes.
const HEX: [u8; 256] = {
    let mut values = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u8;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

impl Guid {
    /// Creates a random GUID (version 4).
    ///
    /// It is unique but predictable: do not use it as a secret.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        fastrand::fill(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }

    /// Returns the text, in ASCII.
    // Inlined into the code of other values it would take twice the instructions.
    #[inline(never)]
    pub(crate) fn ascii(&self) -> [u8; 36] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        for (byte, at) in self.0.iter().zip(PLACES) {
            text[at] = DIGITS[usize::from(byte >> 4)];
            text[at + 1] = DIGITS[usize::from(byte & 0x0f)];
        }
        text
    }
}

/// Returns the text in shared memory.
pub fn shared_text(guid: Guid) -> Arc<str> {
    std::str::from_utf8(&guid.ascii()).unwrap_or_default().into()
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.ascii()).unwrap_or_default())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

serde_text!(Guid);

impl FromStr for Guid {
    type Err = ValueError;

    /// Parses 8-4-4-4-12 hexadecimal digits of either case, without braces.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let invalid = || expected("a GUID (8-4-4-4-12 hexadecimal digits)", format_args!("{text:?}"));
        let text: &[u8; 36] = text.as_bytes().try_into().map_err(|_| invalid())?;
        // A number in registers: bytes that are written one by one and read as a whole stall the processor.
        let (mut value, mut digits) = (0_u128, 0);
        for at in PLACES {
            let (high, low) = (HEX[usize::from(text[at])], HEX[usize::from(text[at + 1])]);
            digits |= high | low;
            value = value << 8 | u128::from(high << 4 | low);
        }
        if digits > 0x0f || HYPHENS.iter().any(|at| text[*at] != b'-') {
            return Err(invalid());
        }
        Ok(Self(value.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_case_is_read_and_other_text_is_an_error() {
        let text = "C9DA6455-213D-42C9-9A79-3E9149A57833";
        let guid: Guid = text.parse().unwrap();
        assert_eq!(guid.to_string(), text.to_lowercase());
        for wrong in [
            "",
            "c9da6455213d42c99a793e9149a57833",
            "{c9da6455-213d-42c9-9a79-3e9149a57833}",
            "é",
        ] {
            assert!(wrong.parse::<Guid>().is_err(), "{wrong}");
        }
        assert!(format!("{guid}0").parse::<Guid>().is_err());
        assert_ne!(Guid::random(), Guid::random());
    }

    /// Source: RFC 9562, section 5.4.
    #[test]
    fn random_guid_has_version_4_and_the_variant_of_the_rfc() {
        for _ in 0..200 {
            let text = Guid::random().to_string();
            assert_eq!(text.as_bytes()[14], b'4', "{text}");
            assert!(matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{text}");
        }
        let firsts: std::collections::HashSet<_> = (0..200).map(|_| Guid::random().to_string().remove(15)).collect();
        assert!(firsts.len() > 8, "the bits beside the version are random: {firsts:?}");
    }
}
