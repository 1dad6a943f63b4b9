//! The routes of the service, and the status of each error.
//!
//! Reads and writes the rows; `html.rs` shows them.

use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
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
#[derive(Deserialize, Default)]
pub(crate) struct Fields {
    #[serde(default)]
    pub(crate) day: String,
    pub(crate) title: String,
    pub(crate) text: String,
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
        .route("/new", get(async || html::new(&Fields::default(), None)))
        .route("/{day}", get(edit).post(save).put(save))
        .fallback(async || Problem::no_page())
        .with_state(blogs)
}

/// A page of the list. Its link to the next one carries the continuation token, so the service keeps no state.
async fn list(State(blogs): Blogs, Query(position): Query<Position>) -> Result<Markup, Problem> {
    let mut query = blogs.query().partition(CHANNEL).page_size(PAGE);
    if let Some(after) = &position.after {
        let after = after.parse::<Continuation>();
        query = query.resume_from(after.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, NO_POSITION))?);
    }
    let mut pages = query.pages();
    // The position of another query is valid text; the client rejects it before it sends anything.
    let mut page = pages.try_next().await.map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => Problem::new(StatusCode::BAD_REQUEST, NO_POSITION),
        _ => error.into(),
    })?;
    // A page may be empty although others follow.
    while page
        .as_ref()
        .is_some_and(|it| it.items().is_empty() && !it.continuation().is_finished())
    {
        page = pages.try_next().await?;
    }
    let (blogs, next) = page
        .as_ref()
        .map_or((&[][..], None), |page| (page.items(), Some(page.continuation())));
    let next = next.filter(|next| !next.is_finished());
    Ok(html::list(blogs, next, position.after.is_some()))
}

async fn create(State(blogs): Blogs, Form(fields): Form<Fields>) -> Response {
    let Ok(day) = fields.day.parse::<Day>() else {
        let form = html::new(&fields, Some("Choose a day of the calendar."));
        return (StatusCode::BAD_REQUEST, form).into_response();
    };
    match blogs.insert(&fields.blog(day)).await {
        Ok(_) => Redirect::to("/").into_response(),
        // Another blog. If a response was lost and this blog may be stored, the kind is `InDoubt`.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            (StatusCode::CONFLICT, html::taken(&fields, day)).into_response()
        }
        Err(error) => Problem::from(error).or_form(|note| html::new(&fields, Some(note))),
    }
}

async fn edit(State(blogs): Blogs, Path(day): Path<String>) -> Result<Response, Problem> {
    let day = of_path(&day)?;
    let blog = blogs.get((CHANNEL, Descending(day))).versioned().await?;
    let blog = blog.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, format!("There is no blog of {day}.")))?;
    let form = html::edit(&blog, &blog.etag, None);
    Ok(([(header::ETAG, blog.etag.to_string())], form).into_response())
}

/// Saves on the version that the form was made from, or that a program names in `If-Match`.
async fn save(
    State(blogs): Blogs,
    method: Method,
    Path(day): Path<String>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Result<Response, Problem> {
    let yours = fields.blog(of_path(&day)?);
    let if_match = headers.get(header::IF_MATCH).map(HeaderValue::to_str);
    let if_match = if_match
        .transpose()
        .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "If-Match is not visible ASCII."))?;
    let Some(seen) = if_match.or(fields.etag.as_deref()).map(ETag::new) else {
        let text = "A save names the version that it replaces, by If-Match or by the field etag.";
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, text));
    };
    match blogs.replace(&yours).if_match(seen.clone()).await {
        Ok(etag) => Ok(saved(&method, &etag)),
        Err(error) if matches!(error.kind(), ErrorKind::ConditionNotMet | ErrorKind::InDoubt) => {
            let stored = match blogs.get((CHANNEL, yours.day)).versioned().await {
                Err(_) if error.may_have_applied() => return Err(error.into()),
                stored => stored?,
            };
            let stored = stored.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, DELETED))?;
            // A save whose response was lost, or somebody had the same idea: nothing is lost.
            if (&stored.title, &stored.text) == (&yours.title, &yours.text) {
                return Ok(saved(&method, &stored.etag));
            }
            // Nobody has saved: a request in doubt may still arrive.
            if stored.etag == seen {
                return Err(error.into());
            }
            Ok((StatusCode::PRECONDITION_FAILED, html::conflict(&stored, &yours)).into_response())
        }
        Err(error) => Ok(Problem::from(error).or_form(|note| html::edit(&yours, &seen, Some(note)))),
    }
}

/// The browser goes to the list. A program has what it asked for, and the new version.
fn saved(method: &Method, etag: &ETag) -> Response {
    let etag = [(header::ETAG, etag.to_string())];
    match *method {
        Method::PUT => (StatusCode::NO_CONTENT, etag).into_response(),
        _ => (etag, Redirect::to("/")).into_response(),
    }
}

impl Fields {
    fn blog(&self, day: Day) -> Blog {
        Blog {
            channel: CHANNEL.into(),
            day: Descending(day),
            title: self.title.clone(),
            // A browser counts a line break as one unit, and submits it as two.
            text: self.text.replace("\r\n", "\n"),
        }
    }
}

/// The day that a path names. Each blog has a page, and `/favicon.ico` is none of them.
fn of_path(day: &str) -> Result<Day, Problem> {
    day.parse().map_err(|_| Problem::no_page())
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

    fn no_page() -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is no such page.")
    }

    /// Shows a rejected form again with what its writer typed. Other errors have a page of their own.
    fn or_form(self, form: impl FnOnce(&str) -> Markup) -> Response {
        if self.status == StatusCode::BAD_REQUEST {
            return (self.status, form(&self.text)).into_response();
        }
        self.into_response()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        // In whole seconds, rounded up: an earlier visit would be too early.
        let wait = error.retry_after().unwrap_or_default();
        let wait = (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1);
        let busy = || format!("Too many visitors at the moment. Try it again in {wait} s.");
        // The page of a write in doubt names its last failure, and says that it may be saved.
        let last = error.last_failure();
        let last = last.as_ref().unwrap_or(&error);
        let (status, text) = match last.kind() {
            // The client's text names the operation and the table, which are for the log.
            ErrorKind::InvalidInput => (StatusCode::BAD_REQUEST, INVALID.into()),
            // Such as an If-Match that is no ETag.
            ErrorKind::Rejected => (
                StatusCode::BAD_REQUEST,
                last.service_message().unwrap_or("The store rejects it.").into(),
            ),
            // Without its table, `TableNotFound`, the service has a fault.
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, DELETED.into()),
            ErrorKind::AlreadyExists => (StatusCode::CONFLICT, "A blog of this day exists.".into()),
            ErrorKind::Throttled if last.status() == Some(429) => (StatusCode::TOO_MANY_REQUESTS, busy()),
            ErrorKind::Throttled => (StatusCode::SERVICE_UNAVAILABLE, busy()),
            ErrorKind::Timeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "The store takes too long to respond.".into(),
            ),
            ErrorKind::Connection | ErrorKind::ServerFault => (StatusCode::BAD_GATEWAY, "The store fails.".into()),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "This service has a fault.".into()),
        };
        if status.is_server_error() || status == StatusCode::BAD_REQUEST {
            eprintln!("{status}: {error}");
        }
        let in_doubt = if error.may_have_applied() { IN_DOUBT } else { "" };
        Self {
            status,
            text: text + in_doubt,
            retry_after: (last.kind() == ErrorKind::Throttled).then_some(wait),
        }
    }
}

const NO_POSITION: &str = "This link does not lead to a page of blogs. Start at the first page.";
const DELETED: &str = "Somebody has deleted the blog.";
const INVALID: &str =
    "The store does not accept a value of this request. A title and a text have up to 32,768 characters each.";
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
