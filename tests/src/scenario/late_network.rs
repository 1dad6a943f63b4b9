//! A network on which a write whose connection breaks may be applied later, and other requests are rejected meanwhile.
//!
//! Each request has a fate drawn from a seed. [`settled`](LateNetwork::settled) is the same service once every late write
//! has arrived, so a test judges a call by what is finally stored.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use fastrand::Rng;
use http::{Method, Request, Response};
use tokio::sync::watch;

use crate::intercept::Intercept;
use crate::promises::Following;
use crate::scenario::{is_applied, rejection};

/// The network in front of a service. Clones share it.
#[derive(Clone)]
pub struct LateNetwork(Arc<Shared>);

struct Shared {
    service: Following,
    random: Mutex<Rng>,
    /// The share of writes that meet a fault.
    rate: f64,
    /// The number of writes that may still arrive.
    late: watch::Sender<usize>,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    fates: Vec<String>,
    /// The URL and the body of each write that the service applied.
    applied: Vec<String>,
}

/// The course of a write.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Served,
    NotSent,
    Lost,
    ResponseLost,
    /// Its connection breaks, and it is applied after these milliseconds.
    Late(u64),
    Rejected(u16, &'static str),
}

const REJECTIONS: [Fate; 5] = [
    Fate::Rejected(503, "ServerBusy"),
    Fate::Rejected(503, "ServerBusy"),
    Fate::Rejected(429, "TooManyRequests"),
    Fate::Rejected(400, "InvalidInput"),
    Fate::Rejected(403, "AuthorizationFailure"),
];
const LATE: [u64; 5] = [100, 1_000, 2_000, 20_000, 100_000];

impl LateNetwork {
    /// Creates the network of a seed.
    pub fn new(service: Following, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let rate = 0.3 + 0.5 * random.f64();
        Self(Arc::new(Shared {
            service,
            random: Mutex::new(random),
            rate,
            late: watch::Sender::new(0),
            log: Mutex::default(),
        }))
    }

    /// Returns the service, which answers once every late write has arrived. Leaves its clock as it is.
    pub fn settled(&self) -> Intercept {
        let network = self.clone();
        Intercept::new(network.0.service.emulator().clone(), move |emulator, request| {
            let mut late = network.0.late.subscribe();
            async move {
                let _ = late.wait_for(|late| *late == 0).await;
                emulator.send(request).await
            }
        })
    }

    /// Returns the number of applied writes whose URL or body contains a text.
    pub fn applied(&self, text: &str) -> usize {
        let log = self.0.log.lock().unwrap();
        log.applied.iter().filter(|write| write.contains(text)).count()
    }

    fn draw(&self) -> Fate {
        let mut random = self.0.random.lock().unwrap();
        if random.f64() >= self.0.rate {
            return Fate::Served;
        }
        match random.u8(0..10) {
            0 => Fate::NotSent,
            1 => Fate::Lost,
            2 => Fate::ResponseLost,
            3..6 => Fate::Late(*random.choice(LATE.iter()).unwrap()),
            _ => *random.choice(REJECTIONS.iter()).unwrap(),
        }
    }

    async fn apply(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let text = format!("{} {}\n{body}", request.method(), request.uri());
        let response = self.0.service.send(request).await?;
        if is_applied(&response) {
            self.0.log.lock().unwrap().applied.push(text);
        }
        Ok(response)
    }
}

impl Transport for LateNetwork {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        if request.method() == Method::GET {
            return self.0.service.send(request);
        }
        let fate = self.draw();
        let line = format!("{} {}: {fate:?}", request.method(), request.uri().path());
        self.0.log.lock().unwrap().fates.push(line);
        Box::pin(async move {
            let reset = || TransportError::new(Delivery::MaybeSent, "connection reset");
            match fate {
                Fate::Served => self.apply(request).await,
                Fate::NotSent => Err(TransportError::new(Delivery::NothingSent, "connection refused")),
                Fate::Lost => Err(reset()),
                Fate::ResponseLost => {
                    self.apply(request).await?;
                    Err(reset())
                }
                Fate::Late(millis) => {
                    let network = self.clone();
                    network.0.late.send_modify(|late| *late += 1);
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(millis)).await;
                        let _ = network.apply(request).await;
                        network.0.late.send_modify(|late| *late -= 1);
                    });
                    Err(reset())
                }
                Fate::Rejected(status, code) => Ok(rejection(status, code)),
            }
        })
    }

    fn behind(&self) -> Option<&dyn Transport> {
        self.0.service.behind()
    }
}

impl fmt::Debug for LateNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.log.lock().unwrap().fates.fmt(f)
    }
}
