//! The clock: read, set, advanced and reset.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use azure_table_wire::error::ValueError;
use azure_table_wire::value::datetime::DateTime;
use serde::{Deserialize, Serialize};

use crate::control::request;
use crate::control::response::{Rejection, json, nothing};
use crate::control::steered::Steered;

/// The maximum number of seconds by which the clock is moved in one request: a hundred years.
const MAX_SECONDS: f64 = 3_155_760_000.0;
/// The earliest time of the clock. A `Date` header has no earlier one.
const FIRST: DateTime = DateTime::from_unix_seconds(0);
/// The latest time of the clock, in the year 9000: later ones would leave no room for unique Timestamps.
const LAST: DateTime = DateTime::from_unix_seconds(221_845_392_000);

#[derive(Serialize)]
struct ClockJson {
    now: DateTime,
    system: DateTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetClock {
    now: String,
    /// A member of a response, accepted so that a client can send the response back.
    #[serde(default, rename = "system")]
    _system: serde::de::IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    seconds: f64,
}

pub(super) async fn get(State(steered): State<Arc<Steered>>) -> Response {
    current(&steered)
}

pub(super) async fn set(State(steered): State<Arc<Steered>>, request: Request) -> Result<Response, Rejection> {
    let SetClock { now, .. } = request::json(&steered, request).await?;
    let now = now.parse();
    let now = now.map_err(|e: ValueError| Rejection::bad_request(format_args!("now: {e}")))?;
    check("now", now)?;
    steered.emulator.clock().set(now);
    Ok(current(&steered))
}

pub(super) async fn advance(State(steered): State<Arc<Steered>>, request: Request) -> Result<Response, Rejection> {
    let Advance { seconds } = request::json(&steered, request).await?;
    if !(0.0..=MAX_SECONDS).contains(&seconds) {
        let why = format!("seconds: {seconds}, it must be 0 to {MAX_SECONDS}");
        return Err(Rejection::bad_request(why));
    }
    let by = Duration::from_secs_f64(seconds);
    check("seconds", steered.emulator.clock().now() + by)?;
    steered.emulator.clock().advance(by);
    Ok(current(&steered))
}

pub(super) async fn reset(State(steered): State<Arc<Steered>>) -> Response {
    steered.emulator.clock().reset();
    nothing()
}

fn current(steered: &Steered) -> Response {
    json(&ClockJson {
        now: steered.emulator.clock().now(),
        system: DateTime::now(),
    })
}

/// Rejects a time before [`FIRST`] or after [`LAST`].
fn check(member: &str, time: DateTime) -> Result<(), Rejection> {
    if !(FIRST..=LAST).contains(&time) {
        let why = format!("{member}: the clock would show {time}, it must be {FIRST} to {LAST}");
        return Err(Rejection::bad_request(why));
    }
    Ok(())
}
