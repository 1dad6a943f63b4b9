//! Lists the tables of an account.
//!
//! A list of tables is a query, and a table in it is a row of one property. Pages, continuations, limits and prefetch
//! therefore share the code of queries.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::parse::raw_fault;
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::edm::{Edm, EdmValue};

use crate::account::table_name::TableName;
use crate::client::ops::start::already_completed;
use crate::client::poll::total_timeout::{TotalTimeout, total_timeout};
use crate::client::query::entity_stream::EntityStream;
use crate::client::query::page_chain::{PageChain, Prefetch, PreparedQuery, top};
use crate::client::query::page_stream::PageStream;
use crate::client::shape::Shape;
use crate::filter::typed::{self, Filter};
use crate::pipeline::Pipeline;
use crate::pipeline::options::{CallOptions, call_options};
use crate::request::continuation::{self, Continuation};
use crate::request::query::{QueryRequest, TABLE_NAME, compared_name};

/// Lists the names of the tables of an account.
///
/// Await it for all names, or read a stream of names or pages. Pages and limits work as in a query. See
/// [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables).
#[must_use = "nothing is sent until it is awaited, or its stream polled"]
pub struct ListTables {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    total: TotalTimeout,
    /// The prefix of the client, which the names leave out.
    namespace: Arc<str>,
    prefix: String,
    filter: Option<Filter<TableName>>,
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
    "At the deadline, the next page is an error of kind `Timeout`, unless it was prefetched. Earlier pages and \
     continuations stay valid."
);

enum Awaited {
    No,
    Collecting(BoxFuture<'static, Result<Vec<String>>>),
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
            filter: None,
            page_size: None,
            limit: None,
            prefetch: None,
            from: None,
            awaited: Awaited::No,
        }
    }

    /// Returns only tables whose names begin with `prefix`.
    ///
    /// The service compares the names: Table storage ignores case, Cosmos DB does not.
    #[doc(alias = "prefix")]
    pub fn starting_with(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Returns only tables that meet a condition on [`TableName::NAME`]. Several filters are combined with `and`.
    ///
    /// ```
    /// use azure_table::{Emulator, TableName, TableServiceClient};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let service = TableServiceClient::from_transport(Emulator::new());
    /// service.ensure_tables(["Logs2023", "Logs2024", "Logs2025"]).await?;
    /// let recent = service.list_tables().filter(TableName::NAME.ge("Logs2024")).all().await?;
    /// assert_eq!(recent, ["Logs2024", "Logs2025"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returned by the list:
    /// - `InvalidInput`: the service cannot represent a value.
    /// - `Unsupported`: OData text ([`Filter::raw`]) on a client that adds a
    ///   [prefix](crate::TableServiceClient::prefixed) to all names.
    pub fn filter(mut self, filter: Filter<TableName>) -> Self {
        self.filter = typed::both(self.filter.take(), filter);
        self
    }

    /// Limits the number of names per page: 1 to 1,000.
    pub fn page_size(mut self, names: usize) -> Self {
        self.page_size = Some(names);
        self
    }

    /// Sets the number of pages fetched ahead of the reader: see [`TableQuery::prefetch`](crate::TableQuery::prefetch).
    pub fn prefetch(mut self, pages: usize) -> Self {
        self.prefetch = Some(pages);
        self
    }

    /// Limits the total number of names across all pages.
    pub fn limit(mut self, names: usize) -> Self {
        self.limit = Some(names);
        self
    }

    /// Resumes an earlier list with the same prefix, from the continuation of its last page. A finished one yields
    /// nothing.
    pub fn resume_from(mut self, continuation: Continuation) -> Self {
        self.from = continuation::after_start(continuation);
        self
    }

    /// Returns a stream of the pages, including empty ones.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    pub fn pages(mut self) -> PageStream<String> {
        self.begin(Prefetch::AfterFirst)
    }

    /// Returns all names. Equivalent to awaiting the list.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of the first page that fails.
    pub async fn all(self) -> Result<Vec<String>> {
        self.await
    }

    /// Returns a stream of the names, page after page.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    pub fn stream(self) -> EntityStream<String> {
        EntityStream::new(self.pages())
    }

    /// Returns the request for the first page as text, without sending it: method and URL, headers.
    ///
    /// The text does not contain the credential.
    ///
    /// # Errors
    /// Errors that awaiting it would return before anything is sent.
    pub fn request_text(self) -> Result<String> {
        self.pages().into_chain().request()
    }

    fn begin(&mut self, prefetch: Prefetch) -> PageStream<String> {
        let profile = self.pipeline.endpoint.profile();
        let prepared = self.prepare(prefetch);
        let shape = Shape::for_tables(Arc::clone(&self.namespace));
        let (pipeline, options) = (Arc::clone(&self.pipeline), std::mem::take(&mut self.options));
        let chain = match prepared {
            Ok(query) => PageChain::new(pipeline, options, query, self.from.take()),
            Err(e) => PageChain::rejected(pipeline, QueryRequest::tables("", profile), e),
        };
        PageStream::new(chain, shape)
    }

    fn prepare(&mut self, prefetch: Prefetch) -> Result<PreparedQuery> {
        let profile = self.pipeline.endpoint.profile();
        let mut request = QueryRequest::tables(&format!("{}{}", self.namespace, self.prefix), profile);
        let filter = self.filter.take().map(|filter| under(filter, &self.namespace, profile));
        let filter = filter.transpose()?;
        let fault = filter.as_ref().and_then(raw_fault).map(Arc::from);
        request.top = top(self.page_size, self.limit)?;
        request.filter = match (request.filter.take(), filter) {
            (Some(prefix), Some(filter)) => Some(format!("{prefix} and ({filter})")),
            (prefix, filter) => prefix.or(filter.map(|filter| filter.to_string())),
        };
        Ok(PreparedQuery {
            fault,
            limit: self.limit,
            prefetch: self.prefetch.map_or(Ok(prefetch), Prefetch::of)?,
            total: self.total,
            ..PreparedQuery::new(request)
        })
    }
}

/// Returns the condition on the full names in the account, which begin with `namespace`.
fn under(filter: Filter<TableName>, namespace: &str, profile: Profile) -> Result<Expression> {
    let expression = typed::into_expression(filter)?;
    if !namespace.is_empty() && expression.has_raw() {
        let why = "OData text cannot be combined with the prefix of the client; compare `TableName::NAME`";
        return Err(Error::new(ErrorKind::Unsupported, why));
    }
    Ok(expression.map_comparisons(&|name, value| match value {
        Edm::String(text) if name == TABLE_NAME => {
            let text = compared_name(format!("{namespace}{text}"), profile);
            (TABLE_NAME, EdmValue::from(text))
        }
        // The condition that no row meets: a list of tables has no other column.
        _ => (TABLE_NAME, EdmValue::from("")),
    }))
}

impl Future for ListTables {
    type Output = Result<Vec<String>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Vec<String>>> {
        let this = self.get_mut();
        if matches!(this.awaited, Awaited::No) {
            this.awaited = Awaited::Collecting(Box::pin(this.begin(Prefetch::FromStart).all()));
        }
        let Awaited::Collecting(names) = &mut this.awaited else {
            return Poll::Ready(Err(already_completed()));
        };
        let names = ready!(names.as_mut().poll(cx));
        this.awaited = Awaited::Over;
        Poll::Ready(names)
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
