//! A fact: what a Table service answers to a few requests, with the source that says so.
//!
//! The expectations are literal. In an expected text, the parts of a request (`step.rs`) stand for the names of the
//! run, and these stand for what a service chooses:
//!
//! | part | matches |
//! |---|---|
//! | `{etag}` | an ETag as a service builds it, `W/"datetime'…'"` |
//! | `{time}` | a time, `2026-01-01T00:00:00.0000000Z`, also percent-encoded |
//! | `{id}` | hexadecimal digits and hyphens: an id of a request or of a boundary |
//! | `{text}` | any text, also none |
//! | `{some}` | any text, not none |
//!
//! Everything else is compared character by character. A JSON document that is expected as a whole ([`Part::Is`]) is
//! compared by its values: the order of its members is not compared, that of its rows is.
//!
//! A fact with a recording is checked against it (`tests/recordings.rs`): the request has the recorded method and form
//! of path, and the expectation holds for the recorded response. There, a name of the run (`<T>`, `<K>`, `<N>…`,
//! `<base>`) matches the recorded name, the same one at each place.

use std::fmt;

use crate::step::Step;

/// A fact of the service.
#[derive(Clone, Copy)]
pub(crate) struct Fact {
    /// One sentence, which stays: what the service does.
    pub(crate) name: &'static str,
    pub(crate) area: Area,
    pub(crate) on: On,
    pub(crate) source: Source,
    pub(crate) exchanges: &'static [Exchange],
    /// The requests change the properties of the service, which are restored afterwards.
    pub(crate) changes_properties: bool,
}

/// A subject with a figure of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Area {
    Tables,
    Entities,
    Keys,
    Types,
    Queries,
    Filters,
    Paging,
    Batches,
    Conditions,
    Errors,
    Access,
    Service,
}

/// The services of which a fact or probe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Both,
    Storage,
    Cosmos,
}

/// The source of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A recorded session with a live account.
    Recording {
        /// Below the folder of the recordings: `storage/go_TestBatchError_storage.json`.
        file: &'static str,
        /// The position in the session, from 0, of the exchange that the last expectation of the fact is about.
        exchange: usize,
        /// The day of the exchange, `2021-08-02`.
        date: &'static str,
    },
    /// A page of the service's documentation.
    Page { url: &'static str, date: &'static str },
    /// An issue in which a user of a live account reports what it answered.
    Report { url: &'static str, date: &'static str },
    /// The tests of another client, which pass on a live account: its name and version, and the test.
    Suite { name: &'static str, date: &'static str },
}

/// A request, and the expected response. Without an expectation it prepares the later ones, and must succeed.
#[derive(Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) step: Step,
    pub(crate) expected: Option<Expected>,
}

/// The expected parts of a response. The others are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    /// The code of an error, also in a part of a batch. Empty: the response has none.
    pub(crate) code: &'static str,
    /// The first line of the error's text.
    pub(crate) message: &'static str,
    /// An empty value expects that the header is absent.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) body: &'static [Part],
}

/// An expectation of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The whole body.
    Is(&'static str),
    /// A part of the body, with its line ends as `\n`.
    Has(&'static str),
    /// No part of the body.
    Lacks(&'static str),
}

impl Fact {
    /// Returns a fact of both services.
    pub(crate) const fn of(area: Area, name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Self {
        Self {
            name,
            area,
            on: On::Both,
            source,
            exchanges,
            changes_properties: false,
        }
    }

    pub(crate) const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }

    pub(crate) const fn changes_properties(mut self) -> Self {
        self.changes_properties = true;
        self
    }
}

/// Prepares the requests after it.
pub(crate) const fn prepare(step: Step) -> Exchange {
    Exchange { step, expected: None }
}

/// Sends a request, and compares its response.
pub(crate) const fn ask(step: Step, expected: Expected) -> Exchange {
    Exchange {
        step,
        expected: Some(expected),
    }
}

/// Expects a response that is no error.
pub(crate) const fn responds(status: u16) -> Expected {
    rejects(status, "", "")
}

/// Expects an error, also in a part of a batch.
pub(crate) const fn rejects(status: u16, code: &'static str, message: &'static str) -> Expected {
    Expected {
        status,
        code,
        message,
        headers: &[],
        body: &[],
    }
}

impl Expected {
    pub(crate) const fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    pub(crate) const fn body(mut self, parts: &'static [Part]) -> Self {
        self.body = parts;
        self
    }
}

/// The outcome in short.
impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.message) {
            ("", _) if self.status >= 400 => write!(f, "{} without a code", self.status),
            ("", _) => write!(f, "{}", self.status),
            (code, message) => write!(f, "{} {code}: {message}", self.status),
        }
    }
}
