//! One attempt of a read that may be sent twice.
//!
//! This file decides when the second request is sent and which of the two ends the attempt, and cancels the other.
//! `hedge.rs` decides the delay and the number of extra requests, and `attempt.rs` sends one request.
//!
//! An HTTP/1.1 connection has one request in flight, so the second request always uses another connection. Dropping the
//! future of a request cancels it, and closes its connection.

use std::pin::pin;
use std::time::SystemTime;

use azure_table_wire::error::{Error, ErrorKind};
use azure_table_wire::transport::{BoxFuture, Delivery};
use azure_table_wire::value::clock::{self, Instant};
use azure_table_wire::value::location::Location;
use futures_util::future::{Either, select};

use crate::pipeline::Pipeline;
use crate::pipeline::attempt::{Limits, Ready};
use crate::pipeline::attempt_end::AttemptEnd;
use crate::pipeline::hedge::Hedge;
use crate::pipeline::location::LocationMode;
use crate::pipeline::notifications::Notifications;
use crate::pipeline::observer::trace::TraceSpan;
use crate::pipeline::retry::Failure;
use crate::write::call::Call;

/// An attempt that may be sent twice.
pub(super) struct HedgedAttempt<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) call: &'a Call,
    pub(super) limits: &'a Limits<'a>,
    pub(super) hedge: &'a Hedge,
    pub(super) mode: LocationMode,
}

/// A request that was sent.
struct Sent {
    span: TraceSpan,
    location: Location,
    is_hedge: bool,
    started: SystemTime,
    instant: Instant,
}

impl<'a> HedgedAttempt<'a> {
    /// Sends the first request, and a second one if its response is late. Reports both.
    ///
    /// Boxed, and separate from the code of other attempts, because few calls are hedged.
    #[cold]
    pub(super) fn run(
        self,
        span: TraceSpan,
        ready: Ready<'a>,
        location: Location,
        notifications: &'a mut Notifications<'_>,
    ) -> BoxFuture<'a, AttemptEnd> {
        Box::pin(self.race(span, ready, location, notifications))
    }

    async fn race(
        self,
        span: TraceSpan,
        ready: Ready<'_>,
        location: Location,
        notifications: &mut Notifications<'_>,
    ) -> AttemptEnd {
        let Self { pipeline, call, .. } = self;
        let first = Sent::now(span, location, false);
        let delay = pipeline.hedging.delay(self.hedge, call);
        let mut running = pin!(first.span.around(pipeline.exchange(call, ready)));
        let in_time = match delay {
            Some(delay) => clock::within(delay, running.as_mut()).await,
            None => Some(running.as_mut().await),
        };
        if let Some(ended) = in_time {
            return self.alone(first, ended, notifications);
        }
        let Some(extra) = pipeline.hedging.take(self.hedge) else {
            let ended = running.await;
            return self.alone(first, ended, notifications);
        };
        // The other location if the mode has both, else the same one.
        let other = self.mode.after(location);
        let span = notifications.hedging();
        let ready = pin!(span.around(pipeline.ready(call, other, self.limits)));
        let ready = match select(running.as_mut(), ready).await {
            Either::Left((ended, _)) => return self.alone(first, ended, notifications),
            Either::Right((Ok(ready), _)) => ready,
            // No time or no credential is left for it. The first request is still in flight.
            Either::Right((Err(_), _)) => {
                let ended = running.await;
                return self.alone(first, ended, notifications);
            }
        };
        extra.sent();
        notifications.sending(other, true);
        let second = Sent::now(span, other, true);
        let second_running = pin!(second.span.around(self.second(ready)));
        let (ended, rest) = match select(running, second_running).await {
            Either::Left((ended, rest)) => (ended, Either::Right(rest)),
            Either::Right((ended, rest)) => (ended, Either::Left(rest)),
        };
        if self.settles(&ended) {
            return self.settled(first, second, ended, None, notifications);
        }
        let last = rest.await;
        if self.settles(&last) || !last.is_hedge {
            self.settled(first, second, last, Some(ended), notifications)
        } else {
            self.settled(first, second, ended, Some(last), notifications)
        }
    }

    /// Sends the second request.
    async fn second(&self, ready: Ready<'_>) -> AttemptEnd {
        let ended = self.pipeline.exchange(self.call, ready).await;
        AttemptEnd {
            is_hedge: true,
            ..ended
        }
    }

    /// Reports the only request of an attempt.
    fn alone(&self, first: Sent, ended: AttemptEnd, notifications: &mut Notifications<'_>) -> AttemptEnd {
        self.learn(&ended, &ended);
        notifications.received(first.span, &ended);
        ended
    }

    /// Reports both requests of an attempt that ends with `ended`. The other one ended too, or is cancelled.
    fn settled(
        &self,
        first: Sent,
        second: Sent,
        ended: AttemptEnd,
        other: Option<AttemptEnd>,
        notifications: &mut Notifications<'_>,
    ) -> AttemptEnd {
        let (own, sent) = if ended.is_hedge {
            (second, first)
        } else {
            (first, second)
        };
        let other = other.unwrap_or_else(|| sent.cancelled());
        self.learn(if ended.is_hedge { &other } else { &ended }, &ended);
        notifications.record(sent.span, &other);
        notifications.received(own.span, &ended);
        ended
    }

    /// Records the latency of the first request, and earns the share of an answered read.
    fn learn(&self, first: &AttemptEnd, ended: &AttemptEnd) {
        let hedging = &self.pipeline.hedging;
        if first.is_cancelled || self.settles(first) {
            hedging.record(self.hedge, self.call, first.elapsed);
        }
        if self.settles(ended) {
            hedging.earn(self.hedge);
        }
    }

    /// Returns `true` if this request did not fail, and so ends the attempt whatever the other one returns.
    ///
    /// A 404 of a `get` is a result. A 404 of the secondary, which lags behind, is not while the primary may still
    /// respond.
    fn settles(&self, ended: &AttemptEnd) -> bool {
        match ended.failure() {
            None => true,
            Some(Failure::Response(status, _)) if self.call.expected == Some(status) => {
                ended.location == Location::Primary || !self.mode.has(Location::Primary)
            }
            Some(_) => false,
        }
    }
}

impl Sent {
    fn now(span: TraceSpan, location: Location, is_hedge: bool) -> Self {
        Self {
            span,
            location,
            is_hedge,
            started: clock::now(),
            instant: Instant::now(),
        }
    }

    /// Returns the end of the request if the client cancels it now.
    fn cancelled(&self) -> AttemptEnd {
        let why = "cancelled: the other request of the hedged attempt was answered first";
        AttemptEnd {
            started: self.started,
            elapsed: self.instant.elapsed(),
            location: self.location,
            is_hedge: self.is_hedge,
            is_cancelled: true,
            signed_at: self.started,
            generation: 0,
            outcome: Err((Delivery::MaybeSent, Error::new(ErrorKind::Connection, why))),
            rejection: None,
        }
    }
}
