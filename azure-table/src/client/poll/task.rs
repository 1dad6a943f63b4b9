//! A future that runs inline or on a spawned task. Its owner cancels it by dropping it.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::BoxFuture;
use tokio::task::JoinHandle;

/// A future that has started.
pub(crate) enum Running<T> {
    Here(BoxFuture<'static, Result<T>>),
    InTask(Task<T>),
}

/// A spawned task, aborted on drop.
pub(crate) struct Task<T>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Running<T> {
    pub(crate) fn new(work: BoxFuture<'static, Result<T>>, in_task: bool) -> Self {
        if in_task { Self::in_task(work) } else { Self::Here(work) }
    }

    /// Spawns the future. Like every call, it needs a tokio runtime.
    pub(crate) fn in_task(work: BoxFuture<'static, Result<T>>) -> Self {
        // Keeps the spans of the task below its owner's.
        #[cfg(feature = "tracing")]
        let work = tracing::Instrument::in_current_span(work);
        #[cfg(feature = "opentelemetry-033")]
        let work = opentelemetry::context::FutureExt::with_current_context(work);
        Self::InTask(Task(tokio::spawn(work)))
    }

    pub(crate) fn is_in_task(&self) -> bool {
        matches!(self, Self::InTask(_))
    }

    /// Polls for the result. Resumes the panic of a task.
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
