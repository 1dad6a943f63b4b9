//! Runs one history on the real client, and compares what its caller was told with the rows at the end of time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use azure_table::auth::{AuthorizationContext, AuthorizationFailure};
use azure_table::transport::BoxFuture;
use azure_table::{Credential, Result, TableServiceClient};
use bytes::Bytes;
use http::Request;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use super::choices::Choices;
use super::fates::{Bounds, Clock};
use super::view::View;
use super::world::{Phase, Shared, World};
use super::writes::{Answer, Write, resolve};

/// The time after the call when no request is in flight any more.
const LATER: Duration = Duration::from_secs(200);

/// The broken promises of a history.
pub(super) const CLAIMS: [&str; 3] = [
    "C1: not applied, of a write that is applied",
    "C2: two effects of one call",
    "C3: applied, of a write that is not",
];

/// The end of one history.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) choices: Choices,
    pub(super) answer: Answer,
    pub(super) is_applied: bool,
    /// The positions of the broken claims in [`CLAIMS`], with what was told.
    pub(super) broken: Vec<(usize, String)>,
    pub(super) view: View,
    pub(super) log: Vec<String>,
}

/// Returns a runtime whose clock advances to the next timer.
pub(super) fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

/// Returns the client of a history.
pub(super) fn client(shared: &Shared, clock: Clock) -> TableServiceClient {
    let endpoint = match clock {
        Clock::Cosmos => "https://contoso.table.cosmos.azure.com",
        _ => "https://contoso.table.core.windows.net",
    };
    let service = TableServiceClient::new(endpoint, Renewable::default()).unwrap();
    service.transport(shared.clone()).retry(shared.clone())
}

/// Runs one history.
pub(super) async fn run((write, clock): (Write, Clock), bounds: Bounds, choices: Choices, is_logged: bool) -> Ended {
    let shared = Shared::new(World::new((write, clock), bounds, choices, is_logged));
    let service = client(&shared, clock);
    let etags = shared.lock().begin();
    let ended = write.run(&service, etags).await;
    let ended_at = Instant::now();
    let answer = Answer::of_call(&ended);
    let mut told = vec![("the call".to_owned(), answer.clone(), shared.lock().looks_own())];
    shared.lock().say(&format_args!("told: {answer:?}"));
    let view = std::mem::take(&mut shared.lock().view);
    shared.lock().phase = Phase::Resolution;
    if let Some(error) = ended.as_ref().err().filter(|_| matches!(answer, Answer::InDoubt(_))) {
        // A complete enumeration resolves twice in place of four times, which would take half of its time.
        let all = [(false, false), (false, true), (true, false), (true, true)];
        let chosen = if bounds.has_all_fates { &all[..] } else { &all[..0] };
        for (is_later, is_elsewhere) in chosen {
            if *is_later {
                tokio::time::sleep_until(ended_at + LATER).await;
            }
            shared.lock().seen = [None, None];
            let Some(answer) = resolve(&service, error, *is_elsewhere).await else {
                continue;
            };
            let at = if *is_later { "later" } else { "at once" };
            let place = format!("resolved {at}{}", if *is_elsewhere { " elsewhere" } else { "" });
            let mut world = shared.lock();
            world.say(&format_args!("{place}: {answer:?}"));
            told.push((place, answer, world.looks_own()));
        }
    }
    let mut world = shared.lock();
    world.arrivals(|_, _| true);
    let stored = world.stored();
    let effects = world.effects;
    world.say(&format_args!("stored: {stored}; the write was applied {effects} times"));
    let mut broken = Vec::new();
    for (place, answer, looks_own) in &told {
        match answer {
            Answer::NotApplied(_) if effects > 0 => broken.push((0, place.clone())),
            Answer::Applied if effects == 0 && !looks_own => broken.push((2, place.clone())),
            _ => {}
        }
    }
    if world.is_repeated {
        broken.push((1, "the call".to_owned()));
    }
    Ended {
        answer,
        is_applied: effects > 0 || told[0].2,
        broken,
        view,
        choices: std::mem::take(&mut world.choices),
        log: world.log.take().unwrap_or_default(),
    }
}

/// A credential that is renewed whenever the service rejects it.
#[derive(Debug, Default)]
struct Renewable(AtomicU64);

impl Credential for Renewable {
    fn authorize<'a>(
        &'a self,
        _: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn generation(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
        if failure.code().is_some() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        None
    }
}
