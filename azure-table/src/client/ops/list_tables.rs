//! List the tables of an account.
//!
//! A list of tables is a query: a table in it is a row of one property, so pages, continuations, limits and prefetch
//! are the same code.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::client::ops::operation::ended;
use crate::client::query::entity_stream::EntityStream;
use crate::client::query::page_stream::{PageStream, Prefetch, PreparedQuery, top};
use crate::client::shape::Shape;
use crate::client::total_timeout::{TotalTimeout, total_timeout};
use crate::model::error::Result;
use crate::pipeline::Pipeline;
use crate::pipeline::options::{CallOptions, call_options};
use crate::protocol::continuation::Continuation;
use crate::protocol::query::QueryRequest;

/// The names of the tables of an account: all of them when it is awaited, or a stream of names or of pages, by the
/// rules of queries. See [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables).
#[must_use = "nothing is sent until it is awaited, or its stream polled"]
pub struct ListTables {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    total: TotalTimeout,
    /// What all tables of the client are called by, left out of the names.
    namespace: Arc<str>,
    prefix: String,
    page_size: Option<usize>,
    limit: Option<usize>,
    prefetch: Option<usize>,
    from: Option<Continuation>,
    awaited: Awaited,
}
call_options!(ListTables, options);
total_timeout!(
    ListTables,
    total,
    "When it is over, the next page is an error of kind `Timeout`; what came before stays good, continuations included."
);

enum Awaited {
    No,
    /// The pages, and the names so far.
    Collecting(Box<PageStream<String>>, Vec<String>),
    Over,
}

impl ListTables {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, namespace: &Arc<str>) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            options: pipeline.settings.defaults.clone(),
            total: TotalTimeout::default(),
            namespace: Arc::clone(namespace),
            prefix: String::new(),
            page_size: None,
            limit: None,
            prefetch: None,
            from: None,
            awaited: Awaited::No,
        }
    }

    /// Only the tables whose names begin so. The service compares; it is not documented whether case counts.
    pub fn starting_with(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Limits the number of names per page: 1 to 1,000.
    pub fn page_size(mut self, names: usize) -> Self {
        self.page_size = Some(names);
        self
    }

    /// How many pages are fetched before the reader comes for them: see
    /// [`TableQuery::prefetch`](crate::TableQuery::prefetch).
    pub fn prefetch(mut self, pages: usize) -> Self {
        self.prefetch = Some(pages);
        self
    }

    /// Limits the total number of names across all pages.
    pub fn limit(mut self, names: usize) -> Self {
        self.limit = Some(names);
        self
    }

    /// Goes on where an earlier list with the same beginning was: the continuation of its last page.
    pub fn resume_from(mut self, continuation: Continuation) -> Self {
        self.from = Some(continuation);
        self
    }

    /// The pages as they come, empty ones too.
    pub fn pages(mut self) -> PageStream<String> {
        self.begin(Prefetch::AfterFirst)
    }

    /// The names, page after page.
    pub fn stream(self) -> EntityStream<String> {
        EntityStream::new(self.pages())
    }

    /// The request for the first page as text, without sending it: method and URL, headers. The proof of who asks is
    /// not in it.
    ///
    /// # Errors
    /// Those that awaiting it would give before anything is sent.
    pub fn request(self) -> Result<String> {
        self.pages().request()
    }

    fn begin(&mut self, prefetch: Prefetch) -> PageStream<String> {
        let mut request = QueryRequest::tables(&format!("{}{}", self.namespace, self.prefix));
        let prefetch = self.prefetch.map_or(Ok(prefetch), Prefetch::of);
        let wished = top(self.page_size, self.limit).and_then(|top| {
            request.top = top;
            prefetch
        });
        let shape = Shape::of_tables(Arc::clone(&self.namespace));
        let (pipeline, options) = (Arc::clone(&self.pipeline), std::mem::take(&mut self.options));
        match wished {
            Ok(prefetch) => {
                let query = PreparedQuery {
                    request,
                    comparisons: 0,
                    has_keys: false,
                    limit: self.limit,
                    prefetch,
                    in_task: false,
                    total: self.total,
                };
                PageStream::new(pipeline, options, query, self.from.take(), shape)
            }
            Err(e) => PageStream::refused(pipeline, request, e, shape),
        }
    }
}

impl Future for ListTables {
    type Output = Result<Vec<String>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Vec<String>>> {
        let this = self.get_mut();
        if matches!(this.awaited, Awaited::No) {
            this.awaited = Awaited::Collecting(Box::new(this.begin(Prefetch::FromStart)), Vec::new());
        }
        let Awaited::Collecting(pages, names) = &mut this.awaited else {
            return Poll::Ready(Err(ended()));
        };
        let outcome = loop {
            match ready!(pages.poll_page(cx)) {
                Some(Ok(page)) => names.extend(page.into_items()),
                Some(Err(e)) => break Err(e),
                None => break Ok(std::mem::take(names)),
            }
        };
        this.awaited = Awaited::Over;
        Poll::Ready(outcome)
    }
}

impl fmt::Debug for ListTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListTables")
            .field("starting_with", &self.prefix)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
