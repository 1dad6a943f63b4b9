//! Random histories of declared indexes, by several writers, against a model.
//!
//! In each round, all writers call at the same time, and their requests interleave at random. Then some order of the
//! calls must explain their results and the stored entities, the queries by each index must agree with the entities,
//! the index rows must be those of the entities, and `verify` must find nothing. A writer that crashed or lost a
//! response leaves a call in doubt: it was applied, or was not.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::emulator::SeedEntities as _;
use azure_table::{CallOptions, DynamicEntity, Emulator, Error, Result, TableServiceClient};
use azure_table_patterns::Indexed;
use fastrand::Rng;
use futures::future::{join, join_all};

use super::index_rows;
use super::index_writes::{INDEXES, Id, NAMES, Outcome, Person, State, Write, explains, stored};
use crate::intercept::Intercept;
use crate::promises::Following;

const TABLE: &str = "People";
/// The timeout of a call on an adverse service.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The longest time that a request or a response takes.
const MAX_DELAY: u64 = 4;

/// The service of histories.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in tables.
    pub name: &'static str,
    is_cosmos: bool,
    is_adverse: bool,
}

impl Setting {
    /// Both services, calm and at their worst.
    pub const ALL: [Self; 4] = [
        Self::new("Table storage", false, false),
        Self::new("Cosmos DB", true, false),
        Self::new("Table storage, adverse", false, true),
        Self::new("Cosmos DB, adverse", true, true),
    ];

    const fn new(name: &'static str, is_cosmos: bool, is_adverse: bool) -> Self {
        Self {
            name,
            is_cosmos,
            is_adverse,
        }
    }
}

/// The calls of a history, by their results, and the checks beside and after them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// The calls that wrote.
    pub written: usize,
    /// The calls that the rows of others rejected.
    pub rejected: usize,
    /// The calls in doubt.
    pub in_doubt: usize,
    /// The calls that failed for another reason, and wrote nothing.
    pub failed: usize,
    /// The successful queries and checks beside the writers.
    pub reads: usize,
}

impl Counts {
    fn count(&mut self, outcome: &Outcome) {
        *match outcome {
            Outcome::Done => &mut self.written,
            Outcome::Absent | Outcome::Rejected(_) => &mut self.rejected,
            Outcome::InDoubt => &mut self.in_doubt,
            Outcome::Failed => &mut self.failed,
        } += 1;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (written, rejected, reads) = (self.written, self.rejected, self.reads);
        let (in_doubt, failed) = (self.in_doubt, self.failed);
        write!(
            f,
            "{written} written, {rejected} rejected, {in_doubt} in doubt, {failed} failed, {reads} reads"
        )
    }
}

/// Runs a history with this number of calls, by one to three writers at a time.
///
/// # Panics
/// No order of the calls of a round explains what they returned and what is stored, or a read disagrees with it.
pub fn run(setting: Setting, seed: u64, calls: usize) -> Counts {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    fastrand::seed(seed);
    runtime.block_on(History::begin(setting, seed).run(calls))
}

struct History {
    name: String,
    is_adverse: bool,
    random: Rng,
    /// The handles of the writers, and of the reader beside them.
    writers: Vec<TableServiceClient>,
    /// The service without delays and faults.
    behind: TableServiceClient,
    counts: Counts,
}

impl History {
    fn begin(setting: Setting, seed: u64) -> Self {
        let at = "2026-06-15T00:00:00Z".parse().unwrap();
        let emulator = if setting.is_cosmos {
            Emulator::cosmos
        } else {
            Emulator::new
        };
        let emulator = emulator()
            .shared_clock(EmulatorClock::fixed(at))
            .accepting_old_requests();
        emulator.seed(TABLE, std::iter::empty::<DynamicEntity>()).unwrap();
        let seen = if setting.is_adverse {
            emulator.clone().adverse(seed)
        } else {
            emulator.clone()
        };
        let writer = TableServiceClient::from_transport(delayed(Following::new(&seen), seed))
            .with(&CallOptions::new().timeout(TIMEOUT));
        Self {
            name: format!("{}, seed {seed}", setting.name),
            is_adverse: setting.is_adverse,
            random: Rng::with_seed(seed),
            writers: vec![writer; 4],
            behind: TableServiceClient::from_transport(emulator),
            counts: Counts::default(),
        }
    }

    async fn run(mut self, calls: usize) -> Counts {
        let behind = Indexed::open(&self.behind.table::<Person>(TABLE).unwrap())
            .await
            .unwrap();
        for built in [
            behind.build(Person::BY_MAIL).await,
            behind.build(Person::BY_CODE).await,
            behind.build(Person::BY_TEAM).await,
            behind.build(Person::BY_NAME).await,
        ] {
            built.unwrap().ensure_none_taken().unwrap();
        }
        let mut handles = Vec::new();
        for writer in &self.writers {
            let table = writer.table::<Person>(TABLE).unwrap();
            handles.push(loop {
                // An adverse service may reject it for a while.
                if let Ok(opened) = Indexed::open(&table).await {
                    break opened;
                }
            });
        }
        let reader = handles.pop().unwrap();
        let (mut state, mut done) = (State::new(), 0);
        while done < calls {
            let versions = stored(&behind).await;
            let round: Vec<Write> = (0..self.random.usize(1..=3))
                .map(|_| Write::random(&state, &versions, &mut self.random))
                .collect();
            done += round.len();
            let writing = join_all(round.iter().zip(&handles).map(|(call, people)| call.run(people)));
            let name = NAMES[self.random.usize(..NAMES.len())];
            let (outcomes, read) = join(writing, Read::all(&reader, name, done)).await;
            outcomes.iter().for_each(|outcome| self.counts.count(outcome));
            let after: State = stored(&behind)
                .await
                .into_iter()
                .map(|(id, person)| (id, person.entity))
                .collect();
            assert!(
                self.is_explained(&state, &round, &outcomes, &after),
                "{}, call {done}: no order explains it\nbefore: {state:#?}\ncalls: {round:#?}\nresults: {outcomes:?}\n\
                 after: {after:#?}",
                self.name
            );
            self.counts.reads += read.check(&state, &round, &self.name);
            let faults = index_rows::faults(&self.behind, TABLE, &INDEXES).await;
            let found = behind.verify().await.unwrap().faults;
            assert!(
                faults.is_empty() && found.is_empty(),
                "{}, call {done}: {faults:?}, by `verify`: {found:?}\nafter {round:#?}: {outcomes:?}",
                self.name
            );
            check_queries(&behind, &after, name, &self.name).await;
            state = after;
        }
        self.counts
    }

    /// Returns `true` if the calls, in some order, have these results and leave these entities.
    fn is_explained(&self, before: &State, calls: &[Write], outcomes: &[Outcome], after: &State) -> bool {
        let mut left: Vec<(&Write, &Outcome)> = calls.iter().zip(outcomes).collect();
        // A client whose response is lost inserts again what another has deleted since: it is applied twice.
        if self.is_adverse {
            let inserts = left
                .iter()
                .filter(|(call, _)| matches!(call, Write::Insert(_) | Write::Upsert(_)));
            let twice: Vec<_> = inserts.map(|(call, _)| (*call, &Outcome::InDoubt)).collect();
            left.extend(twice);
        }
        explains(before.clone(), &BTreeSet::new(), &left, after)
    }
}

/// Checks that the queries by each index return the entities of a state.
async fn check_queries(people: &Indexed<Person>, state: &State, name: &str, history: &str) {
    let of = |matches: &dyn Fn(&Person) -> bool| -> BTreeSet<Id> {
        let matching = state.values().filter(|person| person.tenant == "t" && matches(person));
        matching.map(Person::key).collect()
    };
    let ids = |found: Result<Vec<Person>>| -> BTreeSet<Id> {
        let found = found.unwrap();
        for person in &found {
            assert_eq!(state.get(&person.key()), Some(person), "{history}");
        }
        let ids: BTreeSet<_> = found.iter().map(Person::key).collect();
        assert_eq!(ids.len(), found.len(), "{history}: an entity came twice: {found:?}");
        ids
    };
    let by_name = people.by(Person::BY_NAME, ("t", name)).unwrap().all().await;
    assert_eq!(ids(by_name), of(&|person| person.name == name), "{history}");
    let by_team = people.by(Person::BY_TEAM, ("t", name)).unwrap().all().await;
    assert_eq!(
        ids(by_team),
        of(&|person| person.team.as_deref() == Some(name)),
        "{history}"
    );
    let by_mail = people.by(Person::BY_MAIL, ("t",)).unwrap().all().await;
    assert_eq!(ids(by_mail), of(&|person| person.mail.is_some()), "{history}");
    let by_code = people.by(Person::BY_CODE, ("t", 1)).unwrap().all().await;
    assert_eq!(ids(by_code), of(&|person| person.code == Some(1)), "{history}");
}

/// The reads beside the writers of a round.
struct Read {
    name: &'static str,
    found: Vec<Result<Vec<Person>, Error>>,
    faults: Option<Result<azure_table_patterns::IndexFaults>>,
}

impl Read {
    /// Reads by a covering index and another one, and sometimes checks all rows.
    async fn all(people: &Indexed<Person>, name: &'static str, number: usize) -> Self {
        let by_name = people.by(Person::BY_NAME, ("t", name)).unwrap().all().await;
        let by_team = people.by(Person::BY_TEAM, ("t", name)).unwrap().all().await;
        let by_team = by_team.inspect(|found| assert!(found.iter().all(|it| it.team.as_deref() == Some(name))));
        let mut faults = None;
        if number.is_multiple_of(4) {
            faults = Some(people.verify().await);
        }
        Self {
            name,
            found: vec![by_name, by_team],
            faults,
        }
    }

    /// Returns the number of reads that succeeded. Each entity is one that was stored before or that a call wrote.
    fn check(self, before: &State, calls: &[Write], history: &str) -> usize {
        let mut succeeded = 0;
        let written: BTreeSet<Id> = calls.iter().map(Write::target).collect();
        for (at, found) in self.found.into_iter().enumerate() {
            let Ok(found) = found else { continue };
            succeeded += 1;
            let is_read = |person: &Person| match at {
                0 => person.name == self.name,
                _ => person.team.as_deref() == Some(self.name),
            };
            for person in &found {
                let is_known = before.get(&person.key()) == Some(person)
                    || calls.iter().any(|call| match call {
                        Write::Insert(new) | Write::Upsert(new) | Write::Modify(new) => new == person,
                        Write::Replace(new) => new.entity == *person,
                        Write::Delete(_) => false,
                    });
                assert!(is_known && is_read(person), "{history}: nobody wrote {person:?}");
            }
            let mut unchanged = before
                .values()
                .filter(|it| it.tenant == "t" && !written.contains(&it.key()));
            let missing = unchanged.find(|it| is_read(it) && found.iter().filter(|one| one == it).count() != 1);
            assert_eq!(missing, None, "{history}: it did not come once: {found:#?}");
        }
        if let Some(Ok(found)) = self.faults {
            succeeded += 1;
            assert!(
                found.faults.is_empty(),
                "{history}: beside {calls:#?}: {:?}",
                found.faults
            );
        }
        succeeded
    }
}

/// A service whose requests and responses take random times, so that those of several tasks interleave.
fn delayed(service: Following, seed: u64) -> Intercept {
    let random = Mutex::new(Rng::with_seed(seed));
    Intercept::new(service, move |service, request| {
        let mut random = random.lock().unwrap();
        let [before, after] = [(); 2].map(|()| Duration::from_millis(random.u64(..MAX_DELAY)));
        async move {
            tokio::time::sleep(before).await;
            let response = service.send(request).await;
            tokio::time::sleep(after).await;
            response
        }
    })
}
