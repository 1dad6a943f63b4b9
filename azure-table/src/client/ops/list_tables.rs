//! List the tables of an account.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::client::ops::operation::{ended, start};
use crate::model::error::Result;
use crate::pipeline::run::{CallOptions, Pipeline};
use crate::pipeline::transport::BoxFuture;
use crate::protocol::tables;

/// The names of all tables of an account, page after page. See
/// [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables).
#[must_use = "nothing is sent until it is awaited"]
pub struct ListTables {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    state: State,
}

enum State {
    Idle,
    Running(BoxFuture<'static, Result<Vec<String>>>),
    Done,
}

impl ListTables {
    pub(crate) fn new(pipeline: &Arc<Pipeline>) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            options: CallOptions::default(),
            state: State::Idle,
        }
    }

    /// The longest time for each page, all attempts and the waits between them included.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }
}

async fn all_pages(pipeline: Arc<Pipeline>, options: CallOptions) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut from = None;
    loop {
        let call = tables::list(&pipeline.endpoint, from.as_deref())?;
        let answer = start(&pipeline, call, options).await?;
        let (page, next) = tables::listed(answer.response).map_err(|e| answer.call.tell(e))?;
        names.extend(page);
        match next {
            None => return Ok(names),
            next => from = next,
        }
    }
}

impl Future for ListTables {
    type Output = Result<Vec<String>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            match &mut this.state {
                State::Idle => {
                    this.state = State::Running(Box::pin(all_pages(Arc::clone(&this.pipeline), this.options)));
                }
                State::Running(running) => {
                    let names = ready!(running.as_mut().poll(cx));
                    this.state = State::Done;
                    return Poll::Ready(names);
                }
                State::Done => return Poll::Ready(Err(ended())),
            }
        }
    }
}

impl fmt::Debug for ListTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("list tables").finish_non_exhaustive()
    }
}
