//! The token of the control port.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The minimum length of a token, in bytes.
const MIN_TOKEN: usize = 16;

/// A token, kept only as its SHA-256.
#[derive(Clone)]
pub(crate) struct Token([u8; 32]);

impl Token {
    /// Creates a token from a text, or returns why it is invalid.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < MIN_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "it has {} bytes, it must have {MIN_TOKEN} or more, of visible ASCII characters",
                text.len()
            ));
        }
        Ok(Self(Sha256::digest(text).into()))
    }

    /// Compares digests in constant time, so that the duration reveals nothing about the token.
    pub(crate) fn is(&self, text: &str) -> bool {
        let other: [u8; 32] = Sha256::digest(text).into();
        let pairs = self.0.iter().zip(other);
        pairs.fold(0, |difference, (own, other)| difference | (own ^ other)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_not_shown_and_compared_as_a_whole() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token.is("0123456789abcdef"));
        assert!(!token.is("0123456789abcdeF") && !token.is("") && !token.is("0123456789abcdef0"));
        assert_eq!(format!("{token:?}"), "Token");
        let short = Token::new("short").unwrap_err();
        assert!(short.contains("5 bytes") && !short.contains("short"), "{short}");
        Token::new("with a space in it").unwrap_err();
    }
}
