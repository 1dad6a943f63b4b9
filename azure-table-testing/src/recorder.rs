//! The transport that records exchanges to a file.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::account::profile::Profile;
use azure_table_wire::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

use crate::exchange::{Exchange, Outcome};
use crate::recording::{Recorded, at};
use crate::redaction::Redaction;
use crate::secrets::Secrets;

/// A [`Transport`] that writes every exchange to a file, in front of another one. Feature `test-util`.
///
/// [`Replay`](crate::Replay) responds from this file. It has one exchange per line, as JSON:
/// `{"number", "request": {"method", "url", "headers", "body"}, "response": {"status", "headers", "body"}}`.
///
/// The file contains neither secrets (see [`Exchange`]) nor the account's URL, which is replaced with
/// `https://account.invalid`. Rejections that repeat the account's name show `account` in its place. The name stays
/// where it is part of your rows. **Keys and properties of entities are in the file**; [`hiding`](Self::hiding) hides
/// further texts.
///
/// Each line is written when its response arrives, or when the client stops waiting. Clones share one file.
///
/// ```
/// use azure_table::testing::{Recorder, Replay};
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
///
/// /// The conversation to record and to replay.
/// async fn talk(service: TableServiceClient) -> azure_table::Result<usize> {
///     let blogs = service.dynamic_table("Blogs")?;
///     blogs.create_table().await?;
///     blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
///     Ok(blogs.query().all().await?.len())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("azure-table-recorder-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("talk.jsonl");
/// // Once; with an account it is `.transport(Recorder::create(&file, HttpTransport::builder().build()?)?)`.
/// let recorder = Recorder::create(&file, Emulator::new())?;
/// assert_eq!(talk(TableServiceClient::from_transport(recorder.clone())).await?, 1);
/// assert_eq!(recorder.finish()?, 3);
///
/// // From then on, without the account.
/// let replay = Replay::open(&file)?;
/// assert_eq!(talk(TableServiceClient::from_transport(replay.clone())).await?, 1);
/// replay.finish();
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    behind: Arc<dyn Transport>,
    hidden: Redaction,
    state: Arc<Mutex<State>>,
}

struct State {
    file: File,
    requests: u64,
    written: u64,
    failure: Option<io::Error>,
}

impl Recorder {
    /// Creates a file and records the exchanges with `transport`.
    ///
    /// An existing file is overwritten. A missing folder is created.
    ///
    /// # Errors
    /// - The folder or the file cannot be created. The error names the path and the reason.
    pub fn create(path: impl AsRef<Path>, transport: impl Transport) -> io::Result<Self> {
        let path = path.as_ref();
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        let state = State {
            file: made.and_then(|()| File::create(path)).map_err(|e| at(path, &e))?,
            requests: 0,
            written: 0,
            failure: None,
        };
        Ok(Self {
            behind: Arc::new(transport),
            hidden: Redaction::default(),
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// Replaces this text with `(hidden)` wherever it occurs.
    ///
    /// It is also found percent-encoded in a URL, escaped in JSON or XML, and in the continuation tokens of Storage.
    /// Binary values are not searched, and the comparison is case-sensitive. A replay compares requests with the
    /// written text, so hide the same texts there, with [`Replay::hiding`](crate::Replay::hiding).
    #[must_use]
    pub fn hiding(mut self, text: impl Into<String>) -> Self {
        self.hidden.add(text.into());
        self
    }

    /// Returns the number of exchanges in the file. Exchanges in flight are not counted.
    ///
    /// # Errors
    /// - An exchange could not be written. No request was sent after that.
    pub fn finish(&self) -> io::Result<u64> {
        let state = self.state();
        match &state.failure {
            Some(e) => Err(io::Error::new(e.kind(), e.to_string())),
            None => {
                state.file.sync_all()?;
                Ok(state.written)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, recorded: &Recorded) {
        let line = serde_json::to_string(recorded).map_err(io::Error::from);
        match line.and_then(|line| writeln!(self.file, "{line}")) {
            Ok(()) => self.written += 1,
            Err(e) => self.failure = Some(e),
        }
    }
}

/// An exchange that is written when it ends, even if it is cancelled.
struct Writing<'r> {
    recorder: &'r Recorder,
    exchange: Exchange,
    secrets: Secrets,
    cosmos: bool,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let recorded = Recorded::of(&self.exchange, self.cosmos, &self.recorder.hidden);
        self.recorder.state().write(&recorded);
    }
}

impl Transport for Recorder {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let number = {
                let mut state = self.state();
                if let Some(e) = &state.failure {
                    let why = format!("the recording could not be written: {e}");
                    return Err(TransportError::new(Delivery::NothingSent, why));
                }
                state.requests += 1;
                state.requests
            };
            let (exchange, secrets) = Exchange::of(number, &request);
            let host = request.uri().host().unwrap_or_default();
            let mut writing = Writing {
                recorder: self,
                cosmos: [self.profile(), Some(Profile::from_host(host))]
                    .into_iter()
                    .flatten()
                    .any(Profile::is_cosmos),
                exchange,
                secrets,
            };
            let outcome = self.behind.send(request).await;
            writing.exchange.outcome = Outcome::of(&outcome, &writing.secrets);
            outcome
        })
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&*self.behind)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Recorder")
            .field("behind", &self.behind)
            .field("requests", &state.requests)
            .field("written", &state.written)
            .finish_non_exhaustive()
    }
}
