//! The routes of the control port.
//!
//! Maps paths and methods to the routes in `routes/*.rs`, and checks each request first. A list is sent as lines of
//! JSON, the routes as an array, anything else as one object. A response is sent once everything that it shows is
//! durable.

mod clock;
mod faults;
mod requests;
mod tables;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{delete, get, post};
use http::header::ACCEPT;
use http::{HeaderMap, Method, StatusCode, Uri};
use serde::Serialize;

use crate::control::page;
use crate::control::request::Parameters;
use crate::control::response::{Rejection, json};
use crate::control::steered::Steered;

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
}

/// A path with its methods, for people and programs that ask.
#[derive(Serialize)]
struct Route {
    path: &'static str,
    methods: &'static [&'static str],
    content: &'static str,
}

const fn route(path: &'static str, methods: &'static [&'static str], content: &'static str) -> Route {
    Route { path, methods, content }
}

/// All routes.
static ROUTES: [Route; 11] = [
    route(
        "/",
        &["GET"],
        "a live page for browsers; with Accept: application/json these routes",
    ),
    route("/health", &["GET"], "200 while the program runs"),
    route("/ready", &["GET"], "200, or 503 after a failed write to the disk"),
    route("/tables", &["GET", "DELETE"], "all tables, or those of ?account="),
    route(
        "/tables/TABLE",
        &["GET", "POST", "DELETE"],
        "rows, of ?account=; GET has ?limit=",
    ),
    route("/snapshot", &["GET", "PUT"], "the whole state"),
    route("/faults", &["GET", "PUT", "POST", "DELETE"], "fault rules"),
    route("/faults/ID", &["DELETE"], "a fault rule"),
    route("/clock", &["GET", "PUT", "DELETE"], "the emulator's time"),
    route("/clock/advance", &["POST"], "moves the emulator's time"),
    route(
        "/requests",
        &["GET", "DELETE"],
        "the latest requests; ?follow streams new ones",
    ),
];

/// Returns the service of the port.
pub(super) fn router(steered: Arc<Steered>) -> Router {
    let without_parameters = Router::new()
        .route("/", get(root))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/snapshot", get(tables::snapshot).put(tables::restore))
        .route(
            "/faults",
            get(faults::list)
                .put(faults::replace)
                .post(faults::add)
                .delete(faults::clear),
        )
        .route("/faults/{id}", delete(faults::remove))
        .route("/clock", get(clock::get).put(clock::set).delete(clock::reset))
        .route("/clock/advance", post(clock::advance))
        .route_layer(middleware::from_fn(reject_parameters));
    Router::new()
        .route("/tables", get(tables::list).delete(tables::clear))
        .route("/tables/{table}", get(tables::rows).post(tables::seed).delete(tables::delete))
        .route("/requests", get(requests::list).delete(requests::clear))
        .merge(without_parameters)
        .fallback(missing)
        .method_not_allowed_fallback(other_method)
        // Applies the check to all routes and the fallback.
        .layer(middleware::from_fn_with_state(Arc::clone(&steered), check))
        .with_state(steered)
}

/// Checks the sender of a request before its route.
async fn check(State(steered): State<Arc<Steered>>, request: Request, next: Next) -> Result<Response, Rejection> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    steered.access.check_site(&head, path == "/")?;
    // These contain no data of the tables: the page prompts for the token, and the other shows that the program runs.
    if !matches!(path, "/" | "/health") {
        steered.access.check_token(&head)?;
    }
    Ok(next.run(Request::from_parts(head, body)).await)
}

async fn reject_parameters(parameters: Parameters, request: Request, next: Next) -> Result<Response, Rejection> {
    parameters.only(&[])?;
    Ok(next.run(request).await)
}

/// Returns the page to a browser or if any type is accepted, otherwise the routes.
async fn root(headers: HeaderMap) -> Response {
    let values = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let types = values.flat_map(|accept| accept.split(','));
    let types: Vec<_> = types.filter_map(|it| it.split(';').next()).map(str::trim).collect();
    let accepts = |name: &str| types.iter().any(|known| known.eq_ignore_ascii_case(name));
    let says_nothing = types.iter().all(|it| matches!(*it, "" | "*/*"));
    if !says_nothing && !accepts("text/html") {
        json(&ROUTES)
    } else {
        page::page()
    }
}

async fn missing(uri: Uri) -> Rejection {
    let paths = ROUTES.each_ref().map(|route| route.path).join(", ");
    Rejection::not_found(format_args!("{:?} does not exist; the paths are {paths}", uri.path()))
}

/// Rejects a method that the path does not have. axum adds the header `Allow`.
async fn other_method(method: Method, uri: Uri) -> Rejection {
    let why = format!(
        "{method} {}: not a method of this path, the header Allow lists them",
        uri.path()
    );
    Rejection::new(StatusCode::METHOD_NOT_ALLOWED, why)
}

async fn health() -> Response {
    json(&Health {
        status: "alive",
        version: env!("CARGO_PKG_VERSION"),
    })
}

async fn ready(State(steered): State<Arc<Steered>>) -> Result<Response, Rejection> {
    steered.emulator.check_storage()?;
    Ok(json(&Health {
        status: "ready",
        version: env!("CARGO_PKG_VERSION"),
    }))
}
