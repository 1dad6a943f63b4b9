//! The page of `aztable ui`: its routes and their state.
//!
//! `access.rs` decides who may use it, `tables.rs` and `row.rs` read and write, `pages.rs` has the HTML, in which all
//! text of the account is escaped.

mod access;
mod pages;
mod row;
mod site;
mod tables;

pub(crate) use site::Site;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use crate::failure::Done;
use crate::ui::access::Access;

/// The bytes of a form: a row of 2 MiB, of which a form makes up to three times as many.
const FORM: usize = 8 << 20;

/// Returns the routes, and the token that opens them.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn router(site: Site, port: u16) -> Done<(Router, String)> {
    let (access, token) = Access::new(port)?;
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
