//! The rules of faults: listed, added, replaced and removed.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use crate::control::request::{Segment, text};
use crate::control::response::{Rejection, lines, nothing};
use crate::control::steered::Steered;

pub(super) async fn list(State(steered): State<Arc<Steered>>) -> Response {
    lines(steered.faults.lines())
}

pub(super) async fn add(State(steered): State<Arc<Steered>>, request: Request) -> Result<Response, Rejection> {
    change(&steered, request, false).await
}

pub(super) async fn replace(State(steered): State<Arc<Steered>>, request: Request) -> Result<Response, Rejection> {
    change(&steered, request, true).await
}

async fn change(steered: &Steered, request: Request, replace: bool) -> Result<Response, Rejection> {
    let (text, _place) = text(steered, request).await?;
    steered.faults.add(&text, replace).map_err(Rejection::bad_request)?;
    Ok(lines(steered.faults.lines()))
}

pub(super) async fn clear(State(steered): State<Arc<Steered>>) -> Response {
    steered.faults.clear();
    nothing()
}

pub(super) async fn remove(State(steered): State<Arc<Steered>>, Segment(id): Segment) -> Result<Response, Rejection> {
    let is_removed = id.parse().is_ok_and(|id| steered.faults.remove(id));
    if is_removed {
        Ok(nothing())
    } else {
        Err(Rejection::not_found(format_args!(
            "fault {id:?} does not exist, GET /faults lists them"
        )))
    }
}
