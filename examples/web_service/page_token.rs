//! The text of a link to the next page, which only this service can write.
//!
//! It is the continuation, with a signature over it and over the owner of the list. It shows the keys of a row: the guide
//! "Web services" encrypts it instead.

use azure_table::Continuation;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Signs and verifies links, with a key that all processes of the service share.
#[derive(Clone)]
pub(crate) struct PageTokens(Hmac<Sha256>);

impl PageTokens {
    /// Takes 64 random bytes from a secret store.
    pub(crate) fn new(key: [u8; 64]) -> Self {
        Self(Hmac::new(&key.into()))
    }

    /// Returns the link to this position in the owner's list, as text that fits into a URL.
    pub(crate) fn sign(&self, owner: &str, position: &Continuation) -> String {
        let position = position.to_string();
        let signature = self.mac(owner, &position).finalize().into_bytes();
        format!("{position}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Returns the position of a link that was signed for this owner, or `None` for any other text.
    pub(crate) fn verify(&self, owner: &str, link: &str) -> Option<Continuation> {
        let (position, signature) = link.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        // In constant time.
        self.mac(owner, position).verify_slice(&signature).ok()?;
        position.parse().ok()
    }

    fn mac(&self, owner: &str, position: &str) -> Hmac<Sha256> {
        // A position has no dot, so no two pairs have the same text.
        self.0
            .clone()
            .chain_update(position)
            .chain_update(".")
            .chain_update(owner)
    }
}
