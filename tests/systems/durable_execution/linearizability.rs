//! The lease of a queue as an object: its histories are judged by stateright's `LinearizabilityTester`.
//!
//! The object has a holder, the next holder and a token. Calls are recorded where they begin and return. A call in
//! doubt never returns; a call that failed for certain is not part of the history.

use std::cell::RefCell;
use std::time::Duration;

use azure_table::{DynamicEntity, Result};
use azure_table_patterns::{Lease, Leases};
use azure_table_tests::promises::Place;
use futures::future::join3;
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use crate::kit::{Claim, check, claim};

pub(crate) const CLAIMS: [Claim; 1] = [claim!("a queue's lease is linearizable", contended)
    .callers(3)
    .explored(12, "270 / 3,000+")
    .bound(3_000)
    .shares_memory()];
check!(CLAIMS);

/// A lease, if every call took no time.
#[derive(Clone, Debug, Default)]
struct SharedLease {
    holder: Option<&'static str>,
    next: Option<&'static str>,
    token: i64,
}

#[derive(Clone, Debug)]
enum Op {
    Acquire(&'static str),
    Renew(i64),
    Release(i64),
    /// A request, by a worker that saw this token.
    Request(&'static str, i64),
    Read,
}

#[derive(Clone, Debug, PartialEq)]
enum Ret {
    /// The token, unless the lease was not free.
    Acquired(Option<i64>),
    Done(bool),
    Released,
    /// The holder and the token.
    Seen(Option<String>, i64),
}

impl SequentialSpec for SharedLease {
    type Op = Op;
    type Ret = Ret;

    fn invoke(&mut self, op: &Op) -> Ret {
        let is_held = |token: i64| self.token == token && self.holder.is_some();
        match *op {
            Op::Acquire(name) if self.holder.is_none() && self.next.is_none_or(|next| next == name) => {
                *self = Self {
                    holder: Some(name),
                    next: None,
                    token: self.token + 1,
                };
                Ret::Acquired(Some(self.token))
            }
            Op::Acquire(_) => Ret::Acquired(None),
            Op::Renew(token) => Ret::Done(is_held(token)),
            Op::Release(token) => {
                self.holder = self.holder.filter(|_| self.token != token);
                Ret::Released
            }
            Op::Request(name, token) => {
                let is_free = is_held(token) && self.next.is_none();
                if is_free {
                    self.next = Some(name);
                }
                Ret::Done(is_free)
            }
            Op::Read => Ret::Seen(self.holder.map(str::to_owned), self.token),
        }
    }

    /// A request that loses a race against a renewal is repeated by its worker, so it may fail.
    fn is_valid_step(&mut self, op: &Op, ret: &Ret) -> bool {
        match (op, ret) {
            (Op::Request(..), Ret::Done(false)) => true,
            _ => self.invoke(op) == *ret,
        }
    }
}

/// The calls in the order in which they began and returned.
#[derive(Debug, Default)]
struct Calls(RefCell<Vec<Event>>);

#[derive(Clone, Debug)]
enum Event {
    Invoked {
        caller: u8,
        op: Op,
    },
    Returned {
        call: usize,
        ret: Ret,
    },
    /// The call failed, and was not applied.
    Dropped {
        call: usize,
    },
    /// The call may have been applied.
    InDoubt {
        call: usize,
    },
}

impl Calls {
    /// Records a call.
    async fn of<T>(&self, caller: u8, op: Op, call: impl Future<Output = Result<T>>, ret: fn(&T) -> Ret) -> Option<T> {
        let index = self.0.borrow().len();
        self.0.borrow_mut().push(Event::Invoked { caller, op });
        let result = call.await;
        self.0.borrow_mut().push(match &result {
            Ok(output) => Event::Returned {
                call: index,
                ret: ret(output),
            },
            Err(e) if e.may_have_applied() => Event::InDoubt { call: index },
            Err(_) => Event::Dropped { call: index },
        });
        result.ok()
    }

    fn is_linearizable(&self) -> bool {
        let events = self.0.borrow();
        let mut tester = LinearizabilityTester::new(SharedLease::default());
        // A call in doubt stays in flight, so the later calls of its caller count as another thread's.
        let mut threads = Vec::new();
        let mut doubts = 0;
        for (index, event) in events.iter().enumerate() {
            let mut thread = 0;
            match event {
                Event::Invoked { caller, op } => {
                    let end = events.iter().find_map(|event| match event {
                        Event::Dropped { call } if *call == index => Some(false),
                        Event::InDoubt { call } if *call == index => Some(true),
                        _ => None,
                    });
                    thread = match end {
                        Some(true) => {
                            doubts += 1;
                            100 + doubts
                        }
                        _ => u32::from(*caller),
                    };
                    if end != Some(false) {
                        tester.on_invoke(thread, op.clone()).unwrap();
                    }
                }
                Event::Returned { call, ret } => drop(tester.on_return(threads[*call], ret.clone()).unwrap()),
                Event::Dropped { .. } | Event::InDoubt { .. } => {}
            }
            threads.push(thread);
        }
        tester.is_consistent()
    }
}

const PARTITION: &str = "p";

/// Longer than any run, so that no lease ends by itself.
const TIME: Duration = Duration::from_secs(3_600);

/// Two workers that acquire, renew and release a lease, and one that requests it.
async fn contended(place: Place) {
    let leases = |name| Leases::new(&place.table::<DynamicEntity>(name), TIME);
    let behind = Leases::new(&place.table_behind::<DynamicEntity>(), TIME);
    behind.create(PARTITION, "queue").await.unwrap();
    let calls = Calls::default();
    let hold = async |caller, name: &'static str| {
        let leases = leases(name);
        let acquired = |lease: &Option<Lease>| Ret::Acquired(lease.as_ref().map(Lease::token));
        let acquire = async {
            let entries = leases.list(PARTITION).await?;
            leases.acquire_entry(&entries[0], name).await
        };
        let mut lease = calls.of(caller, Op::Acquire(name), acquire, acquired).await??;
        let token = lease.token();
        calls
            .of(caller, Op::Renew(token), lease.renew(), |is_held| Ret::Done(*is_held))
            .await;
        calls
            .of(caller, Op::Release(token), lease.release(), |()| Ret::Released)
            .await
    };
    let request = async {
        let leases = leases("c");
        let list = leases.list(PARTITION);
        let seen = |entries: &Vec<_>| {
            let entry: &azure_table_patterns::LeaseEntry = &entries[0];
            Ret::Seen(entry.holder().map(str::to_owned), entry.token())
        };
        let entries = calls.of(2, Op::Read, list, seen).await?;
        let request = leases.request(&entries[0], "c");
        let op = Op::Request("c", entries[0].token());
        calls.of(2, op, request, |is_requested| Ret::Done(*is_requested)).await
    };
    join3(hold(0, "a"), hold(1, "b"), request).await;
    assert!(calls.is_linearizable(), "{:#?}", calls.0.borrow());
}

/// Records calls that return at once.
fn recorded(calls: &[(u8, Op, Ret)]) -> Calls {
    let mut events = Vec::new();
    for (caller, op, ret) in calls.iter().cloned() {
        let call = events.len();
        events.push(Event::Invoked { caller, op });
        events.push(Event::Returned { call, ret });
    }
    Calls(RefCell::new(events))
}

#[test]
fn two_holders_a_stale_read_and_a_lost_request_are_rejected() {
    let acquire = |caller, name, token| (caller, Op::Acquire(name), Ret::Acquired(token));
    let a = acquire(0, "a", Some(1));
    let release = (0, Op::Release(1), Ret::Released);
    assert!(
        recorded(&[
            a.clone(),
            acquire(1, "b", None),
            release.clone(),
            acquire(1, "b", Some(2))
        ])
        .is_linearizable()
    );
    assert!(
        !recorded(&[a.clone(), acquire(1, "b", Some(2))]).is_linearizable(),
        "two holders"
    );
    assert!(
        !recorded(&[a.clone(), (1, Op::Read, Ret::Seen(None, 0))]).is_linearizable(),
        "a stale read"
    );
    let request = (1, Op::Request("b", 1), Ret::Done(true));
    assert!(
        !recorded(&[a, request, release, acquire(2, "c", Some(2))]).is_linearizable(),
        "a lost request"
    );
}
