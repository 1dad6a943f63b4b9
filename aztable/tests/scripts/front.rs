//! What stands between the program and a service: half pairs in every response, and one fault.

use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{Request, Response};
use azure_table::Emulator;
use azure_table::testing::{Fault, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};

use crate::program::LIMIT;
use crate::rows::HALF;

/// The wait that a throttled response asks for.
const WAIT: Duration = Duration::from_millis(10);

/// What happens to the request with a number, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// It is throttled.
    Throttle,
    /// It is applied, and its response is lost.
    LoseResponse,
    /// It and all later ones are forbidden.
    Forbid,
    /// It and all later ones find no service.
    Vanish,
    /// The program is killed before it or behind it.
    Kill { is_applied: bool },
    /// The program is interrupted.
    Interrupt,
}

#[derive(Debug, Default)]
struct State {
    strike: Option<(Strike, u64)>,
    requests: u64,
    process: Option<u32>,
    has_struck: bool,
}

/// The control of a [`Front`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Control(Arc<Mutex<State>>);

impl Control {
    /// Prepares a fault of the next run.
    pub(crate) fn arm(&self, strike: Option<(Strike, u64)>) {
        *self.0.lock().unwrap() = State {
            strike,
            ..State::default()
        };
    }

    /// Names the process that is killed or interrupted.
    pub(crate) fn watch(&self, process: u32) {
        self.0.lock().unwrap().process = Some(process);
    }

    /// Ends the fault. Returns whether it happened.
    pub(crate) fn disarm(&self) -> bool {
        std::mem::take(&mut *self.0.lock().unwrap()).has_struck
    }

    /// Returns the fault of a request.
    fn next(&self) -> Option<Strike> {
        let mut state = self.0.lock().unwrap();
        state.requests += 1;
        let (strike, at) = state.strike?;
        let lasts = matches!(strike, Strike::Forbid | Strike::Vanish);
        let hits = state.requests == at || lasts && state.requests > at;
        state.has_struck |= hits;
        hits.then_some(strike)
    }

    /// Sends a signal to the process.
    async fn signal(&self, name: &str) {
        let started = Instant::now();
        loop {
            let process = self.0.lock().unwrap().process;
            if let Some(process) = process {
                signal(process, name);
                return;
            }
            assert!(started.elapsed() < LIMIT, "no process");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Sends a signal to a process that may have ended.
pub(crate) fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    kill.args([name, &process.to_string()])
        .stderr(std::process::Stdio::null());
    let _ = kill.status();
}

/// A service with half pairs and a fault.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) emulator: Emulator,
    pub(crate) control: Control,
}

impl Front {
    async fn pass(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let (parts, body) = self.emulator.send(request).await?.into_parts();
        let body = match std::str::from_utf8(&body) {
            Ok(text) if text.contains(HALF) => text.replace(HALF, "\\ud83d").into(),
            _ => body,
        };
        Ok(Response::from_parts(parts, body))
    }
}

fn broken(delivery: Delivery) -> TransportError {
    TransportError::new(
        delivery,
        io::Error::new(io::ErrorKind::ConnectionReset, "a fault of the script"),
    )
}

impl Transport for Front {
    fn behind(&self) -> Option<&dyn Transport> {
        Some(&self.emulator)
    }

    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let template = match self.control.next() {
                None => return self.pass(request).await,
                Some(Strike::Interrupt) => {
                    self.control.signal("-INT").await;
                    return self.pass(request).await;
                }
                Some(Strike::LoseResponse) => {
                    self.pass(request).await?;
                    return Err(broken(Delivery::MaybeSent));
                }
                Some(Strike::Kill { is_applied }) => {
                    if is_applied {
                        self.pass(request).await?;
                    }
                    self.control.signal("-KILL").await;
                    return Err(broken(Delivery::MaybeSent));
                }
                Some(Strike::Vanish) => return Err(broken(Delivery::NothingSent)),
                Some(Strike::Throttle) => ResponseTemplate::server_busy(WAIT),
                Some(Strike::Forbid) => ResponseTemplate::new(403).code("AuthorizationPermissionMismatch"),
            };
            respond(&self.emulator, template, request).await
        })
    }
}

/// Returns the response of a template.
async fn respond(
    emulator: &Emulator,
    template: ResponseTemplate,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, TransportError> {
    let faults = Faults::new(emulator.clone());
    faults.add(Fault::Respond(template));
    faults.send(request).await
}
