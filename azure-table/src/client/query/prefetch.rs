//! A page that is fetched while its reader is at the one before.
//!
//! Owns the task that fetches it: bytes alone, no rows, and no longer than its stream.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::run::Answer;
use crate::pipeline::transport::BoxFuture;

/// When a stream fetches a page before it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prefetch {
    Never,
    /// Once the reader has come back for a second page: many want the first alone.
    #[default]
    AfterFirst,
    FromStart,
}

impl Prefetch {
    /// `pages` ahead.
    pub(crate) fn of(pages: usize) -> Result<Self> {
        match pages {
            0 => Ok(Self::Never),
            1 => Ok(Self::FromStart),
            more => Err(Error::invalid_input(format!(
                "prefetch {more}: a stream holds two pages, so it is 0 or 1"
            ))),
        }
    }
}

/// A call that goes on while nobody polls it. It is given up when this is dropped.
pub(crate) struct Ahead(JoinHandle<Result<Answer>>);

impl Ahead {
    /// Gives the call back where there is no runtime to run it.
    pub(crate) fn begin(
        call: BoxFuture<'static, Result<Answer>>,
    ) -> std::result::Result<Self, BoxFuture<'static, Result<Answer>>> {
        let Ok(runtime) = Handle::try_current() else {
            return Err(call);
        };
        // Its spans belong where the reader stands.
        #[cfg(feature = "tracing")]
        let call = tracing::Instrument::in_current_span(call);
        Ok(Self(runtime.spawn(call)))
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answer>> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(answer) => answer,
            Err(e) => match e.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(Error::new(ErrorKind::Connection, "the runtime is shutting down")),
            },
        })
    }
}

/// Lets other tasks go first, once. To decode a page takes about a millisecond, in which a runtime of one thread would send nothing.
pub(crate) fn departure() -> BoxFuture<'static, ()> {
    Box::pin(tokio::task::yield_now())
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.abort();
    }
}
