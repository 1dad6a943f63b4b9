//! The history of the table version, judged by stateright's tester for linearizability.

use std::sync::Mutex;

use azure_table_tests::promises::Place;
use futures::future::{join, join3};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use super::{cluster, members, silo};
use crate::kit::{Claim, check, claim};
use crate::systems::membership::{Membership, TableVersion};

pub(crate) const CLAIMS: [Claim; 2] = [
    claim!("the version is linearizable", of_two)
        .explored(6, "20 / 1,094")
        .shares_memory(),
    claim!("the version is linearizable to a reader of several pages", of_three)
        .callers(3)
        .explored(15, "2,000+")
        .bound(2_000)
        .shares_memory(),
];
check!(CLAIMS);

/// The version of a table: each insert and update is based on a number, and moves it by one.
#[derive(Clone, Debug)]
struct Version(i32);

#[derive(Clone, Debug)]
enum Call {
    Read,
    Write { based_on: i32 },
}

#[derive(Clone, Debug, PartialEq)]
enum Returned {
    Number(i32),
    Accepted(bool),
    /// The call failed, and changed nothing.
    Failed,
}

impl SequentialSpec for Version {
    type Op = Call;
    type Ret = Returned;

    fn invoke(&mut self, call: &Call) -> Returned {
        match call {
            Call::Read => Returned::Number(self.0),
            Call::Write { based_on } => {
                let is_accepted = *based_on == self.0;
                self.0 += i32::from(is_accepted);
                Returned::Accepted(is_accepted)
            }
        }
    }

    fn is_valid_step(&mut self, call: &Call, returned: &Returned) -> bool {
        *returned == Returned::Failed || self.invoke(call) == *returned
    }
}

/// The calls so far. A call in doubt never returns: it may be applied at any later time, or not at all.
struct History {
    tester: Mutex<LinearizabilityTester<usize, Version>>,
    threads: Mutex<usize>,
}

impl History {
    fn new() -> Self {
        Self {
            tester: Mutex::new(LinearizabilityTester::new(Version(0))),
            threads: Mutex::new(0),
        }
    }

    /// Returns a new thread: one whose call never returned can make no other call.
    fn thread(&self) -> usize {
        let mut threads = self.threads.lock().unwrap();
        *threads += 1;
        *threads
    }

    fn invoke(&self, thread: usize, call: Call) {
        self.tester.lock().unwrap().on_invoke(thread, call).unwrap();
    }

    fn complete(&self, thread: usize, returned: Returned) {
        self.tester.lock().unwrap().on_return(thread, returned).unwrap();
    }

    fn is_linearizable(&self) -> bool {
        self.tester.lock().unwrap().is_consistent()
    }

    #[track_caller]
    fn check(&self) {
        assert!(self.is_linearizable(), "not linearizable: {:?}", self.tester);
    }
}

/// Reads the version. `None` if the read failed.
async fn read(history: &History, thread: usize, members: &Membership) -> Option<TableVersion> {
    history.invoke(thread, Call::Read);
    let version = members.read_all().await.ok().map(|view| view.version);
    let returned = version.as_ref().map(|version| Returned::Number(version.number()));
    history.complete(thread, returned.unwrap_or(Returned::Failed));
    version
}

/// Inserts a silo under a version. Returns the thread of the next call.
async fn write(
    history: &History,
    thread: usize,
    members: &Membership,
    generation: u32,
    version: &TableVersion,
) -> usize {
    let based_on = version.number();
    history.invoke(thread, Call::Write { based_on });
    match members.insert(&silo(generation), version).await {
        Ok(is_accepted) => history.complete(thread, Returned::Accepted(is_accepted)),
        Err(e) if e.may_have_applied() => return history.thread(),
        Err(_) => history.complete(thread, Returned::Failed),
    }
    thread
}

/// Reads, writes under the version that it read, and reads again.
async fn caller(history: &History, members: Membership, generation: u32) {
    let mut thread = history.thread();
    if let Some(version) = read(history, thread, &members).await {
        thread = write(history, thread, &members, generation, &version).await;
    }
    read(history, thread, &members).await;
}

async fn of_two(place: Place) {
    cluster(&place, 0).await;
    let history = History::new();
    let callers = ["a", "b"].map(|name| members(&place, name));
    let [a, b] = callers;
    join(caller(&history, a, 1), caller(&history, b, 2)).await;
    history.check();
}

async fn of_three(place: Place) {
    cluster(&place, 0).await;
    let history = History::new();
    let reads = async {
        let (members, thread) = (members(&place, "c").page_size(2), history.thread());
        for _ in 0..2 {
            read(&history, thread, &members).await;
        }
    };
    let (a, b) = (members(&place, "a"), members(&place, "b"));
    join3(caller(&history, a, 1), caller(&history, b, 2), reads).await;
    history.check();
}

#[test]
fn stale_read_and_lost_update_are_not_linearizable() {
    let stale = History::new();
    for (call, returned) in [
        (Call::Write { based_on: 0 }, Returned::Accepted(true)),
        (Call::Read, Returned::Number(0)),
    ] {
        stale.invoke(1, call);
        stale.complete(1, returned);
    }
    assert!(!stale.is_linearizable());

    let lost = History::new();
    lost.invoke(1, Call::Write { based_on: 0 });
    lost.invoke(2, Call::Write { based_on: 0 });
    lost.complete(1, Returned::Accepted(true));
    assert!(lost.is_linearizable());
    lost.complete(2, Returned::Accepted(true));
    assert!(!lost.is_linearizable());
}

#[test]
fn write_in_doubt_may_be_applied_at_any_time_or_never() {
    let history = History::new();
    history.invoke(1, Call::Write { based_on: 0 });
    for number in [0, 0, 1, 1] {
        history.invoke(2, Call::Read);
        history.complete(2, Returned::Number(number));
        history.check();
    }
    history.invoke(2, Call::Read);
    history.complete(2, Returned::Number(0));
    assert!(!history.is_linearizable());
}
