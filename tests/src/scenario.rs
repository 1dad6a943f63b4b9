//! The faults under which operations, patterns and systems are tested, and the transports around the emulator.

pub mod late_network;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{Delivery, Transport, TransportError};
use azure_table::{DateTime, Emulator};
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use tokio::time::Instant;

use crate::intercept::Intercept;

/// The time after which every late write has arrived.
pub const ALL_ARRIVED: Duration = Duration::from_secs(150);
/// The lag of the secondary: two to three cases.
pub const LAG: Duration = Duration::from_secs(80);
/// The offset of a wrong clock.
const SKEW: Duration = Duration::from_secs(3_600);

/// Returns an eighth of this number, and all with `AZURE_TABLE_ALL_CASES`, which CI sets.
pub fn of_all(all: u32) -> u32 {
    match std::env::var_os("AZURE_TABLE_ALL_CASES") {
        Some(_) => all,
        None => all.div_ceil(8),
    }
}

/// One or more faults.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name in reports.
    pub name: &'static str,
    /// The faults; each is rare if there are several.
    pub faults: Vec<Fault>,
}

/// The frequency of the faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// The first request only.
    Once,
    /// Every request.
    Always,
    /// Some requests, by a seed.
    Random,
}

/// All of them.
pub const MODES: [Mode; 3] = [Mode::Once, Mode::Always, Mode::Random];

impl Scenario {
    /// Returns every scenario. `applied` counts the writes that a service with a wrong clock applied.
    pub fn all(emulator: &Emulator, applied: &Arc<AtomicU64>) -> Vec<Self> {
        let seconds = Duration::from_secs;
        // The secondary does not catch up because of a wrong clock.
        let skewed = |clock: EmulatorClock| {
            let service = emulator.clone().shared_clock(clock).secondary_lag(SKEW + LAG);
            Fault::RouteTo(Arc::new(ledger(&service, applied)))
        };
        let late = |after| Fault::RouteTo(Arc::new(late(emulator, applied, seconds(after))));
        let ahead = EmulatorClock::system();
        ahead.advance(SKEW);
        let behind = EmulatorClock::fixed(DateTime::now() - SKEW);
        let internal = ResponseTemplate::internal_error;
        let throttled = ResponseTemplate::too_many_requests;
        let single = [
            ("no connection", Fault::NoConnection),
            ("request lost", Fault::LoseRequest),
            ("reset", Fault::Reset),
            ("answer lost", Fault::LoseResponse),
            ("answer cut at once", Fault::CutResponse { at: 0 }),
            ("answer cut", Fault::CutResponse { at: 40 }),
            ("request late", Fault::DelayRequest(seconds(6))),
            ("request too late", Fault::DelayRequest(seconds(90))),
            ("answer late", Fault::DelayResponse(seconds(6))),
            ("answer too late", Fault::DelayResponse(seconds(90))),
            ("drip", drip(16, 50)),
            ("drip too slow", drip(1, 1_000)),
            ("request hangs", Fault::HangRequest),
            ("answer hangs", Fault::HangResponse),
            ("busy", ResponseTemplate::server_busy(seconds(2)).into()),
            ("busy for a day", ResponseTemplate::server_busy(seconds(86_400)).into()),
            ("throttled", throttled().into()),
            ("500", internal().into()),
            ("500 after applying", Fault::RespondAfterApplying(internal())),
            (
                "503 after applying",
                Fault::RespondAfterApplying(ResponseTemplate::new(503)),
            ),
            ("date ahead", Fault::DateAhead(SKEW)),
            ("date behind", Fault::DateBehind(SKEW)),
            ("clock ahead", skewed(ahead)),
            ("clock behind", skewed(behind)),
            ("batch throttled", Fault::FailBatchPart(throttled())),
            ("batch 500", Fault::FailBatchPart(internal())),
            ("applied 2 s late", late(2)),
            ("applied 20 s late", late(20)),
            ("applied 100 s late", late(100)),
        ];
        let every = single.iter().map(|(_, fault)| fault.clone()).collect();
        let single = single.into_iter().map(|(name, fault)| Self {
            name,
            faults: vec![fault],
        });
        let mixed = Self {
            name: "mixed",
            faults: every,
        };
        single.chain([mixed]).collect()
    }

    /// Returns `true` if the fault can happen to a request of one operation, not only to one part of a batch.
    pub fn concerns_single_requests(&self) -> bool {
        !matches!(self.faults[..], [Fault::FailBatchPart(_)])
    }

    /// Returns `true` if a write may be applied after its call.
    pub fn applies_late(&self) -> bool {
        self.name.starts_with("applied") || self.name == "mixed"
    }

    /// Puts the faults in front of a service.
    pub fn over(&self, service: impl Transport + 'static, mode: Mode, seed: u64) -> Faults {
        let faults = Faults::with_seed(service, seed);
        // Each of several faults is rare, so that some requests succeed.
        let chance = if self.faults.len() == 1 { 0.5 } else { 0.04 };
        for fault in &self.faults {
            let rule = FaultRule::new(fault.clone());
            faults.add(match mode {
                Mode::Once => rule.first(1),
                Mode::Always => rule,
                Mode::Random => rule.probability(chance),
            });
        }
        faults
    }
}

fn drip(bytes: usize, millis: u64) -> Fault {
    Fault::Drip {
        bytes,
        pause: Duration::from_millis(millis),
    }
}

/// Breaks the connection of a write, applies it later, and rejects all writes until then.
fn late(emulator: &Emulator, applied: &Arc<AtomicU64>, after: Duration) -> Intercept {
    let busy_until = Mutex::new(None::<Instant>);
    Intercept::new(ledger(emulator, applied), move |service, request| {
        let (now, is_read) = (Instant::now(), request.method() == Method::GET);
        let mut until = busy_until.lock().unwrap();
        let is_busy = until.is_some_and(|until| now < until);
        if !is_read && !is_busy {
            *until = Some(now + after);
        }
        async move {
            if is_read {
                return service.send(request).await;
            } else if is_busy {
                return Ok(rejection(503, "ServerBusy"));
            }
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                let _ = service.send(request).await;
            });
            Err(TransportError::new(Delivery::MaybeSent, "connection reset"))
        }
    })
}

/// Returns a response that rejects a request.
pub fn rejection(status: u16, code: &str) -> Response<Bytes> {
    let body = format!(r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"rejected"}}}}}}"#);
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Returns the last transport in front of the service. It adds the writes that were applied to `applied`.
pub fn ledger(service: &(impl Transport + Clone), applied: &Arc<AtomicU64>) -> Intercept {
    let applied = Arc::clone(applied);
    Intercept::new(service.clone(), move |service, request| {
        let reads_in_batch = request.body().windows(11).any(|text| text == b"\r\n\r\nGET htt");
        let query = request.uri().query().unwrap_or_default();
        let is_key = query.contains("userdelegationkey");
        let is_write = request.method() != Method::GET && !reads_in_batch && !is_key;
        let applied = Arc::clone(&applied);
        async move {
            let response = service.send(request).await?;
            if is_write && is_applied(&response) {
                applied.fetch_add(1, Ordering::Relaxed);
            }
            Ok(response)
        }
    })
}

/// Returns `true` if a write and each of its parts succeeded.
fn is_applied(response: &Response<Bytes>) -> bool {
    let body = String::from_utf8_lossy(response.body());
    response.status().is_success() && !body.contains("HTTP/1.1 4") && !body.contains("HTTP/1.1 5")
}

/// Returns a broken retry: it sends every failed write again, without reading it back.
pub fn blind_resend(faults: Faults) -> Intercept {
    Intercept::new(faults, |faults, request| async move {
        let is_write = request.method() != Method::GET;
        let first = faults.send(request.clone()).await;
        match &first {
            Ok(response) if !response.status().is_server_error() => first,
            _ if is_write => faults.send(request).await,
            _ => first,
        }
    })
}
