//! The model of the service's load: read, set and reset.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use crate::control::request;
use crate::control::response::{Rejection, json, nothing};
use crate::control::steered::Steered;

pub(super) async fn get(State(steered): State<Arc<Steered>>) -> Response {
    json(&steered.load.json())
}

pub(super) async fn set(State(steered): State<Arc<Steered>>, request: Request) -> Result<Response, Rejection> {
    let model = request::json(&steered, request).await?;
    steered.load.set(Some(model)).map_err(Rejection::bad_request)?;
    Ok(json(&steered.load.json()))
}

pub(super) async fn reset(State(steered): State<Arc<Steered>>) -> Result<Response, Rejection> {
    steered.load.set(None).map_err(Rejection::bad_request)?;
    Ok(nothing())
}
