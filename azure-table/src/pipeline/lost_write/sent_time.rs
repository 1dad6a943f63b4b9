//! The time in which a write was sent, by every clock that is known, and the age of a row compared with it.
//!
//! The service stamps each row with its own time, which the client can compare with its attempts in several ways: by
//! the `Date` of a response and the time elapsed since, by this machine's wall clock when it sent the first attempt, and
//! by the wall clock when it read the row. Each may be wrong: a gateway writes `Date` by its own clock, and a machine's
//! clock is wrong until it is set. So a row counts as older, or as written in that time, only if it is by every clock:
//! one wrong clock then costs an answer and never gives a false one.

use std::time::{Duration, SystemTime};

use azure_table_wire::error::in_doubt_write::parts::{LostAttempts, WriteParts};
use azure_table_wire::value::clock::{ClockReading, Instant};
use azure_table_wire::value::datetime::DateTime;

use crate::pipeline::skew::shifted;

/// The time after which no request of a call is in flight any more. The service works on a write for 30 s at most; the
/// rest is for the network, which may deliver a request after its connection was abandoned.
///
/// Source: REST "Setting timeouts for Table service operations".
pub(crate) const MAX_IN_FLIGHT: Duration = Duration::from_secs(180);

/// The largest difference between two clocks that are right: this machine's, and those of the service that write `Date`
/// and Timestamps. It is an assumption; no source states one.
const TOLERANCE: Duration = Duration::from_secs(30);

/// The fraction of a second that a `Date` omits, and the time between reading two clocks.
pub(super) const DRIFT: Duration = Duration::from_secs(2);

/// The time at which rows were read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadTime {
    /// The time before the first request.
    pub(super) sent: Instant,
    /// The time after the last response.
    pub(super) received: ClockReading,
    /// The `Date` of that response.
    pub(super) date: Option<SystemTime>,
}

/// The time in which a write was sent, by every known clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentTime {
    /// Empty if no response showed the service's clock: this machine's alone is no evidence.
    by_clocks: Vec<ByClock>,
    /// `true` if a request of the write may still have reached the service after the rows were read.
    pub(super) is_in_flight: bool,
}

/// The time in which a write was sent, by one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByClock {
    /// The start of the first attempt, or earlier.
    started: DateTime,
    /// The end of the last attempt.
    ended: DateTime,
    /// The possible difference from the clock of the rows, if both are right.
    tolerance: Duration,
}

/// The age of a stored row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It was last written before the write was sent.
    Older,
    /// It was last written while a request of the write may have arrived.
    Within,
    /// The clocks do not show either, or it was last written later.
    Unclear,
    /// No response showed the service's clock.
    Undated,
}

fn before(at: SystemTime, elapsed: Duration) -> SystemTime {
    at.checked_sub(elapsed).unwrap_or(SystemTime::UNIX_EPOCH)
}

impl ByClock {
    /// `None` if a time is impossible.
    fn new(started: SystemTime, ended: SystemTime, tolerance: Duration) -> Option<Self> {
        let (started, ended) = (started.try_into().ok()?, ended.try_into().ok()?);
        Some(Self {
            started,
            ended,
            tolerance,
        })
    }
}

impl SentTime {
    /// Returns the time of attempts that this process sent.
    ///
    /// Only differences of the monotonic clock and of one wall clock are used. The monotonic clock stops while the
    /// machine sleeps, so the longer of the two counts as elapsed.
    pub(crate) fn here(attempts: LostAttempts, read: &ReadTime) -> Self {
        let LostAttempts {
            first_sent, last_ended, ..
        } = attempts;
        let since = |at: ClockReading| read.received.monotonic.saturating_duration_since(at.monotonic);
        let by_wall = read.received.wall.duration_since(first_sent.wall).unwrap_or_default();
        let at_reading = |at: ClockReading| before(read.received.wall, since(at));
        let by_clocks = || {
            let (date, elapsed) = (read.date?, since(first_sent).max(by_wall));
            Some(vec![
                ByClock::new(before(date, elapsed + DRIFT), before(date, since(last_ended)), DRIFT)?,
                ByClock::new(first_sent.wall, last_ended.wall, TOLERANCE)?,
                ByClock::new(at_reading(first_sent), at_reading(last_ended), TOLERANCE)?,
            ])
        };
        Self {
            by_clocks: by_clocks().unwrap_or_default(),
            is_in_flight: read.sent.saturating_duration_since(last_ended.monotonic) < MAX_IN_FLIGHT,
        }
    }

    /// Returns the time of attempts that a user stored, which another process may have sent.
    pub(crate) fn stored(write: &WriteParts, read: &ReadTime) -> Self {
        if let Some(attempts) = write.here {
            return Self::here(attempts, read);
        }
        let by_clocks = || {
            let (started, ended) = (write.started.try_into().ok()?, write.ended.try_into().ok()?);
            let by_service = |at: SystemTime| Some(shifted(at, write.ahead?));
            Some([
                ByClock::new(before(by_service(started)?, DRIFT), by_service(ended)?, DRIFT)?,
                ByClock::new(started, ended, TOLERANCE)?,
            ])
        };
        let by_clocks: Vec<ByClock> = by_clocks().into_iter().flatten().collect();
        // The time at which the read was sent, by the same two clocks.
        let took = read.received.monotonic.saturating_duration_since(read.sent);
        let sent = [read.date, Some(read.received.wall)].map(|now| DateTime::try_from(now?.checked_sub(took)?).ok());
        // Both times of a clock may be those of two machines, or of two servers of the service.
        let is_over = |(clock, sent): (&ByClock, Option<DateTime>)| {
            sent.is_some_and(|sent| sent >= clock.ended + MAX_IN_FLIGHT + 2 * TOLERANCE)
        };
        Self {
            is_in_flight: by_clocks.is_empty() || !by_clocks.iter().zip(sent).all(is_over),
            by_clocks,
        }
    }

    /// Returns the age of a row that was last written at this time.
    pub(super) fn age(&self, written: DateTime) -> Age {
        let is_older = |clock: &ByClock| written + TOLERANCE < clock.started;
        let is_within = |clock: &ByClock| {
            let latest = clock.ended + MAX_IN_FLIGHT + clock.tolerance;
            clock.started <= written + clock.tolerance && written <= latest
        };
        match &*self.by_clocks {
            [] => Age::Undated,
            clocks if clocks.iter().all(is_older) => Age::Older,
            clocks if clocks.iter().all(is_within) => Age::Within,
            _ => Age::Unclear,
        }
    }
}

#[cfg(test)]
impl SentTime {
    /// Returns the time of a write that was sent at this time by every clock.
    pub(super) fn at(started: DateTime, is_in_flight: bool) -> Self {
        let clock = ByClock {
            started,
            ended: started,
            tolerance: Duration::ZERO,
        };
        Self {
            by_clocks: vec![clock],
            is_in_flight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns the age of a row that was written `written` seconds after the first attempt, read a second after it.
    ///
    /// `date` is the seconds by which the `Date` is ahead, `own` those of this machine's clock when the attempt was sent
    /// and when the row was read.
    fn age(written: i64, date: Option<i64>, own: [i64; 2]) -> Age {
        let (start, monotonic) = (SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000), Instant::now());
        let at = |seconds: u64, ahead: i64| ClockReading {
            wall: shifted(start + Duration::from_secs(seconds), ahead),
            monotonic: monotonic + Duration::from_secs(seconds),
        };
        let attempts = LostAttempts {
            first_sent: at(0, own[0]),
            last_ended: at(0, own[0]),
            count: 1,
        };
        let read = ReadTime {
            sent: monotonic + SECOND,
            received: at(1, own[1]),
            date: date.map(|ahead| shifted(start + SECOND, ahead)),
        };
        SentTime::here(attempts, &read).age(shifted(start, written).try_into().unwrap())
    }

    #[test]
    fn row_is_older_only_by_every_clock() {
        use Age::{Older, Unclear, Undated, Within};
        const RIGHT: [i64; 2] = [0, 0];
        #[rustfmt::skip]
        let table = [
            (0,    Some(0),    RIGHT,        Within),
            (-2,   Some(0),    RIGHT,        Within),
            (-5,   Some(0),    RIGHT,        Unclear),
            (-30,  Some(0),    RIGHT,        Unclear),
            (-33,  Some(0),    RIGHT,        Older),
            (170,  Some(0),    RIGHT,        Within),
            (190,  Some(0),    RIGHT,        Unclear),
            // One clock is ahead: by it, the row was there before.
            (0,    Some(120),  RIGHT,        Unclear),
            (0,    Some(0),    [120, 120],   Unclear),
            (0,    Some(0),    [120, 0],     Unclear),
            (0,    Some(0),    [0, 120],     Unclear),
            (-200, Some(120),  RIGHT,        Older),
            // One clock is behind: by it, the row came later.
            (-100, Some(-120), RIGHT,        Unclear),
            (-100, Some(0),    [-120, -120], Unclear),
            (-100, Some(0),    [-120, 0],    Unclear),
            (-200, Some(-120), RIGHT,        Older),
            (0,    Some(0),    [-120, -120], Within),
            // A difference that right clocks may have
            (0,    Some(0),    [25, 25],     Within),
            (0,    Some(0),    [-25, -25],   Within),
            // This machine's clock alone is no evidence.
            (-200, None,       RIGHT,        Undated),
            (0,    None,       RIGHT,        Undated),
        ];
        for (written, date, own, expected) in table {
            assert_eq!(age(written, date, own), expected, "{written} {date:?} {own:?}");
        }
    }
}
