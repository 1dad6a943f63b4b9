//! The time during which a holder has a row, by two clocks.
//!
//! A [`Term`] is stored in the row and begins at the row's Timestamp. For the holder it ends by the holder's clock, for
//! all others by the service's clock. The files that use it define who holds a row, and why.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use azure_table::telemetry::OperationContext;
use azure_table::{DateTime, Versioned};
use tokio::time::{Instant, sleep_until};

/// The time of a holder, and the margin that is added for others and subtracted for the holder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    time: Duration,
    margin: Duration,
}

/// The least margin of a time from 8 s on. The service's clocks may differ by two margins: a Timestamp and the `Date`
/// of a response come from different clocks.
const LEAST_MARGIN: Duration = Duration::from_secs(2);
/// The maximum time, because an [`Instant`] has a limited range. Longer times are reduced to it.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

impl Term {
    /// Creates a term of this time. Its margin is a tenth of it, at least [`LEAST_MARGIN`] or a quarter of a short
    /// time.
    pub(super) fn new(time: Duration) -> Self {
        let time = time.min(LONGEST);
        Self {
            time,
            margin: (time / 10).max(LEAST_MARGIN.min(time / 4)),
        }
    }

    /// Restores the term of a row, from its [milliseconds](Self::milliseconds).
    pub(super) fn stored(milliseconds: i64) -> Self {
        Self::new(Duration::from_millis(milliseconds.unsigned_abs()))
    }

    pub(super) fn with_margin(self, margin: Duration) -> Self {
        Self { margin, ..self }
    }

    pub(super) fn time(self) -> Duration {
        self.time
    }

    pub(super) fn margin(self) -> Duration {
        self.margin
    }

    /// Returns the time in its stored form. Rounded up: others must not see a shorter time than the holder.
    pub(super) fn milliseconds(self) -> i64 {
        let milliseconds = self.time.as_nanos().div_ceil(1_000_000);
        i64::try_from(milliseconds).unwrap_or(i64::MAX)
    }

    /// Returns the end for a holder whose write is sent now. The Timestamp of that write is later.
    pub(super) fn valid_until(self) -> Instant {
        Instant::now() + self.time.saturating_sub(self.margin)
    }

    /// Returns `true` if the row is free for others at `now`, by the service's clock. Without a time, it is not.
    pub(super) fn is_over<E>(self, row: &Versioned<E>, now: Option<DateTime>) -> bool {
        let age = now.and_then(|now| now.duration_since(row.timestamp).ok());
        age.is_some_and(|age| age >= self.time.saturating_add(self.margin))
    }
}

/// Runs `work` until `end`. Returns `None` at the end, even if `work` is ready by then.
///
/// A process that was suspended polls late: it looks at the time before it polls the work.
pub(super) async fn until<T>(end: Instant, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut timer = pin!(sleep_until(end));
    let poll = poll_fn(|cx| match Instant::now() >= end || timer.as_mut().poll(cx).is_ready() {
        true => Poll::Ready(None),
        false => work.as_mut().poll(cx).map(Some),
    });
    poll.await
}

/// Returns the service's time from the last response.
pub(super) fn service_time(context: &OperationContext) -> Option<DateTime> {
    let attempts = context.attempts();
    let time = attempts.last()?.service_time()?;
    DateTime::try_from(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(timestamp: DateTime) -> Versioned<()> {
        Versioned {
            entity: (),
            etag: azure_table::ETag::new("e"),
            timestamp,
        }
    }

    /// Returns the term as others read it from the row.
    fn for_others(term: Term) -> Term {
        Term::stored(term.milliseconds()).with_margin(term.margin())
    }

    #[test]
    fn row_is_never_free_before_the_holder_stops() {
        let started = DateTime::from_unix_seconds(1_800_000_000);
        for time in [1, 999_999, 1_000_001, 30_000_000_000].map(Duration::from_nanos) {
            let (term, others) = (Term::new(time), for_others(Term::new(time)));
            assert!(
                !others.is_over(&row(started), Some(started + time)),
                "{term:?}: {others:?}"
            );
            assert!(others.is_over(&row(started), Some(started + time * 2 + Duration::from_millis(2))));
        }
    }

    #[test]
    fn row_is_not_free_while_the_time_is_unknown() {
        let started = DateTime::from_unix_seconds(1_800_000_000);
        let term = Term::new(Duration::from_secs(30));
        assert!(!term.is_over(&row(started), None));
        assert!(!term.is_over(&row(started + Duration::from_secs(60)), Some(started)));
    }

    #[test]
    fn margin_is_a_tenth_and_at_least_two_seconds_or_a_quarter() {
        for (time, margin) in [
            (60_000, 6_000),
            (20_000, 2_000),
            (10_000, 2_000),
            (8_000, 2_000),
            (4_000, 1_000),
        ] {
            let [time, margin] = [time, margin].map(Duration::from_millis);
            assert_eq!(Term::new(time).margin(), margin, "{time:?}");
        }
    }

    #[test]
    fn every_term_ends() {
        let term = Term::new(Duration::MAX);
        assert!(term.valid_until() > Instant::now());
        assert_eq!(for_others(term).milliseconds(), term.milliseconds());
    }
}
