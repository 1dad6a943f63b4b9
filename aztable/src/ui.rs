//! The page of `aztable ui`: its routes, their state and their errors.
//!
//! `access.rs` decides who may use it, `tables.rs` and `row.rs` read and write, `pages.rs` has the HTML, in which all
//! text of the account is escaped.

mod access;
mod pages;
mod row;
mod tables;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use azure_table::{Error, ErrorKind, TableServiceClient};

use crate::failure::{Done, with_causes};
use crate::ui::access::Access;

/// The bytes of a form: a row of 2 MiB, of which a form makes up to three times as many.
const FORM: usize = 8 << 20;

/// The account, and what the page shows of it.
pub(crate) struct Site {
    pub(crate) account: String,
    pub(crate) service: TableServiceClient,
    pub(crate) log: Arc<Mutex<VecDeque<String>>>,
    pub(crate) is_read_only: bool,
    /// The price of 10,000 requests.
    pub(crate) price: Option<f64>,
}

type Shared = State<Arc<Site>>;

/// Returns the routes, and the token that opens them.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn router(site: Site, port: u16) -> Done<(Router, String)> {
    let (access, token) = Access::new(port)?;
    let access = Arc::new(access);
    let style = ([(header::CONTENT_TYPE, "text/css")], include_str!("ui/style.css"));
    let script = ([(header::CONTENT_TYPE, "text/javascript")], include_str!("ui/page.js"));
    let open = Router::new()
        .route("/session", post(access::session).with_state(Arc::clone(&access)))
        .route("/style.css", get(style))
        .route("/page.js", get(script));
    let routes = Router::new()
        .route("/", get(tables::list))
        .route("/log", get(tables::log))
        .route("/tables/{table}", get(tables::rows))
        .route("/tables/{table}/plan", get(tables::plan))
        .route("/tables/{table}/row", get(row::show).post(row::save))
        .route("/tables/{table}/new", get(row::begin))
        .route("/tables/{table}/delete", post(row::delete))
        .with_state(Arc::new(site))
        .layer(from_fn_with_state(Arc::clone(&access), access::check_session))
        .merge(open)
        .layer(DefaultBodyLimit::max(FORM))
        .layer(from_fn_with_state(access, access::check_site));
    Ok((routes, token))
}

/// An error as a page.
struct Problem(StatusCode, String);

/// A page, or the problem in its place.
type Shown = Result<Response, Problem>;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound | ErrorKind::TableNotFound => StatusCode::NOT_FOUND,
            ErrorKind::AlreadyExists | ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Forbidden | ErrorKind::Unauthenticated => StatusCode::FORBIDDEN,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self(status, with_causes(&error))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.0, pages::problem(self.0, &self.1)).into_response()
    }
}
