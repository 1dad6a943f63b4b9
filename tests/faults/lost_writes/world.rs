//! The network, the other clients and the clocks of one history.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azure_table::RetryPolicy;
use azure_table::retry::{Decision, FailedAttempt};
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::{Method, Request, Response};
use tokio::time::Instant;

use super::choices::Choices;
use super::fates::Arrival::{After, AtOnce};
use super::fates::Fate::{Answered, Busy, Fault, Proxy, Refused, Renewed, Reset, Unexplained};
use super::fates::{Bounds, COMPLETE_FATES, Clock, FATES};
use super::service::{self, BASE, Cells, EXISTS, Form, KEYS, NOT_FOUND, NOT_MET, Operation, Row, Store, Verb};
use super::view::{Clocks, Event, View};
use super::writes::{AFTER, BEFORE, Write};

/// The waits between two attempts, in milliseconds.
const WAITS: [u64; 4] = [400, 25_000, 170_000, 200_000];
/// The times since which the rows of the start exist, in microseconds.
const AGES: [i64; 4] = [3_600_000_000, 400_000, 25_000_000, 200_000_000];
/// The time after which a lost request arrives at the latest: shortly before the client assumes that it never will.
const LATEST: Duration = Duration::from_secs(179);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Call,
    Resolution,
}

/// What a read shows of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Own,
    Nothing,
}

/// A lost request that may still arrive.
#[derive(Debug)]
struct Late {
    operations: Vec<Operation>,
    sent: Duration,
    after: u32,
    number: u32,
}

thread_local! {
    static STARTED: Cell<Option<Instant>> = const { Cell::new(None) };
    static OFFSET: Cell<i64> = const { Cell::new(0) };
}

/// Returns the time since the start of the history.
fn now() -> Duration {
    STARTED.get().map_or(Duration::ZERO, |started| started.elapsed())
}

/// Returns the time of this machine's wall clock.
pub(super) fn wall_clock() -> SystemTime {
    let right = UNIX_EPOCH + BASE + now();
    let offset = Duration::from_secs(OFFSET.get().unsigned_abs());
    if OFFSET.get() < 0 {
        right - offset
    } else {
        right + offset
    }
}

/// One history while it runs.
#[derive(Debug)]
pub(super) struct World {
    pub(super) write: Write,
    pub(super) choices: Choices,
    pub(super) clock: Clock,
    bounds: Bounds,
    pub(super) phase: Phase,
    pub(super) store: Store,
    late: Vec<Late>,
    attempts: u32,
    changes: u32,
    /// The rows as the last attempt sends them.
    sent: Vec<Operation>,
    /// The number of requests of the call that the service applied.
    pub(super) effects: u32,
    /// The rows as they were last read.
    pub(super) seen: [Option<Row>; 2],
    /// What the client read since its last attempt.
    read: Option<Shown>,
    /// `true` if the call has two effects for which `retries` has no reason.
    pub(super) is_repeated: bool,
    pub(super) view: View,
    pub(super) log: Option<Vec<String>>,
}

/// The rows, the network and the other clients, shared by the transport and the policy.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<World>>);

impl Shared {
    pub(super) fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }
}

impl World {
    /// Starts a history: its call begins now.
    pub(super) fn new((write, clock): (Write, Clock), bounds: Bounds, choices: Choices, is_logged: bool) -> Self {
        STARTED.set(Some(Instant::now()));
        OFFSET.set(match clock {
            Clock::Own(offset) | Clock::Stepped(offset, _) => offset,
            _ => 0,
        });
        let mut store = Store::default();
        for row in 0..KEYS.len() {
            if write.needs(row) {
                store.put(row, Some(write.cells(BEFORE, 1)), (None, false));
                store.previous[row] = store.rows[row].clone();
            }
        }
        Self {
            write,
            choices,
            clock,
            bounds,
            phase: Phase::Call,
            store,
            late: Vec::new(),
            attempts: 0,
            changes: 0,
            sent: Vec::new(),
            effects: 0,
            seen: [None, None],
            read: None,
            is_repeated: false,
            view: View::default(),
            log: is_logged.then(Vec::new),
        }
    }

    /// Returns the ETags that the caller has read, after other clients may have written since.
    pub(super) fn begin(&mut self) -> [Option<String>; 2] {
        let etags = self.store.rows.each_ref().map(|row| Some(row.as_ref()?.etag.clone()));
        if !self.write.is_modify() {
            self.others(None);
        }
        self.view.begin(wall_clock());
        etags
    }

    fn note(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.log.is_some() {
            let line = format!("{:8.1} s  {}", now().as_secs_f64(), line(self));
            self.log.get_or_insert_default().push(line);
        }
    }

    /// Adds a line to the history.
    pub(super) fn say(&mut self, line: &dyn fmt::Display) {
        self.note(|_| line.to_string());
    }

    /// Another client may write. `at` is the time of its write, or `None` for a time before the call.
    fn others(&mut self, at: Option<i64>) {
        if self.changes >= self.bounds.changes || self.phase != Phase::Call {
            return;
        }
        let row = if self.write.steps.len() > 1 {
            self.choices.choose(2)
        } else {
            0
        };
        let exists = self.store.rows[row].is_some();
        let other = 50 + i64::from(self.changes);
        let options: &[(&str, &[Option<i64>])] = if exists {
            &[
                ("", &[]),
                ("overwrites", &[Some(other)]),
                ("overwrites with the same content", &[Some(AFTER)]),
                ("deletes", &[None]),
                ("deletes and inserts", &[None, Some(other)]),
            ]
        } else {
            &[
                ("", &[]),
                ("inserts", &[Some(other)]),
                ("inserts the same content", &[Some(AFTER)]),
            ]
        };
        let (name, values) = options[self.choices.choose_rare(options.len())];
        for value in values {
            let cells = value.map(|value| self.write.cells(value, 2 + self.changes));
            self.store.put(row, cells, (at, false));
        }
        if !values.is_empty() {
            self.changes += 1;
            self.note(|_| format!("another client {name} {}", KEYS[row]));
        }
    }

    fn others_now(&mut self) {
        self.others(Some(micros()));
    }

    /// Applies the lost requests that have arrived by now.
    pub(super) fn arrivals(&mut self, is_due: impl Fn(Duration, u32) -> bool) {
        let late = std::mem::take(&mut self.late);
        for late in late {
            if is_due(late.sent, late.after) {
                let at = micros().min(i64::try_from((late.sent + LATEST).as_micros()).unwrap());
                let applied = self.store.apply(&late.operations, (at, true));
                if applied.is_ok() {
                    self.effect(&late.operations, false);
                }
                self.note(|_| format!("attempt {} arrives: {}", late.number, name(applied.is_ok())));
            } else {
                self.late.push(late);
            }
        }
    }

    /// Counts an effect of the call. `is_needless` for an attempt that the client should not have sent if an earlier one
    /// was applied: it read nothing before, or what it read showed the earlier one.
    ///
    /// Two effects of a write that requires no ETag are documented in `retries`: "Others may also write between the
    /// read-back and the repetition, and the lost request may arrive last." The client also repeats what the rows did
    /// not show, because another client has changed them, because a wrong clock forbids a conclusion from contents, or
    /// because the read failed.
    fn effect(&mut self, operations: &[Operation], is_needless: bool) {
        self.effects += 1;
        let requires_etag = |operation: &Operation| operation.if_match.as_ref().is_some_and(|etag| etag != "*");
        let is_conditional = operations.iter().any(requires_etag);
        self.is_repeated |= self.effects > 1 && (is_conditional || is_needless);
    }

    fn due_now(&mut self) {
        self.arrivals(|sent, _| now() >= sent + LATEST);
    }

    fn form(&self) -> Form {
        let right = (BASE + now()).as_secs();
        let date = match self.clock {
            Clock::NoDate => None,
            Clock::Date(offset) => Some(right.saturating_add_signed(offset)),
            _ => Some(right),
        };
        Form { date }
    }

    fn exchange(&mut self, request: &Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        self.due_now();
        self.arrivals(|_, after| after == 0);
        let is_read = *request.method() == Method::GET;
        let is_first_read = is_read && self.attempts == 0;
        if !is_first_read || self.write.is_modify() {
            self.others_now();
        }
        for late in &mut self.late {
            late.after = late.after.saturating_sub(1);
        }
        if is_read {
            self.read(request, is_first_read)
        } else {
            self.attempt(request)
        }
    }

    fn attempt(&mut self, request: &Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        self.attempts += 1;
        self.sent = service::operations(request);
        let fates = if self.bounds.has_all_fates {
            FATES.len()
        } else {
            COMPLETE_FATES
        };
        let fate = match self.attempts > self.bounds.attempts {
            true => Answered,
            false => FATES[self.choices.choose(fates)],
        };
        let read = self.read.take();
        let is_batch = request.uri().path().ends_with("$batch");
        let arrives = matches!(fate, Answered | Reset(AtOnce) | Fault(AtOnce));
        let applied = arrives.then(|| self.store.apply(&self.sent, (micros(), true)));
        if applied == Some(Ok(())) {
            self.effect(&self.sent.clone(), read != Some(Shown::Nothing));
        }
        if let Reset(After(after)) | Fault(After(after)) = fate {
            self.late.push(Late {
                operations: self.sent.clone(),
                sent: now(),
                after,
                number: self.attempts,
            });
        }
        let form = self.form();
        let response = match fate {
            Answered => {
                let outcome = applied.unwrap_or(Ok(()));
                Ok(form.written(&self.sent, is_batch, &self.store, outcome))
            }
            Reset(_) => Err(Delivery::MaybeSent),
            Refused => Err(Delivery::NothingSent),
            Fault(_) => Ok(form.error((500, "InternalError"))),
            Busy => Ok(form.error((503, "ServerBusy"))),
            Renewed => Ok(form.error((403, "AuthenticationFailed"))),
            Unexplained(404) => Ok(form.error(NOT_FOUND)),
            Unexplained(_) => Ok(form.error(NOT_MET)),
            Proxy(status) => Ok(form.proxy(status)),
        };
        let detail = applied.map(|applied| applied.map_err(|rejected| rejected.1));
        let number = self.attempts;
        self.note(|_| {
            format!(
                "attempt {number}: {fate:?}{}",
                detail.map_or_else(String::new, |detail| format!(", {detail:?}"))
            )
        });
        let event = match (&response, detail) {
            (Err(Delivery::NothingSent), _) => Event::Refused,
            (Err(_), _) => Event::Lost,
            (Ok(_), Some(Err(code))) if fate == Answered => Event::Rejected(status_of(code), true),
            (Ok(_), _) if fate == Answered => Event::Answered,
            (Ok(response), _) => Event::Rejected(response.status().as_u16(), !matches!(fate, Proxy(_))),
        };
        self.view.attempt(event, now());
        if let (Clock::Stepped(_, offset), 1) = (self.clock, self.attempts) {
            OFFSET.set(offset);
        }
        if self.attempts < self.bounds.attempts && matches!(event, Event::Lost | Event::Rejected(500, _)) {
            self.others_now();
        }
        response.map_err(|reached| TransportError::new(reached, "reset"))
    }

    fn read(&mut self, request: &Request<Bytes>, is_first: bool) -> Result<Response<Bytes>, TransportError> {
        let is_cosmos = self.clock == Clock::Cosmos;
        let options: &[&str] = match (is_first, self.phase, self.clock) {
            (false, Phase::Call, Clock::Right) if self.bounds.has_all_fates => &["fresh", "failed", "404 of a proxy"],
            (false, Phase::Call, Clock::Right) => &["fresh", "failed"],
            (false, _, Clock::Cosmos) => &["fresh", "stale"],
            _ => &["fresh"],
        };
        let (wanted, is_query) = service::rows_read(request);
        let fate = options[self.choices.choose_rare(options.len())];
        self.read = Some(Shown::Nothing);
        let form = self.form();
        if fate == "failed" || fate == "404 of a proxy" {
            self.note(|_| format!("read: {fate}"));
            self.view.failed_read();
            return match fate {
                "failed" => Err(TransportError::new(Delivery::MaybeSent, "reset")),
                _ => Ok(form.proxy(404)),
            };
        }
        for row in 0..KEYS.len() {
            self.decide_age(row);
        }
        let rows = if is_cosmos && fate == "stale" {
            &self.store.previous
        } else {
            &self.store.rows
        };
        let rows: Vec<(usize, Option<Row>)> = wanted.into_iter().map(|row| (row, rows[row].clone())).collect();
        self.note(|_| {
            let shown = rows
                .iter()
                .map(|(row, stored)| format!("{} = {}", KEYS[*row], show(stored.as_ref())));
            format!("read ({fate}): {}", shown.collect::<Vec<_>>().join(", "))
        });
        if !is_first {
            for (row, stored) in &rows {
                self.seen[*row] = stored.clone();
            }
            if self.shows_own() {
                self.read = Some(Shown::Own);
            }
            let clocks = Clocks {
                now: now(),
                own: wall_clock(),
                date: form.date,
            };
            self.view.read(&self.sent, &rows, clocks);
        }
        Ok(form.read(&rows, is_query))
    }

    fn written(&self) -> impl Iterator<Item = &Operation> {
        self.sent.iter().filter(|sent| sent.verb != Verb::Delete)
    }

    /// Returns `true` if the rows that were read look as if the call wrote them.
    pub(super) fn looks_own(&self) -> bool {
        // The service's clocks may differ by 30 s, and a date omits the fraction.
        let looks_own = |row: &Row, cells: &Cells| row.cells == *cells && row.written > Some(-33_000_000);
        let mut written = self.written();
        self.write.shows_by_content()
            && written.all(|sent| {
                self.seen[sent.row]
                    .as_ref()
                    .is_some_and(|row| looks_own(row, &sent.cells))
            })
    }

    /// Returns `true` if the rows that were read show what the call wrote.
    fn shows_own(&self) -> bool {
        let is_own = |sent: &Operation| self.seen[sent.row].as_ref().is_some_and(|row| row.is_own);
        if self.write.has_id {
            return self.written().any(is_own);
        }
        let is_as_sent = |sent: &Operation| match sent.verb {
            Verb::Delete => self.seen[sent.row].is_none(),
            _ => is_own(sent),
        };
        self.clock == Clock::Right && self.write.shows_by_content() && self.sent.iter().all(is_as_sent)
    }

    /// Chooses the time of a row of the start when it is first read.
    fn decide_age(&mut self, row: usize) {
        let undecided = |stored: &Option<Row>| stored.as_ref().is_some_and(|stored| stored.written.is_none());
        if undecided(&self.store.rows[row]) || undecided(&self.store.previous[row]) {
            let age = AGES[self.choices.choose(AGES.len())];
            for (stored, older) in [(&mut self.store.previous[row], 1), (&mut self.store.rows[row], 0)] {
                if let Some(stored) = stored.as_mut().filter(|stored| stored.written.is_none()) {
                    stored.written = Some(-age - older);
                }
            }
        }
    }

    /// Returns the rows at the end of time.
    pub(super) fn stored(&self) -> String {
        let rows = self.store.rows.iter().take(self.write.steps.len());
        rows.map(|row| show(row.as_ref())).collect::<Vec<_>>().join(", ")
    }
}

fn name(is_applied: bool) -> &'static str {
    if is_applied { "applied" } else { "rejected" }
}

fn status_of(code: &str) -> u16 {
    let known = [NOT_FOUND, EXISTS, NOT_MET]
        .into_iter()
        .find(|(_, known)| *known == code);
    known.map_or(0, |(status, _)| status)
}

fn show(row: Option<&Row>) -> String {
    let Some(row) = row else {
        return "missing".into();
    };
    let written = row
        .written
        .map_or_else(|| "before".into(), |at| format!("{:.1} s", at as f64 / 1e6));
    let by = if row.is_own { "this call" } else { "others" };
    format!("{} by {by} at {written}", row.cells["n"])
}

fn micros() -> i64 {
    i64::try_from(now().as_micros()).unwrap()
}

impl Transport for Shared {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let response = self.lock().exchange(&request);
        Box::pin(std::future::ready(response))
    }
}

impl RetryPolicy for Shared {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        let mut world = self.lock();
        if !failed.is_write() || !failed.is_transient() || world.attempts >= world.bounds.attempts {
            return Decision::Stop;
        }
        let wait = Duration::from_millis(WAITS[world.choices.choose(WAITS.len())]);
        Decision::after(wait)
    }
}
