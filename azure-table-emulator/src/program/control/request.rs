//! The parts of a request: a segment of its path, its parameters and its body.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request};
use http::StatusCode;
use http::request::Parts;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use tokio::sync::SemaphorePermit;

use crate::control::connections::Place;
use crate::control::json::object;
use crate::control::response::Rejection;
use crate::control::steered::{MAX_BODIES, Steered, TIMEOUT};
use crate::options::DEVELOPMENT_ACCOUNT;

/// The maximum body of a request other than a snapshot, in bytes.
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
    text_up_to(MAX_BODY, steered, request).await
}

/// Reads the body of a snapshot, which may be as long as the one that the port returns.
pub(super) async fn snapshot(steered: &Steered, request: Request) -> Result<(String, SemaphorePermit<'_>), Rejection> {
    text_up_to(usize::MAX, steered, request).await
}

async fn text_up_to(
    most: usize,
    steered: &Steered,
    request: Request,
) -> Result<(String, SemaphorePermit<'_>), Rejection> {
    let (head, body) = request.into_parts();
    let announced = body.size_hint().lower();
    let announced = usize::try_from(announced).ok().filter(|length| *length <= most);
    let length = announced.ok_or_else(|| too_long(most))?;
    let permit = steered.bodies.acquire_many(kib(length)).await;
    let permit = permit.map_err(|e| Rejection::new(StatusCode::SERVICE_UNAVAILABLE, e))?;
    let body = tokio::time::timeout(TIMEOUT, read(body, (most, length), steered, permit));
    let body = match head.extensions.get::<Place>() {
        Some(place) => place.receive(body).await,
        None => body.await,
    };
    let (body, permit) = body.map_err(|_| {
        let why = format!("body: it did not arrive within {} s", TIMEOUT.as_secs());
        Rejection::new(StatusCode::REQUEST_TIMEOUT, why)
    })??;
    let text = String::from_utf8(body);
    let text = text.map_err(|e| Rejection::bad_request(format_args!("body: it is not UTF-8: {e}")))?;
    Ok((text, permit))
}

/// Reads a body of at most `most` bytes. One without a length counts toward the limit on memory as it arrives.
async fn read<'s>(
    mut body: Body,
    (most, length): (usize, usize),
    steered: &'s Steered,
    mut permit: SemaphorePermit<'s>,
) -> Result<(Vec<u8>, SemaphorePermit<'s>), Rejection> {
    let mut bytes = Vec::with_capacity(length.min(MAX_BODY));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Rejection::bad_request(format_args!("body: {error}")))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let held = kib(bytes.len().max(length));
        bytes.extend_from_slice(&data);
        if bytes.len() > most {
            return Err(too_long(most));
        }
        let more = kib(bytes.len().max(length)) - held;
        // Two bodies that wait here would wait for each other.
        permit.merge(steered.bodies.try_acquire_many(more).map_err(|_| no_room())?);
    }
    Ok((bytes, permit))
}

/// Returns the part of the limit on memory that a body of this length takes. A longer one takes all.
fn kib(length: usize) -> u32 {
    u32::try_from(length.div_ceil(1 << 10)).map_or(MAX_BODIES, |kib| kib.min(MAX_BODIES))
}

fn no_room() -> Rejection {
    let why = "body: other bodies use the memory, and its length is unknown: send a `Content-Length`, or try again";
    Rejection::new(StatusCode::SERVICE_UNAVAILABLE, why)
}

fn too_long(most: usize) -> Rejection {
    let why = format_args!("body: more than {most} bytes, the limit").to_string();
    Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, why)
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
