//! The difference between the service's clock and this machine's.
//!
//! It is measured when a rejection shows it, and applies to all calls of the client. The service rejects requests
//! signed with a wrong time as if their key were wrong.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use azure_table_wire::value::clock;

/// The difference from which requests are signed with the service's time. The service tolerates 15 minutes; a clock
/// that is off by 5 may soon be off by more.
const TOLERATED: Duration = Duration::from_secs(5 * 60);

/// The time that requests are signed with.
#[derive(Debug, Default)]
pub(crate) struct ServiceClock {
    /// The correction that is added to this machine's time, in seconds.
    offset: AtomicI64,
}

impl ServiceClock {
    pub(crate) fn now(&self) -> SystemTime {
        shifted(clock::now(), self.offset())
    }

    fn offset(&self) -> i64 {
        self.offset.load(Ordering::Relaxed)
    }

    /// Adopts the service's time. Returns the correction that is added to this machine's time from now on.
    pub(crate) fn correct(&self, service: SystemTime) -> i64 {
        let offset = seconds_between(clock::now(), service);
        self.offset.store(offset, Ordering::Relaxed);
        offset
    }
}

/// Returns `true` if the signing time is so far from the service's that it may have caused the rejection.
pub(crate) fn is_far(signed: SystemTime, service: SystemTime) -> bool {
    seconds_between(signed, service).unsigned_abs() >= TOLERATED.as_secs()
}

/// Returns the number of seconds from `from` to `to`.
pub(crate) fn seconds_between(from: SystemTime, to: SystemTime) -> i64 {
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    match to.duration_since(from) {
        Ok(later) => seconds(later),
        Err(earlier) => -seconds(earlier.duration()),
    }
}

/// Returns the time `seconds` later.
pub(crate) fn shifted(time: SystemTime, seconds: i64) -> SystemTime {
    let by = Duration::from_secs(seconds.unsigned_abs());
    let shifted = if seconds < 0 {
        time.checked_sub(by)
    } else {
        time.checked_add(by)
    };
    shifted.unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_of_two_times_has_a_sign() {
        let now = clock::now();
        let later = now + Duration::from_secs(90);
        assert_eq!((seconds_between(now, later), seconds_between(later, now)), (90, -90));
        assert_eq!(seconds_between(now, now), 0);
    }
}
