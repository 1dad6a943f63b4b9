//! One operation of the client: its entry in the matrix, its random values, and its reported result.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use azure_table::service::Creation;
use azure_table::{CallOptions, Deletion, ETag, Error, ErrorKind, TableClient, TableServiceClient, Versioned};
use futures::future::LocalBoxFuture;

use super::check::names_doubt;
use super::model::{Cell, State, Subject, Write};

/// One operation of the matrix.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The methods that it calls, each as `Type::method`.
    pub(crate) methods: &'static [&'static str],
    /// It sends batches.
    pub(crate) is_batch: bool,
    pub(crate) subject: Subject,
    /// The maximum number of calls, including the reads back of a lost write if they look the same.
    pub(crate) calls: u32,
    /// Each of its calls has the timeout of a call; otherwise all share it.
    pub(crate) times_each: bool,
    /// Its requests concern a table, so the table's options apply.
    pub(crate) has_table: bool,
    /// Its own builder takes options.
    pub(crate) has_call: bool,
    /// It ends at the first failure while others are in flight.
    pub(crate) is_concurrent: bool,
    /// The client needs a token of Entra ID.
    pub(crate) by_token: bool,
    /// The timeout of the whole, if it has one besides its calls' timeouts.
    pub(crate) within: Option<Duration>,
    /// It waits for a service that throttles.
    pub(crate) is_paced: bool,
    /// It mostly needs a row or a table that is missing.
    pub(crate) inserts: bool,
    /// It creates its table if it is missing, and then sends its write again.
    pub(crate) runs_twice: bool,
    pub(crate) choose: fn(&Given<'_>) -> Chosen,
}

/// Defines methods that set fields.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $($field:ident = $value:literal),+;)*) => {
        $($(#[$doc])* pub(crate) const fn $name(mut self) -> Self {
            $(self.$field = $value;)+
            self
        })*
    };
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
            runs_twice: false,
            choose,
        }
    }

    pub(crate) const fn on(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    /// An operation of up to this many calls with one timeout.
    pub(crate) const fn calls(mut self, calls: u32) -> Self {
        self.calls = calls;
        self
    }

    /// An operation of up to this many pages, each with its own timeout.
    pub(crate) const fn pages(mut self, pages: u32) -> Self {
        (self.calls, self.times_each) = (pages, true);
        self
    }

    /// Limits the whole to this time, whatever its calls have.
    pub(crate) const fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Pages of two rows, each with a batch that may be split.
    pub(crate) const fn writes_pages(self) -> Self {
        self.batches().pages(5 * 4)
    }

    settings! {
        /// An operation on the whole service.
        of_service: has_table = false;
        batches: is_batch = true;
        concurrent: is_concurrent = true;
        by_token: by_token = true;
        without_options: has_call = false;
        /// Many writes, at a rate that the service accepts.
        bulk: is_batch = true, is_paced = true;
        paced: is_paced = true;
        inserts: inserts = true;
        /// An insert into a table that may be missing, and that it then creates.
        creates_table: inserts = true, runs_twice = true, calls = 3;
    }
}

/// The state for which an operation is chosen.
pub(crate) struct Given<'a> {
    pub(crate) state: &'a State,
    /// A value that no row has yet.
    pub(crate) value: i64,
    pub(crate) inserts: bool,
}

/// The client that sends an operation.
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

pub(crate) type Run = Box<dyn FnOnce(On) -> LocalBoxFuture<'static, Reported>>;

/// The meaning of a success.
#[derive(Debug)]
pub(crate) enum Promise {
    /// This change was applied as a whole.
    Change(Change),
    /// This was read.
    Read(Read),
    /// Each of these writes, in order, has its own outcome.
    Each(Vec<Write>),
    /// The rows of a query are as intended; a row that is not named stays.
    Selected(Vec<(String, Wanted)>),
    /// Steps that lead to the last of these states; a failure leaves any of them.
    Steps(Vec<State>),
}

#[derive(Debug)]
pub(crate) struct Change {
    /// The state after it, or the rejection that the service must return.
    pub(crate) after: Result<State, ErrorKind>,
    /// The writes of rows whose ETags are returned.
    pub(crate) writes: Vec<Write>,
    /// Applying it twice has the same effect as once, and succeeds both times.
    pub(crate) is_repeatable: bool,
    /// The row or table existed, if the operation reports that.
    pub(crate) existed: bool,
}

/// The view that a read has of a state.
pub(crate) struct Read {
    pub(crate) view: Box<dyn Fn(&State) -> View>,
    /// The location of the data.
    pub(crate) origin: Origin,
    pub(crate) parts: Parts,
}

pub(crate) type View = Vec<String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Only the primary: the read belongs to a write, or is a POST.
    Primary,
    /// As the location mode decides.
    Any,
    /// Only the secondary.
    Secondary,
}

/// The parts of a read that may come from different locations.
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

/// The reported result.
#[derive(Debug)]
pub(crate) enum Reported {
    Done,
    /// Success, with the ETag of each write.
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
    /// With the error of another operation in its batch.
    RejectedWithOthers,
    InDoubt,
    NotAttempted,
    /// Failed with an error whose kind contradicts it.
    OfWrongKind,
}

impl Claim {
    /// Returns the claim of an error.
    pub(crate) fn failed(error: &Error) -> Self {
        match error.kind() {
            _ if !names_doubt(error) => Self::OfWrongKind,
            ErrorKind::InDoubt => Self::InDoubt,
            kind => Self::Rejected(kind),
        }
    }
}

/// The report of a write by query.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) applied: usize,
    pub(crate) unchanged: usize,
    pub(crate) gone: usize,
    pub(crate) failures: Vec<(String, ErrorKind)>,
    pub(crate) in_doubt: Vec<String>,
    /// The kinds of the rows' errors say which are in doubt.
    pub(crate) names_doubt: bool,
    /// The reason for its early end.
    pub(crate) ended: Option<Error>,
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Read({:?}, {:?})", self.origin, self.parts)
    }
}

impl Reported {
    pub(crate) fn of<T>(result: Result<T, Error>, reported: impl FnOnce(T) -> Self) -> Self {
        result.map_or_else(|e| Self::Failed(Arc::new(e)), reported)
    }

    pub(crate) fn done<T>(result: Result<T, Error>) -> Self {
        Self::of(result, |_| Self::Done)
    }
}

/// The future of a call that is reported.
pub(crate) trait Reports: Future<Output = Reported> + 'static {}

impl<F: Future<Output = Reported> + 'static> Reports for F {}

impl Chosen {
    pub(crate) fn new<F: Reports>(promise: Promise, call: impl FnOnce(On) -> F + 'static) -> Self {
        Self {
            promise,
            run: Box::new(move |on| Box::pin(call(on))),
        }
    }

    /// One write of a row.
    pub(crate) fn write<F: Reports>(given: &Given<'_>, write: Write, call: impl FnOnce(On) -> F + 'static) -> Self {
        Self::writes(given, vec![write], call)
    }

    /// Writes of rows, all together.
    pub(crate) fn writes<F: Reports>(
        given: &Given<'_>,
        writes: Vec<Write>,
        call: impl FnOnce(On) -> F + 'static,
    ) -> Self {
        let mut after = given.state.clone();
        let change = Change {
            after: writes.iter().try_for_each(|write| after.write(write)).map(|()| after),
            is_repeatable: matches!(&writes[..], [write] if write.is_repeatable()),
            writes,
            existed: false,
        };
        Self::new(Promise::Change(change), call)
    }

    /// The same, in another location than the location mode selects.
    pub(crate) fn of(mut self, origin: Origin) -> Self {
        if let Promise::Read(read) = &mut self.promise {
            read.origin = origin;
        }
        self
    }

    /// A change of anything other than rows. `existed` is what it reports of the state before.
    pub(crate) fn change<F: Reports>(
        after: Result<State, ErrorKind>,
        existed: bool,
        is_repeatable: bool,
        call: impl FnOnce(On) -> F + 'static,
    ) -> Self {
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
            async move { Reported::of(read.await, Reported::Seen) }
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
