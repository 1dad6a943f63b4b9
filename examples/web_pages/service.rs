//! The routes of the service, and the status of each error.
//!
//! Reads and writes the rows; `html.rs` shows them.

use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use azure_table::key::Day;
use azure_table::{Continuation, Descending, ETag, Error, ErrorKind, TableClient, TableEntity};
use maud::Markup;
use serde::Deserialize;

use super::html;

pub(crate) const CHANNEL: &str = "Channel9";
const PAGE: usize = 10;

/// A blog of a channel: one for each day, the latest first.
#[derive(TableEntity, Clone, Debug)]
pub(crate) struct Blog {
    #[table(partition_key)]
    pub(crate) channel: String,
    #[table(row_key)]
    pub(crate) day: Descending<Day>,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// The fields of the two forms: a new blog has a day, an edited one the version that its writer has seen.
#[derive(Deserialize)]
struct Fields {
    day: Option<String>,
    title: String,
    text: String,
    etag: Option<String>,
}

#[derive(Deserialize)]
struct Position {
    after: Option<String>,
}

type Blogs = State<TableClient<Blog>>;

/// An error as the visitor sees it.
pub(crate) struct Problem {
    status: StatusCode,
    text: String,
    /// Seconds.
    retry_after: Option<u64>,
}

pub(crate) fn router(blogs: TableClient<Blog>) -> Router {
    Router::new()
        .route("/", get(list).post(create))
        .route("/new", get(async || html::new(None)))
        .route("/{day}", get(edit).post(save).put(save))
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "There is no such page."))
        .with_state(blogs)
}

/// A page of the list. Its link to the next one carries the continuation token, so the service keeps no state.
async fn list(State(blogs): Blogs, Query(position): Query<Position>) -> Result<Markup, Problem> {
    let mut query = blogs.query().partition(CHANNEL).page_size(PAGE);
    if let Some(after) = &position.after {
        query = query.resume_from(after.parse::<Continuation>()?);
    }
    let mut pages = query.pages();
    let mut page = pages.try_next().await?;
    // A page may be empty although others follow.
    while page
        .as_ref()
        .is_some_and(|it| it.items().is_empty() && it.continuation().is_some())
    {
        page = pages.try_next().await?;
    }
    let (blogs, next) = page
        .as_ref()
        .map_or((&[][..], None), |page| (page.items(), page.continuation()));
    Ok(html::list(blogs, next, position.after.is_some()))
}

async fn create(State(blogs): Blogs, Form(fields): Form<Fields>) -> Result<Response, Problem> {
    let blog = fields.into_blog(None)?;
    match blogs.insert(&blog).await {
        Ok(_) => Ok(Redirect::to("/").into_response()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Ok((StatusCode::CONFLICT, html::new(Some(&blog))).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

async fn edit(State(blogs): Blogs, Path(day): Path<String>) -> Result<Response, Problem> {
    let blog = blogs.get((CHANNEL, Descending(parse(&day)?))).versioned().await?;
    let blog = blog.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, format!("There is no blog of {day}.")))?;
    Ok(([(header::ETAG, blog.etag.to_string())], html::edit(&blog)).into_response())
}

/// Saves on the version that the form was made from, or that a program names in `If-Match`.
async fn save(
    State(blogs): Blogs,
    Path(day): Path<String>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Result<Response, Problem> {
    let if_match = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
    let Some(seen) = if_match.or(fields.etag.as_deref()).map(ETag::new) else {
        let text = "A save names the version that it replaces, by If-Match or by the field etag.";
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, text));
    };
    let yours = fields.into_blog(Some(&day))?;
    match blogs.replace(&yours).if_match(seen).await {
        Ok(etag) => Ok(saved(&etag)),
        Err(error) if error.kind() == ErrorKind::ConditionNotMet => {
            let stored = blogs.get((CHANNEL, yours.day)).versioned().await?;
            let stored = stored.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "Somebody has deleted the blog."))?;
            // A save whose response was lost, or somebody had the same idea: nothing is lost.
            if (&stored.title, &stored.text) == (&yours.title, &yours.text) {
                return Ok(saved(&stored.etag));
            }
            Ok((StatusCode::PRECONDITION_FAILED, html::conflict(&stored, &yours)).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

fn saved(etag: &ETag) -> Response {
    ([(header::ETAG, etag.to_string())], Redirect::to("/")).into_response()
}

impl Fields {
    fn into_blog(self, day: Option<&str>) -> Result<Blog, Problem> {
        let day = day.or(self.day.as_deref()).unwrap_or_default();
        Ok(Blog {
            channel: CHANNEL.into(),
            day: Descending(parse(day)?),
            title: self.title,
            text: self.text,
        })
    }
}

fn parse(day: &str) -> Result<Day, Problem> {
    Ok(day.parse::<Day>().map_err(Error::from)?)
}

impl Problem {
    fn new(status: StatusCode, text: impl Into<String>) -> Self {
        let (text, retry_after) = (text.into(), None);
        Self {
            status,
            text,
            retry_after,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, text) = match error.kind() {
            // The text of the client names the value and its limit. The forms have the limits: a program sees it.
            ErrorKind::InvalidInput => (StatusCode::BAD_REQUEST, error.to_string()),
            // Such as an If-Match that is no ETag.
            ErrorKind::Rejected => (
                StatusCode::BAD_REQUEST,
                error.service_message().unwrap_or("The store rejects it.").into(),
            ),
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "Somebody has deleted the blog.".into()),
            ErrorKind::Throttled if error.status() == Some(429) => (StatusCode::TOO_MANY_REQUESTS, BUSY.into()),
            ErrorKind::Throttled => (StatusCode::SERVICE_UNAVAILABLE, BUSY.into()),
            ErrorKind::Timeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "The store takes too long to respond.".into(),
            ),
            ErrorKind::Connection | ErrorKind::ServerFault => (StatusCode::BAD_GATEWAY, "The store fails.".into()),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "This service has a fault.".into()),
        };
        if status.is_server_error() {
            eprintln!("{status}: {error}");
        }
        let in_doubt = if error.may_have_applied() { IN_DOUBT } else { "" };
        let wait = error.retry_after().map_or(1, |wait| wait.as_secs().max(1));
        Self {
            status,
            text: text + in_doubt,
            retry_after: (error.kind() == ErrorKind::Throttled).then_some(wait),
        }
    }
}

const BUSY: &str = "Too many visitors at the moment. Try it again in a second.";
const IN_DOUBT: &str = " Your text may have been saved: look before you save it again.";

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, html::problem(self.status, &self.text)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
