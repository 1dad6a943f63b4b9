//! The history of concurrent calls on one entry, judged by `stateright`: is it a register of the latest commit?

use std::cell::RefCell;

use azure_table::Error;
use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};

use crate::systems::catalogue::{Catalogue, Leaf};

/// The commit and the URL of the entry, if it is stored.
type Stored = Option<(i64, String)>;

/// A register that keeps the latest commit, and the first of equal ones.
#[derive(Clone, Debug, Default)]
struct Latest(Stored);

#[derive(Clone, Debug)]
enum Call {
    Add(i64, String),
    Get,
}

impl SequentialSpec for Latest {
    type Op = Call;
    type Ret = Option<Stored>;

    fn invoke(&mut self, call: &Call) -> Option<Stored> {
        match call {
            Call::Add(commit, url) => {
                if self.0.as_ref().is_none_or(|(stored, _)| stored < commit) {
                    self.0 = Some((*commit, url.clone()));
                }
                None
            }
            Call::Get => Some(self.0.clone()),
        }
    }
}

/// The calls on an entry, in the order of their starts and returns.
#[derive(Default)]
pub(super) struct History(RefCell<Vec<Event>>);

enum Event {
    Invoked(Call),
    Returned(usize, Option<Stored>),
    /// The call failed, and changed nothing.
    Failed(usize),
}

impl History {
    fn invoke(&self, call: Call) -> usize {
        let mut events = self.0.borrow_mut();
        events.push(Event::Invoked(call));
        events.len() - 1
    }

    /// A call that may have been applied never returns.
    fn end(&self, call: usize, returned: &Result<Option<Stored>, Error>) {
        let event = match returned {
            Ok(returned) => Event::Returned(call, returned.clone()),
            Err(e) if e.may_have_applied() => return,
            Err(_) => Event::Failed(call),
        };
        self.0.borrow_mut().push(event);
    }

    /// Adds the entry. Its result counts as the result of a read beside it: after a lost response, others may have
    /// written between the two.
    pub(super) async fn add(&self, catalogue: &Catalogue, leaf: Leaf) {
        let commit = leaf.commit;
        let calls = (self.invoke(Call::Add(commit, leaf.url.clone())), self.invoke(Call::Get));
        let added = catalogue.add([leaf]).await;
        let latest = added.map(|mut latest| Some(latest.pop().map(|leaf| (leaf.commit, leaf.url))));
        if let Ok(Some(latest)) = &latest {
            assert!(latest.as_ref().is_some_and(|(latest, _)| *latest >= commit));
        }
        self.end(calls.1, &latest);
        self.end(calls.0, &latest.map(|_| None));
    }

    pub(super) async fn get(&self, catalogue: &Catalogue, leaf: &Leaf) {
        let call = self.invoke(Call::Get);
        let read = catalogue.get(&leaf.id, &leaf.version).await;
        self.end(call, &read.map(|row| Some(row.map(|row| (row.commit, row.entity.url)))));
    }

    /// Returns `true` if the calls could have happened one after the other.
    pub(super) fn is_linearizable(&self) -> bool {
        let events = self.0.borrow();
        let failed = |call| {
            events
                .iter()
                .any(|event| matches!(event, Event::Failed(of) if *of == call))
        };
        let mut tester = LinearizabilityTester::new(Latest::default());
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Invoked(call) if !failed(at) => _ = tester.on_invoke(at, call.clone()).unwrap(),
                Event::Returned(call, stored) => _ = tester.on_return(*call, stored.clone()).unwrap(),
                Event::Invoked(_) | Event::Failed(_) => {}
            }
        }
        tester.is_consistent()
    }
}

fn history(events: impl IntoIterator<Item = Event>) -> History {
    History(RefCell::new(events.into_iter().collect()))
}

#[test]
fn checker_finds_a_stale_read_and_a_lost_update() {
    use Event::{Invoked, Returned};
    let at = |commit: i64| Some((commit, "a".to_owned()));
    let add = |commit| Invoked(Call::Add(commit, "a".into()));
    let done = |call| Returned(call, None);
    let read = |call, stored| Returned(call, Some(stored));
    let get = || Invoked(Call::Get);
    let right = [add(2), done(0), add(1), get(), read(3, at(2))];
    assert!(history(right).is_linearizable());
    let stale = [add(2), done(0), get(), read(2, None)];
    assert!(!history(stale).is_linearizable());
    let lost = [add(2), add(1), done(0), done(1), get(), read(4, at(1))];
    assert!(!history(lost).is_linearizable());
    // The write in doubt may be applied at any time, but not be taken back.
    let in_doubt = |last| history([add(1), get(), read(1, at(1)), get(), read(3, last)]);
    assert!(in_doubt(at(1)).is_linearizable());
    assert!(!in_doubt(None).is_linearizable());
}
