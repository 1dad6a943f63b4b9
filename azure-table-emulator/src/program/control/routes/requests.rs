//! The log of requests: listed, followed and cleared.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _};
use http::StatusCode;

use crate::control::request::Parameters;
use crate::control::response::{LINES, Rejection, lines, nothing, with};
use crate::control::steered::Steered;

pub(super) async fn list(State(steered): State<Arc<Steered>>, parameters: Parameters) -> Result<Response, Rejection> {
    match parameters.only(&["follow"])?.get("follow") {
        None | Some("false") => Ok(lines(steered.log.lines())),
        Some("" | "true") => {
            let lines = stream::unfold(steered.log.follow(), |mut follower| async {
                let lines = follower.next().await?;
                Some((lines, follower))
            });
            let body = Body::from_stream(lines.map(Ok::<_, Infallible>));
            Ok(with(StatusCode::OK, LINES, body))
        }
        Some(other) => Err(Rejection::bad_request(format_args!(
            "follow: {other:?}, it must be true or false"
        ))),
    }
}

pub(super) async fn clear(State(steered): State<Arc<Steered>>, parameters: Parameters) -> Result<Response, Rejection> {
    parameters.only(&[])?;
    steered.log.clear();
    Ok(nothing())
}
