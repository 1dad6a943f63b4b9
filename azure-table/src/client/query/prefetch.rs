//! When a page is fetched before its reader comes for it.

use crate::model::error::{Error, Result};
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

/// Lets other tasks go first, once. To decode a page takes about a millisecond, in which a runtime of one thread would send nothing.
pub(crate) fn departure() -> BoxFuture<'static, ()> {
    Box::pin(tokio::task::yield_now())
}
