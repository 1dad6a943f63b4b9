//! The body of a response on a connection.
//!
//! Owns [`Outgoing`]: usually complete, or cut off after its first bytes by an injected fault.

use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// The body of a response.
#[derive(Debug)]
pub(super) struct Outgoing {
    rest: Bytes,
    /// The length that the response announces, in bytes.
    length: u64,
    end: End,
}

/// The state of a body after its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    /// It fails at the next poll but one, so that its bytes are sent first.
    Cut,
    /// It fails at the next poll.
    Broken,
}

impl Outgoing {
    pub(super) fn complete(body: Bytes) -> Self {
        Self {
            length: body.len() as u64,
            rest: body,
            end: End::Complete,
        }
    }

    /// Creates a body that is cut off after `at` bytes, at the latest before the last. `None` for an empty body.
    pub(super) fn cut(body: &Bytes, at: usize) -> Option<Self> {
        let most = body.len().checked_sub(1)?;
        Some(Self {
            length: body.len() as u64,
            rest: body.slice(..at.min(most)),
            end: End::Cut,
        })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(mem::take(&mut self.rest)))));
        }
        match self.end {
            End::Complete => Poll::Ready(None),
            End::Cut => {
                self.end = End::Broken;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            End::Broken => Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.end == End::Complete
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
