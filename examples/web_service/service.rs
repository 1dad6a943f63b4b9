//! The routes of the service, the status of each error, and the options of its Azure clients.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{ClientOptions, Context, Transport};
use azure_table::{ETag, Error, ErrorKind, TableClient, TableEntity};
use serde::Deserialize;
use tower_http::trace::TraceLayer;
use tracing::Instrument as _;

use super::page_token::PageTokens;

/// The most notes of a page.
const PAGE: usize = 2;

/// A note, in the partition of its first letter.
#[derive(TableEntity, Clone, Debug)]
pub(crate) struct Note {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    id: String,
    text: String,
}

/// An error as a status.
pub(crate) struct Problem(Error);

type Site = State<(TableClient<Note>, PageTokens)>;

/// The page of a list, or `None` for the first one.
#[derive(Deserialize)]
struct Position {
    page: Option<String>,
}

/// Returns the service. Its clones share the client of the table.
pub(crate) fn router(notes: TableClient<Note>, tokens: PageTokens) -> Router {
    Router::new()
        .route("/notes/{id}", get(read).put(write))
        .route("/lists/{letter}", get(list))
        .layer(TraceLayer::new_for_http().make_span_with(span_of_visit))
        .with_state((notes, tokens))
}

/// Returns the span of a visit, without the keys in its URL.
fn span_of_visit(request: &Request<Body>) -> tracing::Span {
    tracing::info_span!("visit", method = %request.method())
}

/// Returns the options that the program shares between its Azure clients: its HTTP client, and spans of requests.
pub(crate) fn shared_options(client: reqwest::Client) -> ClientOptions {
    ClientOptions {
        transport: Some(Transport::new(Arc::new(client))),
        per_try_policies: vec![Arc::new(RequestSpans)],
        ..ClientOptions::default()
    }
}

/// A span for each request, without its URL, which has the keys of rows and shared access signatures.
#[derive(Debug)]
struct RequestSpans;

#[async_trait]
impl Policy for RequestSpans {
    async fn send(
        &self,
        context: &Context,
        request: &mut azure_core::http::Request,
        next: &[Arc<dyn Policy>],
    ) -> PolicyResult {
        let span = tracing::info_span!("table request", method = %request.method());
        let sent = async {
            let response = next[0].send(context, request, &next[1..]).await;
            if let Ok(response) = &response {
                tracing::info!(status = %response.status(), "finished processing request");
            }
            response
        };
        sent.instrument(span).await
    }
}

/// Returns a client of the program, for the tables and for others.
///
/// It follows no redirects: they would send a signature to another host.
pub(crate) fn client() -> reqwest::Result<reqwest::Client> {
    // This reqwest has no crypto provider of its own, and panics without one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.no_proxy().build()
}

/// Returns the keys of a note.
fn keys(id: &str) -> (String, String) {
    (id.chars().take(1).collect(), id.to_owned())
}

async fn read(State((notes, _)): Site, Path(id): Path<String>) -> Result<Response, Problem> {
    let Some(note) = notes.get(keys(&id)).versioned().await? else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    Ok(([(header::ETAG, note.etag.to_string())], note.entity.text).into_response())
}

/// Lists the ids of the notes with a first letter. The header `Link` of a page leads to the next one (RFC 8288).
async fn list(
    State((notes, tokens)): Site,
    Path(letter): Path<String>,
    Query(position): Query<Position>,
) -> Result<Response, Problem> {
    let mut query = notes.query().partition(letter.as_str()).page_size(PAGE);
    if let Some(link) = position.page {
        let Some(position) = tokens.verify(&letter, &link) else {
            return Ok(StatusCode::BAD_REQUEST.into_response());
        };
        query = query.resume_from(position);
    }
    let Some(page) = query.keys().pages().try_next().await? else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let next = || format!("<?page={}>; rel=\"next\"", tokens.sign(&letter, page.continuation()));
    let link = page.has_more().then(|| [(header::LINK, next())]);
    let ids: Vec<&str> = page.items().iter().map(|key| key.row_key()).collect();
    Ok((link, ids.join(" ")).into_response())
}

/// Saves a note: on the version that `If-Match` names, or in any case.
async fn write(
    State((notes, _)): Site,
    Path(id): Path<String>,
    headers: HeaderMap,
    text: String,
) -> Result<Response, Problem> {
    let (partition, id) = keys(&id);
    let note = Note { partition, id, text };
    let etag = match headers.get(header::IF_MATCH).map(|value| value.to_str()) {
        None => notes.insert_or_replace(&note).await?,
        // It would match any version.
        Some(Ok("*")) => return Ok(StatusCode::BAD_REQUEST.into_response()),
        Some(Ok(seen)) => notes.replace(&note).if_match(ETag::new(seen)).await?,
        Some(Err(_)) => return Ok(StatusCode::BAD_REQUEST.into_response()),
    };
    Ok((StatusCode::NO_CONTENT, [(header::ETAG, etag.to_string())]).into_response())
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = match self.0.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::AlreadyExists | ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::ConditionNotMet | ErrorKind::Contention => StatusCode::PRECONDITION_FAILED,
            ErrorKind::InvalidInput | ErrorKind::Rejected => StatusCode::BAD_REQUEST,
            ErrorKind::Throttled => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Connection | ErrorKind::ServerFault | ErrorKind::InvalidResponse => StatusCode::BAD_GATEWAY,
            // `TableNotFound`, `InDoubt`, the credential, the service's own code.
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if status.is_server_error() {
            eprintln!("{status}: {}", self.0);
        }
        let in_doubt = if self.0.may_have_applied() {
            "The note may be saved."
        } else {
            ""
        };
        let wait = self.0.retry_after().map_or(1, |wait| wait.as_secs() + 1);
        match status {
            StatusCode::SERVICE_UNAVAILABLE => {
                (status, [(header::RETRY_AFTER, wait.to_string())], in_doubt).into_response()
            }
            _ => (status, in_doubt).into_response(),
        }
    }
}
