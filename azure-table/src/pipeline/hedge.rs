//! The hedging of slow reads: a second request for a read whose response is late.
//!
//! Defines [`Hedge`], the setting, and [`Hedging`], the state that all calls of a client share: the extra requests that
//! they have earned, and their latencies. `hedged_attempt.rs` sends the two requests.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::error::{Error, Result};

use crate::pipeline::hedge::latencies::Latencies;
use crate::write::call::Call;

mod latencies;

/// The default share of extra requests.
const SHARE: f64 = 0.05;
/// The maximum number of extra requests that are saved for later: a burst of slow reads sends no more.
const MAX_SAVED: f64 = 10.0;
/// The lowest percentile: below it, most reads would be sent twice.
const MIN_PERCENTILE: u8 = 50;

/// A second request for a read whose response is late, against the slowest servers and connections.
///
/// If a read has no response after a delay, the client sends it again over another connection. The first response that
/// is not an error ends the attempt, and the client cancels the other request. Off by default.
///
/// - **Calls**: each GET. That is `get`, `exists`, `get_many`, the pages of queries and lists, and the reads of the
///   service. Writes are never hedged, and neither are reads in a batch or by `via_batch`.
/// - **Extra requests**: at most a [`share`](Self::share) of the reads that the service answered, 0.05 by default. Up
///   to 10 unused extra requests are saved. A new client has none: with the default share, its first 20 reads are not
///   hedged.
/// - **Location**: the same as the first request. In a [`LocationMode`](crate::LocationMode) with both locations, the
///   other location. A 404 of the secondary is no result while the primary may still respond.
/// - **Limits**: a second request counts toward `max_in_flight` and `max_connections`, and has an `attempt_timeout` of
///   its own.
/// - **Errors**: an error of one request does not end the attempt while the other is in flight. If both fail, the
///   attempt ends with the error of the first, and the retry policy decides.
/// - **Cost**: the service bills both requests. The connection of the cancelled one is closed, so a later request
///   opens a new one.
///
/// All calls of a client, its tables and their clones draw on one share, so it also holds while the whole service is
/// slow. A hedge set on a single call draws on it too.
///
/// Both requests have the number of their attempt. [`Attempt::is_hedge`](crate::telemetry::Attempt::is_hedge) and
/// [`is_cancelled`](crate::telemetry::Attempt::is_cancelled) distinguish them, and
/// [`Cost::hedges`](crate::telemetry::Cost::hedges) counts the second ones.
///
/// ```
/// use azure_table::{CallOptions, Emulator, TableServiceClient};
/// use azure_table::retry::Hedge;
/// use std::time::Duration;
/// let service = TableServiceClient::from_transport(Emulator::new()).hedge(Hedge::after_percentile(95));
/// let table = service.dynamic_table("Blogs")?;
/// let urgent = table.with(&CallOptions::new().hedge(Hedge::after(Duration::from_millis(50))));
/// let never = table.get(("Channel9", "1")).with(&CallOptions::new().hedge(Hedge::off()));
/// println!("{}", urgent.settings().hedge());       // after 50ms, at most 5 % more requests
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// For example, 1 of 100 reads takes 200 ms, and all others take 10 ms. A hedge after 20 ms reduces the 99th percentile
/// from 200 ms to 30 ms, with 1 % more requests.
///
/// Source: Dean and Barroso, "The Tail at Scale" (2013).
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "it has no effect until it is set on a client, a table or a call"]
pub struct Hedge {
    delay: Delay,
    share: f64,
}

/// A [`Hedge`] that compares by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HedgeIdentity(Delay, u64);

/// The time from the first request to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Delay {
    Off,
    Fixed(Duration),
    Percentile(u8),
}

impl Hedge {
    /// Creates a hedge after a fixed delay, counted from the moment when the first request is sent.
    ///
    /// A good delay is the 95th percentile of the latencies that you measure.
    pub fn after(delay: Duration) -> Self {
        Self::of(Delay::Fixed(delay))
    }

    /// Creates a hedge after a percentile of the client's own recent latencies, from 50 to 99.
    ///
    /// With 95 the client sends a second request for about 5 % of its reads. It measures reads by key separately from
    /// all other reads: the last 1,000 to 2,000 attempts with a response, to within 13 %. It hedges no read until it
    /// has measured 100 attempts.
    ///
    /// With another percentile, each call fails with [`InvalidInput`](crate::ErrorKind::InvalidInput) before it is
    /// sent.
    pub fn after_percentile(percentile: u8) -> Self {
        Self::of(Delay::Percentile(percentile))
    }

    /// Creates a hedge that never sends a second request, for a table or a call of a client that hedges.
    pub fn off() -> Self {
        Self::of(Delay::Off)
    }

    fn of(delay: Delay) -> Self {
        Self { delay, share: SHARE }
    }

    /// Sets the maximum share of extra requests, from 0 to 1; 0.05 by default.
    ///
    /// With 0.05, the client sends at most 5 second requests for 100 reads that the service answered. If the hedges of
    /// a client have different shares, the limit holds for their reads together: each adds its share, and any may use
    /// it.
    pub fn share(mut self, share: f64) -> Self {
        self.share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self
    }

    pub(crate) fn is_off(&self) -> bool {
        self.delay == Delay::Off
    }

    /// Returns a value that is equal for equal hedges, as part of a key.
    pub(crate) fn identity(&self) -> HedgeIdentity {
        HedgeIdentity(self.delay, self.share.to_bits())
    }

    /// Checks the percentile.
    pub(crate) fn check(&self) -> Result<()> {
        match self.delay {
            Delay::Percentile(percentile) if !(MIN_PERCENTILE..=99).contains(&percentile) => Err(Error::invalid_input(
                format!("hedge after percentile {percentile}: the limits are {MIN_PERCENTILE} and 99"),
            )),
            _ => Ok(()),
        }
    }
}

/// Writes the delay and the share, such as `after 50ms, at most 5 % more requests`, or `off`.
impl fmt::Display for Hedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delay {
            Delay::Off => return f.write_str("off"),
            Delay::Fixed(delay) => write!(f, "after {delay:?}")?,
            Delay::Percentile(percentile) => write!(f, "after percentile {percentile} of recent latencies")?,
        }
        // Rounded: 0.07 has no exact percentage.
        let percent = (self.share * 10_000.0).round() / 100.0;
        write!(f, ", at most {percent} % more requests")
    }
}

/// The state of the hedged reads of a client.
#[derive(Debug, Default)]
pub(crate) struct Hedging(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The extra requests that may be sent now.
    extra: f64,
    /// The latencies of reads by key.
    point: Latencies,
    /// The latencies of all other reads.
    other: Latencies,
}

impl State {
    fn add(&mut self, extra: f64) {
        self.extra = (self.extra + extra).min(MAX_SAVED);
    }

    fn latencies(&mut self, call: &Call) -> &mut Latencies {
        match &call.entity {
            Some(_) => &mut self.point,
            None => &mut self.other,
        }
    }
}

impl Hedging {
    /// Returns the time from the first request to the second, or `None` if no second one is sent.
    pub(crate) fn delay(&self, hedge: &Hedge, call: &Call) -> Option<Duration> {
        match hedge.delay {
            Delay::Off => None,
            Delay::Fixed(delay) => Some(delay),
            Delay::Percentile(percentile) => self.state().latencies(call).percentile(percentile),
        }
    }

    /// Records the latency of a first request. A cancelled request would have taken longer; it is enough to know that
    /// its latency is above the delay.
    pub(crate) fn record(&self, hedge: &Hedge, call: &Call, latency: Duration) {
        if matches!(hedge.delay, Delay::Percentile(_)) {
            self.state().latencies(call).record(latency);
        }
    }

    /// Adds the share of an extra request that a read earns when the service answers it.
    pub(crate) fn earn(&self, hedge: &Hedge) {
        self.state().add(hedge.share);
    }

    /// Takes an extra request, or returns `None` if none is left.
    pub(crate) fn take(self: &Arc<Self>, hedge: &Hedge) -> Option<Extra> {
        let mut state = self.state();
        if state.extra < 1.0 || hedge.share == 0.0 {
            return None;
        }
        state.extra -= 1.0;
        let (hedging, is_sent) = (Arc::clone(self), false);
        Some(Extra { hedging, is_sent })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to send an extra request. It is returned if the request is never sent.
pub(crate) struct Extra {
    hedging: Arc<Hedging>,
    is_sent: bool,
}

impl Extra {
    pub(crate) fn sent(mut self) {
        self.is_sent = true;
    }
}

impl Drop for Extra {
    fn drop(&mut self) {
        if !self.is_sent {
            self.hedging.state().add(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::error::ErrorKind;

    use super::*;

    #[test]
    fn extra_requests_are_at_most_the_share_of_completed_reads() {
        let hedge = Hedge::after(Duration::ZERO);
        let hedging = Arc::new(Hedging::default());
        let mut sent = 0;
        for responded in 1..=10_000 {
            hedging.earn(&hedge);
            if let Some(extra) = hedging.take(&hedge) {
                extra.sent();
                sent += 1;
            }
            assert!(
                f64::from(sent) <= 0.05 * f64::from(responded) + 1e-6,
                "{sent} of {responded}"
            );
        }
        assert!(sent >= 499, "{sent}");
    }

    #[test]
    fn ten_unused_requests_are_saved_and_one_that_is_never_sent_is_given_back() {
        let hedge = Hedge::after(Duration::ZERO).share(1.0);
        let hedging = Arc::new(Hedging::default());
        let mut taken: Vec<_> = Vec::new();
        for _ in 0..1_000 {
            hedging.earn(&hedge);
            if taken.len() < 10 {
                taken.extend(hedging.take(&hedge));
            }
        }
        drop(taken);
        let mut sent = 0;
        while let Some(extra) = hedging.take(&hedge) {
            extra.sent();
            sent += 1;
        }
        assert_eq!(sent, 10);
    }

    #[test]
    fn percentile_out_of_bounds_is_rejected_with_its_limits() {
        for percentile in [0, 49, 100, 255] {
            let error = Hedge::after_percentile(percentile).check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            let expected = format!("hedge after percentile {percentile}: the limits are 50 and 99");
            assert_eq!(error.to_string(), expected);
        }
        for percentile in [50, 95, 99] {
            Hedge::after_percentile(percentile).check().unwrap();
        }
    }

    #[test]
    fn text_has_delay_and_share() {
        for (hedge, text) in [
            (Hedge::off(), "off"),
            (
                Hedge::after(Duration::from_millis(50)),
                "after 50ms, at most 5 % more requests",
            ),
            (
                Hedge::after_percentile(99).share(0.075),
                "after percentile 99 of recent latencies, at most 7.5 % more requests",
            ),
            (
                Hedge::after(Duration::ZERO).share(f64::NAN),
                "after 0ns, at most 0 % more requests",
            ),
        ] {
            assert_eq!(hedge.to_string(), text);
        }
    }
}
