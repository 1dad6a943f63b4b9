//! Work that is polled by its owner, or goes on as a task while nobody polls it. It ends with its owner.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::JoinHandle;

use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::transport::BoxFuture;

/// Work that has begun.
pub(crate) enum Running<T> {
    Here(BoxFuture<'static, Result<T>>),
    InTask(Task<T>),
}

/// A task of the runtime. It is given up when this is dropped.
pub(crate) struct Task<T>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Running<T> {
    /// Begins it as a task. As all calls it needs a runtime of tokio.
    pub(crate) fn in_task(work: BoxFuture<'static, Result<T>>) -> Self {
        // Its spans belong where its owner stands.
        #[cfg(feature = "tracing")]
        let work = tracing::Instrument::in_current_span(work);
        Self::InTask(Task(tokio::spawn(work)))
    }

    pub(crate) fn is_in_task(&self) -> bool {
        matches!(self, Self::InTask(_))
    }

    /// What came of it; a panic goes on here.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let task = match self {
            Self::Here(work) => return work.as_mut().poll(cx),
            Self::InTask(task) => task,
        };
        Poll::Ready(match ready!(Pin::new(&mut task.0).poll(cx)) {
            Ok(done) => done,
            Err(e) => match e.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(Error::new(ErrorKind::Connection, "the runtime is shutting down")),
            },
        })
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
