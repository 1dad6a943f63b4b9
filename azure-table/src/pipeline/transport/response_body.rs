//! The body of a response, collected from its pieces up to [`MAX_RESPONSE`], whatever length the response announces.
//!
//! Both HTTP transports read into it. A body that arrived in one piece is returned without a copy.

use azure_table_wire::transport::{Delivery, TransportError};
use bytes::{Bytes, BytesMut};

/// The maximum body of a response, in bytes.
///
/// A page has up to 1,000 entities and 4 MiB, an entity 1 MiB. As JSON they are a few times as long: a character may
/// take six bytes, and each value has metadata. A longer body is not a response of a Table service, and is discarded.
///
/// Source: REST "Understanding the Table service data model", "Query timeout and pagination".
const MAX_RESPONSE: usize = 64 << 20;
/// The maximum buffer reserved for an announced length: the length of a large page. A larger announcement reserves no
/// more.
const MAX_RESERVED: usize = 4 << 20;

/// The part of a body that has arrived.
pub(super) struct ResponseBody {
    announced: usize,
    first: Bytes,
    /// The first piece and all later ones. Empty while only one has arrived.
    joined: BytesMut,
}

impl ResponseBody {
    /// Creates an empty body. `announced` is the length that the response announces, in bytes.
    ///
    /// # Errors
    /// - The announced length exceeds the limit. The caller stops reading, which closes the connection.
    pub(super) fn new(announced: Option<u64>) -> Result<Self, TransportError> {
        let announced = usize::try_from(announced.unwrap_or_default()).unwrap_or(usize::MAX);
        if announced > MAX_RESPONSE {
            return Err(too_long(announced));
        }
        Ok(Self {
            announced,
            first: Bytes::new(),
            joined: BytesMut::new(),
        })
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// - The body exceeds the limit. The caller stops reading, which closes the connection.
    pub(super) fn push(&mut self, piece: Bytes) -> Result<(), TransportError> {
        let length = self.first.len().max(self.joined.len()) + piece.len();
        if length > MAX_RESPONSE {
            return Err(too_long(length));
        }
        if self.first.is_empty() {
            self.first = piece;
            return Ok(());
        }
        if self.joined.is_empty() {
            self.joined.reserve(length.max(self.announced.min(MAX_RESERVED)));
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(&piece);
        Ok(())
    }

    pub(super) fn into_bytes(self) -> Bytes {
        if self.joined.is_empty() {
            self.first
        } else {
            self.joined.freeze()
        }
    }
}

/// Returns the error of a response of at least this many bytes.
fn too_long(bytes: usize) -> TransportError {
    let [bytes, limit] = [bytes, MAX_RESPONSE].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
    let why = "the rest was not read; for smaller pages set `page_size`";
    TransportError::new(Delivery::ResponseTooLong { bytes, limit }, why)
}

/// Returns the error of a response that started and was interrupted.
pub(super) fn cut(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TransportError {
    TransportError::new(Delivery::ResponseCut, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_in_order() {
        for pieces in [&[][..], &["one"], &["", "one"], &["one", "", "two", "three"]] {
            let mut body = ResponseBody::new(None).unwrap();
            for piece in pieces {
                body.push(Bytes::from_static(piece.as_bytes())).unwrap();
            }
            assert_eq!(body.into_bytes(), pieces.concat());
        }
    }

    #[test]
    fn single_piece_is_not_copied() {
        let piece = Bytes::from("one".to_owned());
        let mut body = ResponseBody::new(Some(3)).unwrap();
        body.push(piece.clone()).unwrap();
        assert_eq!(body.into_bytes().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn limit_applies_to_the_sum_of_all_pieces() {
        let half = Bytes::from(vec![b' '; MAX_RESPONSE / 2]);
        let mut body = ResponseBody::new(Some(MAX_RESPONSE as u64)).unwrap();
        body.push(half.clone()).unwrap();
        body.push(half).unwrap();
        let error = body.push(Bytes::from_static(b" ")).unwrap_err();
        let (bytes, limit) = (MAX_RESPONSE as u64 + 1, MAX_RESPONSE as u64);
        assert_eq!(error.delivery(), Delivery::ResponseTooLong { bytes, limit });
        assert!(ResponseBody::new(Some(MAX_RESPONSE as u64 + 1)).is_err());
    }
}
