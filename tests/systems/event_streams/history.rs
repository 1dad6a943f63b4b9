//! Histories of a version, and the judge that says whether they are linearizable.

use std::cell::RefCell;
use std::rc::Rc;

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

/// A number that a write raises from the value that it expects.
#[derive(Clone, Debug)]
pub(crate) struct Version(pub(crate) u32);

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Read,
    /// Raises the version from the first number to the second.
    Raise(u32, u32),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ret {
    Version(u32),
    Raised,
    /// The version was another one.
    Conflict,
}

impl SequentialSpec for Version {
    type Op = Op;
    type Ret = Ret;

    fn invoke(&mut self, op: &Op) -> Ret {
        match *op {
            Op::Read => Ret::Version(self.0),
            Op::Raise(from, to) if from == self.0 => {
                self.0 = to;
                Ret::Raised
            }
            Op::Raise(..) => Ret::Conflict,
        }
    }
}

/// The outcome of a call.
pub(crate) enum Outcome {
    Returned(Ret),
    /// Certainly without effect.
    Failed,
    InDoubt,
}

/// The calls of concurrent tasks, in the order of their starts and ends.
#[derive(Clone, Default)]
pub(crate) struct History(Rc<RefCell<Vec<(usize, Event)>>>);

enum Event {
    Start(Op),
    End(Outcome),
}

impl History {
    /// Records a call.
    pub(crate) async fn call<T>(
        &self,
        op: Op,
        call: impl Future<Output = T>,
        outcome: impl FnOnce(&T) -> Outcome,
    ) -> T {
        let id = self.0.borrow().len();
        self.0.borrow_mut().push((id, Event::Start(op)));
        let result = call.await;
        self.0.borrow_mut().push((id, Event::End(outcome(&result))));
        result
    }

    /// Returns `true` if one order of the calls explains all results. A call in doubt may have had its effect at any
    /// later time, or never.
    pub(crate) fn is_linearizable(&self, initial: Version) -> bool {
        let events = self.0.borrow();
        let failed = |id: usize| {
            let is_failed =
                |(other, event): &(usize, Event)| *other == id && matches!(event, Event::End(Outcome::Failed));
            events.iter().any(is_failed)
        };
        let mut tester = LinearizabilityTester::new(initial);
        for (id, event) in events.iter().filter(|(id, _)| !failed(*id)) {
            // Each call is a thread of its own: one in doubt never ends.
            let recorded = match event {
                Event::Start(op) => tester.on_invoke(*id, op.clone()).map(drop),
                Event::End(Outcome::Returned(ret)) => tester.on_return(*id, ret.clone()).map(drop),
                Event::End(Outcome::Failed | Outcome::InDoubt) => Ok(()),
            };
            recorded.unwrap();
        }
        tester.is_consistent()
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    fn returned(ret: Ret) -> impl FnOnce(&()) -> Outcome {
        |()| Outcome::Returned(ret)
    }

    fn history(calls: impl IntoIterator<Item = (Op, Outcome)>) -> History {
        let history = History::default();
        for (op, outcome) in calls {
            block_on(history.call(op, async {}, |()| outcome));
        }
        history
    }

    #[test]
    fn stale_read_is_not_linearizable() {
        let stale = [
            (Op::Raise(0, 1), Outcome::Returned(Ret::Raised)),
            (Op::Read, Outcome::Returned(Ret::Version(0))),
        ];
        assert!(!history(stale).is_linearizable(Version(0)));
    }

    #[test]
    fn lost_update_is_not_linearizable() {
        let both = || (Op::Raise(0, 1), Outcome::Returned(Ret::Raised));
        assert!(!history([both(), both()]).is_linearizable(Version(0)));
    }

    #[test]
    fn call_in_doubt_may_take_effect_late_or_never() {
        let read = |version| (Op::Read, Outcome::Returned(Ret::Version(version)));
        let doubt = || (Op::Raise(0, 1), Outcome::InDoubt);
        assert!(history([doubt(), read(0), read(1)]).is_linearizable(Version(0)));
        assert!(history([doubt(), read(0)]).is_linearizable(Version(0)));
        assert!(!history([doubt(), read(1), read(0)]).is_linearizable(Version(0)));
    }

    #[test]
    fn failed_call_has_no_effect() {
        let seen = [
            (Op::Raise(0, 1), Outcome::Failed),
            (Op::Read, Outcome::Returned(Ret::Version(1))),
        ];
        assert!(!history(seen).is_linearizable(Version(0)));
    }

    #[test]
    fn concurrent_read_sees_either_version() {
        let history = History::default();
        let inner = history.clone();
        let raise = async { inner.call(Op::Read, async {}, returned(Ret::Version(0))).await };
        block_on(history.call(Op::Raise(0, 1), raise, returned(Ret::Raised)));
        assert!(history.is_linearizable(Version(0)));
    }
}
