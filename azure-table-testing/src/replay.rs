//! Recorded responses in place of a service.
//!
//! A replay compares the request, not the caller: method, path, query, body, location and six headers. It does not
//! compare IDs, dates, the authorization and the remaining time.
//!
//! Rejections of the authorization get the current date; otherwise the client would correct its clock. All other
//! responses keep their dates, from which the client derives the age of rows. Values that are new in every run are
//! masked in requests, but responses are replayed unchanged: a test with random keys reads the recorded ones.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::account::profile::Profile;
use azure_table_wire::response::masked_keys::MaskedKeys;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use azure_table_wire::value::clock;
use bytes::Bytes;
use http::header::{DATE, HeaderValue};
use http::{Request, Response, StatusCode};

use crate::exchange::{Exchange, Outcome};
use crate::fingerprint::Fingerprint;
use crate::recording::{Recorded, at};
use crate::redaction::Redaction;
use crate::verdict::{self, Verdict};

/// A [`Transport`] that responds from the file of a [`Recorder`](crate::Recorder). Feature `test-util`.
///
/// The same requests must come in the same order: the same method, path below the account, query, body and conditions.
/// Credential, account, date, request ID and the remaining time of a call are not compared. So the client may use any
/// account: `TableServiceClient::from_transport(replay)` is enough. Values that are new in every run can be
/// [masked](Self::masking). Concurrent requests can come [in any order](Self::in_any_order). Clones share one replay.
///
/// A request that was not recorded gets 501 `NotExpected`, with the nearest recorded request and the differences. It
/// fails the test, and so does a recorded request that never comes. Either [`finish`](Self::finish) or the drop of the
/// last clone reports the failure.
///
/// Recorded responses keep their dates, except rejections of the authorization, because a client corrects its clock by
/// them. A request that was cancelled in the recording gets no response here either. See [`Recorder`](crate::Recorder)
/// for an example.
#[derive(Clone)]
pub struct Replay {
    open: Arc<Open>,
    hidden: Redaction,
    mask: Option<Mask>,
    in_any_order: bool,
    profile: Option<Profile>,
}

type Mask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The shared state. It reports the remaining requests to the test when it is dropped.
struct Open(Mutex<State>);

#[derive(Default)]
struct State {
    /// The recorded requests that were not received yet, in order.
    left: Vec<Left>,
    verdict: Verdict,
}

/// A recorded exchange whose request was not received yet.
struct Left {
    recorded: Recorded,
    /// Computed at the first request, when all masks are known.
    fingerprint: Option<Fingerprint>,
}

impl Replay {
    /// Reads a recording from a file.
    ///
    /// # Errors
    /// Each error names the path.
    ///
    /// - The file cannot be read, with `NotFound` if it is missing.
    /// - `InvalidData`: a line of it is not an exchange.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                let why = format!("{e}: record it first, with a `Recorder`");
                io::Error::new(e.kind(), why)
            }
            _ => e,
        });
        text.and_then(|text| Self::parse(&text)).map_err(|e| at(path, &e))
    }

    /// Reads a recording from the text of its file, for example from `include_str!`.
    ///
    /// # Errors
    /// - `InvalidData`: a line is not an exchange.
    pub fn parse(recording: &str) -> io::Result<Self> {
        let lines = recording
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let recorded: io::Result<Vec<Recorded>> = lines
            .map(|(number, line)| {
                serde_json::from_str(line).map_err(|e| {
                    let why = format!("line {} of the recording is not an exchange: {e}", number + 1);
                    io::Error::new(io::ErrorKind::InvalidData, why)
                })
            })
            .collect();
        let mut recorded = recorded?;
        // The file has them in the order of their responses.
        recorded.sort_by_key(|recorded| recorded.number);
        let cosmos = recorded.iter().any(|recorded| recorded.cosmos);
        let left = recorded.into_iter().map(|recorded| Left {
            recorded,
            fingerprint: None,
        });
        let left = left.collect();
        let verdict = Verdict::default();
        Ok(Self {
            open: Arc::new(Open(Mutex::new(State { left, verdict }))),
            hidden: Redaction::default(),
            mask: None,
            in_any_order: false,
            profile: Profile::marked(cosmos),
        })
    }

    /// Accepts the requests in any order, each once, for code with concurrent requests.
    ///
    /// Equal requests get their responses in the recorded order.
    #[must_use]
    pub fn in_any_order(mut self) -> Self {
        self.in_any_order = true;
        self
    }

    /// Applies `mask` to recorded and incoming requests before they are compared.
    ///
    /// It receives the path, the query, the body and the compared headers. Use [`mask_guids`](crate::mask_guids),
    /// [`mask_times`](crate::mask_times), or a closure that combines both with more. Several masks are applied in the
    /// order in which they were added. Responses stay unchanged.
    ///
    /// ```
    /// use azure_table::testing::{Replay, mask_guids};
    /// # fn main() -> std::io::Result<()> {
    /// # let recording = "";
    /// let replay = Replay::parse(recording)?.masking(mask_guids).masking(|text| text.replace("run-2", "run-1"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn masking(mut self, mask: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.mask = Some(match self.mask {
            None => Arc::new(mask),
            Some(before) => Arc::new(move |text| mask(&before(text))),
        });
        self
    }

    /// Hides this text in requests before they are compared, as [`Recorder::hiding`](crate::Recorder::hiding)
    /// does.
    ///
    /// Responses contain the hidden text as `(hidden)`, and requests may send it back in this form.
    ///
    /// ```
    /// use azure_table::testing::Replay;
    /// # fn main() -> std::io::Result<()> {
    /// # let recording = "";
    /// let replay = Replay::parse(recording)?.hiding("jane doe");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn hiding(mut self, text: impl Into<String>) -> Self {
        self.hidden.add(text.into());
        self
    }

    /// Returns the number of recorded requests that were not received yet.
    pub fn left(&self) -> usize {
        self.open.state().left.len()
    }

    /// Fails the test if an unrecorded request was received, or a recorded one was not.
    ///
    /// Call it at the end of the code under test.
    ///
    /// # Panics
    /// Panics if an unrecorded request was received, or a recorded one was not.
    #[track_caller]
    pub fn finish(&self) {
        let text = self.open.state().tell();
        verdict::fail(text);
    }

    fn fingerprint(&self, recorded: &Recorded) -> Fingerprint {
        Fingerprint::of(&recorded.request, |text| match &self.mask {
            Some(mask) => mask(text),
            None => text.to_owned(),
        })
    }

    /// Takes the recorded exchange of this request, or returns why no exchange matches.
    fn take(&self, left: &mut Vec<Left>, came: &Recorded) -> Result<Recorded, String> {
        let came = self.fingerprint(came);
        let mut nearest = None;
        for (place, left) in left.iter_mut().enumerate() {
            let fingerprint = left.fingerprint.get_or_insert_with(|| self.fingerprint(&left.recorded));
            let distance = fingerprint.distance(&came);
            if nearest.is_none_or(|(_, least)| distance < least) {
                nearest = Some((place, distance));
            }
            if distance == 0 {
                break;
            }
        }
        let number = |place: usize| left[place].recorded.number;
        let fingerprint = |place: usize| left[place].fingerprint.as_ref();
        match nearest {
            Some((place, 0)) if place == 0 || self.in_any_order => Ok(left.remove(place).recorded),
            Some((place, 0)) => Err(format!(
                "{}: it is exchange {}, and exchange {}, {}, comes first (`in_any_order` accepts both)",
                came.name,
                number(place),
                number(0),
                fingerprint(0).map_or("", |first| &first.name)
            )),
            Some((place, _)) => Err(format!(
                "{}: nearest is exchange {}, where {}",
                came.name,
                number(place),
                fingerprint(place).map(|it| it.differences(&came)).unwrap_or_default()
            )),
            None => Err(format!("{}: all recorded requests were received before", came.name)),
        }
    }
}

impl Open {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&mut self) -> Option<String> {
        let left = self.left.iter();
        let missing: Vec<String> = left
            .map(|Left { recorded, .. }| {
                let (path, _) = recorded.request.target();
                format!("exchange {}, {} /{path}", recorded.number, recorded.request.method)
            })
            .collect();
        self.verdict.tell("the replay", &missing)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let text = self.state().tell();
        verdict::fail_in_drop(text);
    }
}

impl Transport for Replay {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let (exchange, _) = Exchange::of(0, &request);
            let came = Recorded::of(&exchange, false, &self.hidden);
            let outcome = {
                let mut state = self.open.state();
                match self
                    .take(&mut state.left, &came)
                    .and_then(|it| it.outcome(&exchange.address))
                {
                    Ok(outcome) => outcome,
                    Err(why) => return state.verdict.reject(why),
                }
            };
            match outcome {
                Outcome::Responded(response) => {
                    let mut response = dated_today(response);
                    echo_id(&exchange, &mut response);
                    response.extensions_mut().insert(MaskedKeys);
                    Ok(response)
                }
                Outcome::Failed(reached) => Err(TransportError::new(reached, "a failure that was recorded")),
                Outcome::NoResponse => std::future::pending().await,
            }
        })
    }

    fn profile(&self) -> Option<Profile> {
        self.profile
    }

    fn opens_connections(&self) -> bool {
        false
    }
}

/// Sets the current date in a rejection of the authorization. With the recorded date this machine's clock would appear
/// to be wrong.
fn dated_today(mut response: Response<Bytes>) -> Response<Bytes> {
    let is_rejection = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if is_rejection
        && response.headers().contains_key(DATE)
        && let Ok(now) = HeaderValue::try_from(httpdate::fmt_http_date(clock::now()))
    {
        response.headers_mut().insert(DATE, now);
    }
    response
}

/// Replaces an echoed id by the id of the current request: each call has a new one.
fn echo_id(came: &Exchange, response: &mut Response<Bytes>) {
    if let Some(echoed) = response.headers_mut().get_mut("x-ms-client-request-id")
        && let Some(id) = came.client_request_id()
        && let Ok(id) = HeaderValue::from_str(id)
    {
        *echoed = id;
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("left", &self.left())
            .field("in_any_order", &self.in_any_order)
            .finish_non_exhaustive()
    }
}
