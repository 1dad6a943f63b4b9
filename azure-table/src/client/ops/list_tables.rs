//! List the tables of an account.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::client::ops::operation::{ended, start};
use crate::model::error::Result;
use crate::pipeline::options::{CallOptions, call_options};
use crate::pipeline::run::Pipeline;
use crate::pipeline::transport::BoxFuture;
use crate::protocol::tables;

/// The names of the tables of an account, page after page. See
/// [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables).
#[must_use = "nothing is sent until it is awaited"]
pub struct ListTables {
    pipeline: Arc<Pipeline>,
    /// What all tables of the client are called by, left out of the names.
    namespace: Arc<str>,
    prefix: String,
    options: CallOptions,
    state: State,
}
call_options!(ListTables, options);

enum State {
    Idle,
    Running(BoxFuture<'static, Result<Vec<String>>>),
    Done,
}

impl ListTables {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, namespace: &Arc<str>) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            namespace: Arc::clone(namespace),
            prefix: String::new(),
            options: CallOptions::default(),
            state: State::Idle,
        }
    }

    /// Only the tables whose names begin so. The service compares; it is not documented whether case counts.
    pub fn starting_with(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    fn start(&mut self) -> BoxFuture<'static, Result<Vec<String>>> {
        let (pipeline, namespace) = (Arc::clone(&self.pipeline), Arc::clone(&self.namespace));
        let prefix = format!("{namespace}{}", self.prefix);
        let options = mem::take(&mut self.options);
        Box::pin(async move {
            let names = all_pages(&pipeline, &prefix, &options).await?;
            let own = |name: String| match name.get(..namespace.len()) {
                Some(start) if start.eq_ignore_ascii_case(&namespace) => Some(name[namespace.len()..].to_owned()),
                _ => None,
            };
            Ok(names.into_iter().filter_map(own).collect())
        })
    }
}

/// The names of all tables that begin with `prefix`.
pub(crate) async fn all_pages(pipeline: &Arc<Pipeline>, prefix: &str, options: &CallOptions) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut from = None;
    loop {
        let call = tables::list(&pipeline.endpoint, prefix, from.as_deref())?;
        let answer = start(pipeline, call, options.clone()).await?;
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
                    let running = this.start();
                    this.state = State::Running(running);
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
