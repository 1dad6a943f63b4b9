//! One operation of the client: its entry in the matrix, one choice of its values, and the client's word on it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use azure_table::service::{Creation, Deletion};
use azure_table::{CallOptions, ETag, Error, ErrorKind, TableClient, TableServiceClient, Versioned};
use futures::future::LocalBoxFuture;

use super::model::{Cell, State, Subject, Write};

/// One operation of the matrix.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The methods that it calls, each as `Type::method`.
    pub(crate) methods: &'static [&'static str],
    /// Whether it sends batches.
    pub(crate) is_batch: bool,
    pub(crate) subject: Subject,
    /// Calls at most, the reads that find out about a lost write included if they look the same.
    pub(crate) calls: u32,
    /// Whether each of its calls has the time of a call; else all have it together.
    pub(crate) times_each: bool,
    /// Whether its requests are of a table, so that the table's options hold.
    pub(crate) has_table: bool,
    /// Whether its own builder takes options.
    pub(crate) has_call: bool,
    /// Whether it ends at the first failure while others are in flight.
    pub(crate) is_concurrent: bool,
    /// Whether the client needs a token of Entra ID.
    pub(crate) by_token: bool,
    /// The time of the whole, if it is told one besides that of its calls.
    pub(crate) within: Option<Duration>,
    /// Whether it waits for a service that throttles.
    pub(crate) is_paced: bool,
    /// Whether it mostly needs a row or a table that is missing.
    pub(crate) inserts: bool,
    pub(crate) choose: fn(&Given<'_>) -> Chosen,
}

impl Entry {
    /// An operation of one call on rows.
    pub(crate) const fn new(
        name: &'static str,
        methods: &'static [&'static str],
        choose: fn(&Given<'_>) -> Chosen,
    ) -> Self {
        Self {
            name,
            methods,
            is_batch: false,
            subject: Subject::Rows,
            calls: 1,
            times_each: false,
            has_table: true,
            has_call: true,
            is_concurrent: false,
            by_token: false,
            within: None,
            is_paced: false,
            inserts: false,
            choose,
        }
    }

    pub(crate) const fn on(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    /// Of the whole service.
    pub(crate) const fn of_service(mut self) -> Self {
        self.has_table = false;
        self
    }

    /// Of up to this many calls in one time.
    pub(crate) const fn calls(mut self, calls: u32) -> Self {
        self.calls = calls;
        self
    }

    /// Of up to this many pages, each with its own time.
    pub(crate) const fn pages(mut self, pages: u32) -> Self {
        (self.calls, self.times_each) = (pages, true);
        self
    }

    pub(crate) const fn batches(mut self) -> Self {
        self.is_batch = true;
        self
    }

    pub(crate) const fn concurrent(mut self) -> Self {
        self.is_concurrent = true;
        self
    }

    pub(crate) const fn by_token(mut self) -> Self {
        self.by_token = true;
        self
    }

    pub(crate) const fn without_options(mut self) -> Self {
        self.has_call = false;
        self
    }

    /// Many writes, at a pace that the service takes.
    pub(crate) const fn bulk(mut self) -> Self {
        (self.is_batch, self.is_paced) = (true, true);
        self
    }

    /// Pages of two rows, and for each a batch that may be cut.
    pub(crate) const fn writes_pages(self) -> Self {
        self.batches().pages(5 * 4)
    }

    /// Within this time, whatever its calls have.
    pub(crate) const fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    pub(crate) const fn paced(mut self) -> Self {
        self.is_paced = true;
        self
    }

    pub(crate) const fn inserts(mut self) -> Self {
        self.inserts = true;
        self
    }
}

/// The state that an operation is chosen for.
pub(crate) struct Given<'a> {
    pub(crate) state: &'a State,
    /// A value that no row has yet.
    pub(crate) value: i64,
    pub(crate) inserts: bool,
}

/// The client that an operation is sent by.
#[derive(Clone)]
pub(crate) struct On {
    pub(crate) service: TableServiceClient,
    /// The table `Things`.
    pub(crate) table: TableClient<Cell>,
    /// The options of tables and of calls.
    pub(crate) of_table: CallOptions,
    pub(crate) call: CallOptions,
}

impl On {
    pub(crate) fn named(&self, table: &str) -> TableClient<Cell> {
        self.service.table(table).unwrap().with(&self.of_table)
    }
}

/// An operation with all its values.
pub(crate) struct Chosen {
    pub(crate) promise: Promise,
    pub(crate) run: Run,
}

pub(crate) type Run = Box<dyn FnOnce(On) -> LocalBoxFuture<'static, Said>>;

/// The meaning of a success.
#[derive(Debug)]
pub(crate) enum Promise {
    /// This change as a whole.
    Change(Change),
    /// This was read.
    Read(Read),
    /// Each of these writes, in order, has an outcome of its own.
    Each(Vec<Write>),
    /// The rows of a query are as wanted; a row that is not named stays.
    Selected(Vec<(String, Wanted)>),
    /// Steps that lead to the last of these states; a failure leaves any of them.
    Steps(Vec<State>),
}

#[derive(Debug)]
pub(crate) struct Change {
    /// The state after it, or what the service must say against it.
    pub(crate) after: Result<State, ErrorKind>,
    /// The writes of rows whose ETags are returned.
    pub(crate) writes: Vec<Write>,
    /// Whether applying it twice in a row leaves what applying it once leaves, and succeeds both times.
    pub(crate) is_repeatable: bool,
    /// Whether the row or table existed, where the operation says so.
    pub(crate) existed: bool,
}

/// What a read shows of a state.
pub(crate) struct Read {
    pub(crate) view: Box<dyn Fn(&State) -> View>,
    /// The location of the data.
    pub(crate) origin: Origin,
    pub(crate) parts: Parts,
}

pub(crate) type View = Vec<String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The primary alone: it is part of a write, or a POST.
    Primary,
    /// As the location mode says.
    Any,
    /// The secondary alone.
    Secondary,
}

/// The parts of a read that may come from different copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    One,
    /// The rows of each partition.
    Partitions,
    /// Each element of the view.
    Elements,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wanted {
    Unchanged,
    Gone,
    Is(i64, Option<i64>),
}

/// The client's word.
#[derive(Debug)]
pub(crate) enum Said {
    Done,
    /// Done, with the ETag of each write.
    Written(Vec<Option<ETag>>),
    Created(Creation),
    Deleted(Deletion),
    Seen(View),
    Each(Vec<Claim>),
    Selected(Report),
    Failed(Arc<Error>),
}

/// The outcome of one of many writes.
#[derive(Debug)]
pub(crate) enum Claim {
    Applied(Option<ETag>),
    Rejected(ErrorKind),
    /// With the error of another in its batch.
    RejectedWithOthers,
    InDoubt,
    NotTried,
}

/// The report of writes over a query.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) applied: usize,
    pub(crate) unchanged: usize,
    pub(crate) gone: usize,
    pub(crate) failures: Vec<(String, ErrorKind)>,
    pub(crate) in_doubt: Vec<String>,
    /// Why it ended before its end.
    pub(crate) ended: Option<Error>,
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Read({:?}, {:?})", self.origin, self.parts)
    }
}

impl Said {
    pub(crate) fn of<T>(result: Result<T, Error>, said: impl FnOnce(T) -> Self) -> Self {
        result.map_or_else(|e| Self::Failed(Arc::new(e)), said)
    }

    pub(crate) fn etag(result: Result<ETag, Error>) -> Self {
        Self::of(result, |etag| Self::Written(vec![Some(etag)]))
    }

    pub(crate) fn done<T>(result: Result<T, Error>) -> Self {
        Self::of(result, |_| Self::Done)
    }
}

impl Chosen {
    pub(crate) fn new<F>(promise: Promise, call: impl FnOnce(On) -> F + 'static) -> Self
    where
        F: Future<Output = Said> + 'static,
    {
        Self {
            promise,
            run: Box::new(move |on| Box::pin(call(on))),
        }
    }

    /// One write of a row.
    pub(crate) fn write<F>(given: &Given<'_>, write: Write, call: impl FnOnce(On) -> F + 'static) -> Self
    where
        F: Future<Output = Said> + 'static,
    {
        Self::writes(given, vec![write], call)
    }

    /// Writes of rows, all together.
    pub(crate) fn writes<F>(given: &Given<'_>, writes: Vec<Write>, call: impl FnOnce(On) -> F + 'static) -> Self
    where
        F: Future<Output = Said> + 'static,
    {
        let mut after = given.state.clone();
        let change = Change {
            after: writes.iter().try_for_each(|write| after.write(write)).map(|()| after),
            is_repeatable: matches!(&writes[..], [write] if write.is_repeatable()),
            writes,
            existed: false,
        };
        Self::new(Promise::Change(change), call)
    }

    /// The same, of another copy than the location mode says.
    pub(crate) fn of(mut self, origin: Origin) -> Self {
        if let Promise::Read(read) = &mut self.promise {
            read.origin = origin;
        }
        self
    }

    /// A change of something else than rows. What it says of before is `existed`.
    pub(crate) fn change<F>(
        after: Result<State, ErrorKind>,
        existed: bool,
        is_repeatable: bool,
        call: impl FnOnce(On) -> F + 'static,
    ) -> Self
    where
        F: Future<Output = Said> + 'static,
    {
        let change = Change {
            after,
            writes: Vec::new(),
            is_repeatable,
            existed,
        };
        Self::new(Promise::Change(change), call)
    }

    pub(crate) fn read<F>(
        origin: Origin,
        parts: Parts,
        view: impl Fn(&State) -> View + 'static,
        call: impl FnOnce(On) -> F + 'static,
    ) -> Self
    where
        F: Future<Output = Result<View, Error>> + 'static,
    {
        let view = Box::new(view);
        Self::new(Promise::Read(Read { view, origin, parts }), |on| {
            let read = call(on);
            async move { Said::of(read.await, Said::Seen) }
        })
    }
}

/// A row as a view has it.
pub(crate) fn shown(read: &Versioned<Cell>) -> String {
    let Cell { row, a, b, .. } = &read.entity;
    text(row, *a, *b, &read.etag)
}

/// The same of a row that is stored.
pub(crate) fn stored(state: &State, row: &str) -> Option<String> {
    let stored = state.rows.get(row)?;
    Some(text(row, stored.a, stored.b, stored.etag.as_ref()?))
}

fn text(row: &str, a: i64, b: Option<i64>, etag: &ETag) -> String {
    format!("{row}: {a} {b:?} {etag}")
}
