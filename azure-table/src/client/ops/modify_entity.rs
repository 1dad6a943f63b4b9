//! Reads an entity, changes it and writes it under its ETag; repeats all of it after a conflicting write.
//!
//! The future is a handwritten state machine, because the type of an `async` block has no name. The builder could hold
//! such a block only as a `Box<dyn Future>`. With `+ Send` the box accepts no closure or entity that stays on its
//! thread. Without `+ Send` the builder cannot be spawned. Either way the closure cannot borrow.

use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::etag::ETag;

use crate::client::ops::call::Call;
use crate::client::ops::get_entity::GetEntity;
use crate::client::ops::start::already_completed;
use crate::client::ops::write_spec;
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::{AsEntity, ReadEntity, TableEntity};
use crate::entity::versioned::Versioned;
use crate::key::entity_key::{Key, key_texts};
use crate::pipeline::options::{CallOptions, call_options};
use crate::write::operation::TableOperation;

/// The default limit of conflicting writes. The waits between them grow to a second, so only many concurrent writers of
/// one entity reach it.
const MAX_CONFLICTS: u32 = 50;
/// The upper bound of the first wait, which is random. The bound doubles with each further wait, up to the maximum.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const MAX_WAIT: Duration = Duration::from_secs(1);
/// The tolerated delay of a timer. A read after a wait that ends with the call's timeout would have no time left.
const TICK: Duration = Duration::from_millis(1);

/// The decision of the closure that you pass to [`TableClient::modify`] or [`TableClient::update_where`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Writes the entity.
    Save,
    /// Keeps the stored entity. Nothing is written.
    Keep,
}

/// The return value of the closure that you pass to [`TableClient::modify`] or [`TableClient::update_where`].
///
/// A closure that returns nothing saves the entity. It may also return a [`Change`], or a `Result` of either. An `Err`
/// ends the call without a write. The error type must implement `From` for the client's [`Error`], because the call may
/// fail with that too.
#[diagnostic::on_unimplemented(
    message = "a closure of `modify` or `update_where` cannot return `{Self}`",
    label = "returns `{Self}`",
    note = "return nothing (the entity is saved), a `Change`, or a `Result` of either whose error type implements `From<azure_table::Error>`"
)]
pub trait ModifyOutcome {
    /// The error of the call.
    type Error: From<Error>;

    /// Returns the change.
    ///
    /// # Errors
    /// The error of the closure.
    fn into_change(self) -> Result<Change, Self::Error>;
}

impl ModifyOutcome for () {
    type Error = Error;

    fn into_change(self) -> Result<Change> {
        Ok(Change::Save)
    }
}

impl ModifyOutcome for Change {
    type Error = Error;

    fn into_change(self) -> Result<Change> {
        Ok(self)
    }
}

impl<T: ModifyOutcome<Error = Error>, A: From<Error>> ModifyOutcome for Result<T, A> {
    type Error = A;

    fn into_change(self) -> Result<Change, A> {
        Ok(self?.into_change()?)
    }
}

/// Reads an entity, changes it and writes it back. See [`TableClient::modify`].
#[must_use = "nothing is sent until it is awaited"]
pub struct ModifyEntity<E, F, R, N = fn() -> E> {
    table: TableClient<E>,
    key: Result<Key<E>>,
    change: F,
    /// Builds the missing entity.
    missing: Option<N>,
    max_conflicts: u32,
    conflicts: u32,
    /// The timeout begins with the first read, and covers all reads, writes and waits.
    options: CallOptions,
    state: State<E>,
    outcome: PhantomData<fn() -> R>,
}

enum State<E> {
    Idle,
    Waiting(BoxFuture<'static, ()>),
    Reading(GetEntity<E, Versioned<E>>),
    Writing {
        entity: Box<Versioned<E>>,
        write: Call<ETag>,
        /// `true` if no entity was read.
        inserts: bool,
    },
    Done,
}

call_options!(ModifyEntity[E, F, R, N], options);

impl<E, F, R> ModifyEntity<E, F, R> {
    pub(crate) fn new(table: &TableClient<E>, key: Result<Key<E>>, change: F) -> Self {
        Self {
            table: table.clone(),
            key,
            change,
            missing: None,
            max_conflicts: MAX_CONFLICTS,
            conflicts: 0,
            options: table.pipeline().settings.defaults.clone().for_write(),
            state: State::Idle,
            outcome: PhantomData,
        }
    }

    /// Inserts the entity that `missing` builds if none has the key, as it is: the closure of `modify` changes only a
    /// stored entity. A map's `entry(key).and_modify(change).or_insert_with(missing)` does the same.
    ///
    /// So a counter begins with its first count:
    ///
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    ///
    /// #[derive(TableEntity)]
    /// struct Counter {
    ///     #[table(partition_key)]
    ///     page: String,
    ///     #[table(row_key)]
    ///     day: String,
    ///     visits: i64,
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let counters = TableServiceClient::from_transport(Emulator::new()).table::<Counter>("Counters")?;
    /// # counters.create_table().await?;
    /// for visits in 1..=2 {
    ///     let first = || Counter { page: "home".into(), day: "2026-12-01".into(), visits: 1 };
    ///     let visit = counters.modify(("home", "2026-12-01"), |counter| counter.visits += 1).or_insert(first);
    ///     assert_eq!(visit.await?.visits, visits);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `missing` runs each time the entity is absent. The new entity must have the requested key.
    ///
    /// If the response to the insert is lost, only a field marked with `write_id` can show that this call inserted the
    /// entity. Without one the call fails with [`InDoubt`](crate::ErrorKind::InDoubt), because two callers that count
    /// from zero insert the same entity.
    pub fn or_insert<M: FnMut() -> E>(self, missing: M) -> ModifyEntity<E, F, R, M> {
        ModifyEntity {
            table: self.table,
            key: self.key,
            change: self.change,
            missing: Some(missing),
            max_conflicts: self.max_conflicts,
            conflicts: self.conflicts,
            options: self.options,
            state: self.state,
            outcome: self.outcome,
        }
    }
}

impl<E, F, R, N> ModifyEntity<E, F, R, N> {
    /// Sets the number of conflicting writes that the call tolerates; 50 by default. With one more, the call fails with
    /// [`Contention`](crate::ErrorKind::Contention).
    ///
    /// The waits between the attempts are random and grow up to 1 s.
    pub fn max_conflicts(mut self, most: u32) -> Self {
        self.max_conflicts = most;
        self
    }
}

impl<E, F, R, N> ModifyEntity<E, F, R, N>
where
    E: TableEntity + ReadEntity + AsEntity<E>,
    F: FnMut(&mut E) -> R,
    R: ModifyOutcome,
    N: FnMut() -> E,
{
    fn read(&mut self) -> Result<State<E>> {
        self.options = mem::take(&mut self.options).begun();
        let key = match &self.key {
            Ok(key) => key.clone(),
            Err(e) => return Err(self.named(Error::invalid_input(e.to_string()))),
        };
        let get = GetEntity::new(self.table.pipeline(), self.table.name(), Ok(key));
        Ok(State::Reading(get.versioned().with(&self.options)))
    }

    /// Starts the step after the read: a write. Returns the stored entity if nothing is written.
    fn changed(&mut self, read: Option<Versioned<E>>) -> Result<Option<Versioned<E>>, R::Error> {
        let inserts = read.is_none();
        let (entity, write) = match read {
            Some(mut entity) => {
                if self.apply(&mut entity)? == Change::Keep {
                    return Ok(Some(entity));
                }
                let write = TableOperation::replace(&entity);
                (entity, write)
            }
            None => {
                let entity = self.missing_entity()?;
                // Another caller may insert the same content: only the write id distinguishes the two.
                let write = TableOperation::insert(&entity.entity).known_by_write_id();
                (entity, write)
            }
        };
        let write = Call::<ETag>::write(self.table.pipeline(), self.table.name(), write, write_spec::etag);
        self.state = State::Writing {
            entity: Box::new(entity),
            write: write.with(&self.options),
            inserts,
        };
        Ok(None)
    }

    /// Builds the entity to insert, which must have the requested key.
    fn missing_entity(&mut self) -> Result<Versioned<E>> {
        let Some(missing) = self.missing.as_mut() else {
            return Err(self.absent("no entity has this key; `.or_insert(..)` would insert one"));
        };
        let entity = Versioned::of(missing(), (ETag::new(""), DateTime::MIN));
        let Ok(key) = &self.key else { return Ok(entity) };
        let texts = key_texts(&entity)?;
        let (partition_key, row_key) = texts.pair();
        if (key.partition_key(), key.row_key()) == (partition_key, row_key) {
            return Ok(entity);
        }
        Err(self.named(Error::invalid_input(format!(
            "`.or_insert(..)` returned an entity with the key ({}, {}), the requested key is ({}, {})",
            Shown(partition_key),
            Shown(row_key),
            Shown(key.partition_key()),
            Shown(key.row_key()),
        ))))
    }

    /// Adds the operation and the table to an error.
    fn named(&self, error: Error) -> Error {
        error.in_operation(OperationKind::Modify, Some(self.table.name().as_str()))
    }

    /// Returns the error of an absent entity.
    fn absent(&self, why: &'static str) -> Error {
        let error = self.named(Error::new(ErrorKind::NotFound, why));
        match &self.key {
            Ok(key) => error.at_entity(key.partition_key(), key.row_key()),
            Err(_) => error,
        }
    }

    /// Applies the closure to the entity. Rejects a changed key.
    fn apply(&mut self, entity: &mut E) -> Result<Change, R::Error> {
        let old = key_texts(entity)?;
        let change = (self.change)(entity).into_change()?;
        let new = key_texts(entity)?;
        if old == new {
            return Ok(change);
        }
        let why = format!(
            "the closure changed the entity's key from ({}, {}) to ({}, {}): an entity with another key is another entity; \
             insert it and delete the old one",
            Shown(old.partition_key()),
            Shown(old.row_key()),
            Shown(new.partition_key()),
            Shown(new.row_key())
        );
        Err(self.named(Error::invalid_input(why)).into())
    }

    /// Returns the step after a write that failed: a wait if another write came first.
    fn lost(&mut self, error: Error, inserts: bool) -> Result<State<E>> {
        let is_conflict = match error.kind() {
            ErrorKind::AlreadyExists => inserts,
            ErrorKind::ConditionNotMet => !inserts,
            // Deleted since it was read: it is inserted again if `or_insert` is set.
            ErrorKind::NotFound => !inserts && self.missing.is_some(),
            _ => false,
        };
        if !is_conflict {
            return Err(error);
        }
        self.conflicts += 1;
        if self.conflicts > self.max_conflicts {
            let why = format!(
                "{} conflicting writes, more than the limit of {}: raise `max_conflicts`, or reduce concurrent writers",
                self.conflicts, self.max_conflicts
            );
            return Err(error.with_kind(ErrorKind::Contention).with_message(why));
        }
        let most = FIRST_WAIT
            .saturating_mul(1 << (self.conflicts - 1).min(16))
            .min(MAX_WAIT);
        let wait = most.mul_f64(fastrand::f64());
        if self
            .options
            .deadline()
            .is_some_and(|deadline| deadline.left() <= wait + TICK)
        {
            let why = format!("the call timed out after {} conflicting writes", self.conflicts);
            return Err(self.named(Error::new(ErrorKind::Timeout, why).with_source(error)));
        }
        Ok(State::Waiting(Box::pin(clock::pause(wait))))
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Result<Versioned<E>, R::Error>> {
        loop {
            match mem::replace(&mut self.state, State::Done) {
                State::Idle => self.state = self.read()?,
                State::Waiting(mut wait) => match wait.as_mut().poll(cx) {
                    Poll::Ready(()) => self.state = self.read()?,
                    Poll::Pending => {
                        self.state = State::Waiting(wait);
                        return Poll::Pending;
                    }
                },
                State::Reading(mut get) => match Pin::new(&mut get).poll(cx) {
                    Poll::Ready(read) => {
                        if let Some(entity) = self.changed(read?)? {
                            return Poll::Ready(Ok(entity));
                        }
                    }
                    Poll::Pending => {
                        self.state = State::Reading(get);
                        return Poll::Pending;
                    }
                },
                State::Writing {
                    mut entity,
                    mut write,
                    inserts,
                } => match Pin::new(&mut write).poll(cx) {
                    Poll::Ready(Ok(etag)) => {
                        entity.set_etag(&etag);
                        if inserts {
                            // The response to an insert does not contain the timestamp.
                            entity.timestamp = DateTime::now();
                        }
                        return Poll::Ready(Ok(*entity));
                    }
                    Poll::Ready(Err(e)) => self.state = self.lost(e, inserts)?,
                    Poll::Pending => {
                        self.state = State::Writing { entity, write, inserts };
                        return Poll::Pending;
                    }
                },
                State::Done => return Poll::Ready(Err(self.named(already_completed()).into())),
            }
        }
    }
}

/// No field is pinned: the entity is moved out.
impl<E, F, R, N> Unpin for ModifyEntity<E, F, R, N> {}

impl<E, F, R, N> Future for ModifyEntity<E, F, R, N>
where
    E: TableEntity + ReadEntity + AsEntity<E>,
    F: FnMut(&mut E) -> R,
    R: ModifyOutcome,
    N: FnMut() -> E,
{
    type Output = Result<Versioned<E>, R::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().step(cx)
    }
}

impl<E, F, R, N> fmt::Debug for ModifyEntity<E, F, R, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(OperationKind::Modify.name())
            .field("table", &self.table.name().as_str())
            .field("conflicts", &self.conflicts)
            .finish_non_exhaustive()
    }
}
