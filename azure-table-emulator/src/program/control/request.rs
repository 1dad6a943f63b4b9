//! The parts of a request: a segment of its path, its parameters and its body.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, Request};
use http::StatusCode;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use tokio::sync::SemaphorePermit;

use crate::control::connections::Place;
use crate::control::json::object;
use crate::control::response::Rejection;
use crate::control::steered::{MAX_BODIES, Steered, TIMEOUT};
use crate::options::DEVELOPMENT_ACCOUNT;

/// The maximum body of a request, in bytes.
const MAX_BODY: usize = 256 << 20;

/// The variable segment of a path, decoded.
pub(super) struct Segment(pub(super) String);

impl FromRequestParts<Arc<Steered>> for Segment {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<Steered>) -> Result<Self, Rejection> {
        let segment = Path::<String>::from_request_parts(parts, state).await;
        segment.map(|Path(text)| Self(text)).map_err(|_| not_utf8())
    }
}

/// The parameters of a URL, and the route that they are for.
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
    route: String,
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let pairs = parts.uri.query().unwrap_or_default().split('&');
        let pairs = pairs.filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        Ok(Self {
            pairs: pairs.collect::<Result<_, Rejection>>()?,
            route: format!("{} {}", parts.method, parts.uri.path()),
        })
    }
}

impl Parameters {
    /// Rejects parameters that the route does not have.
    pub(super) fn only(self, known: &[&str]) -> Result<Self, Rejection> {
        let unknown = self.pairs.iter().find(|(name, _)| !known.contains(&name.as_str()));
        if let Some((name, _)) = unknown {
            let (route, known) = (&self.route, known.join(", "));
            return Err(Rejection::bad_request(format_args!(
                "{name}: not a parameter of {route}, which has {}",
                if known.is_empty() { "none" } else { &known }
            )));
        }
        Ok(self)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let pair = self.pairs.iter().find(|(given, _)| given == name)?;
        Some(&pair.1)
    }

    pub(super) fn account(&self) -> String {
        self.get("account").unwrap_or(DEVELOPMENT_ACCOUNT).to_owned()
    }
}

/// Reads the body. It counts toward the limit on memory until the permit is dropped.
pub(super) async fn text(steered: &Steered, request: Request) -> Result<(String, SemaphorePermit<'_>), Rejection> {
    let too_long = || {
        let why = format_args!("body: more than {MAX_BODY} bytes, the limit").to_string();
        Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    let (head, body) = request.into_parts();
    let announced = body.size_hint().exact().map_or(Ok(MAX_BODY), usize::try_from);
    let length = announced
        .ok()
        .filter(|length| *length <= MAX_BODY)
        .ok_or_else(too_long)?;
    let kib = u32::try_from(length.div_ceil(1 << 10)).unwrap_or(MAX_BODIES);
    let permit = steered.bodies.acquire_many(kib).await;
    let permit = permit.map_err(|e| Rejection::new(StatusCode::SERVICE_UNAVAILABLE, e))?;
    let body = tokio::time::timeout(TIMEOUT, Limited::new(body, MAX_BODY).collect());
    let body = match head.extensions.get::<Place>() {
        Some(place) => place.receive(body).await,
        None => body.await,
    };
    let body = body.map_err(|_| {
        let why = format!("body: it did not arrive within {} s", TIMEOUT.as_secs());
        Rejection::new(StatusCode::REQUEST_TIMEOUT, why)
    })?;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => too_long(),
        false => Rejection::bad_request(format_args!("body: {error}")),
    })?;
    let text = String::from_utf8(Vec::from(body.to_bytes()));
    let text = text.map_err(|e| Rejection::bad_request(format_args!("body: it is not UTF-8: {e}")))?;
    Ok((text, permit))
}

/// Reads a body of one JSON object. The error names the member.
pub(super) async fn json<T: DeserializeOwned>(steered: &Steered, request: Request) -> Result<T, Rejection> {
    let (text, _permit) = text(steered, request).await?;
    object(&text).map_err(|why| Rejection::bad_request(format_args!("body: {why}")))
}

fn decoded(text: &str) -> Result<String, Rejection> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(Cow::into_owned).map_err(|_| not_utf8())
}

fn not_utf8() -> Rejection {
    Rejection::bad_request("URL: it is not UTF-8")
}
