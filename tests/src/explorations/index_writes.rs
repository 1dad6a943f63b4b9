//! The writes of entities with declared indexes, and the model that their results must agree with.
//!
//! Histories (`index_histories.rs`) and explorations (`patterns/indexes.rs`) run them.

use std::collections::{BTreeMap, BTreeSet};

use azure_table::{ETag, ErrorKind, Result, TableEntity, Versioned};
use azure_table_patterns::Indexed;
use fastrand::Rng;

use super::index_rows::{Declared, Field};
use crate::promises::count;

/// Plain and unique indexes, with and without the properties of their entities, some of absent values.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
#[table(index(by_code = (code), unique))]
#[table(index(by_team = (team, grade)))]
#[table(index(by_name = (name), covers))]
pub(super) struct Person {
    #[table(partition_key)]
    pub(super) tenant: String,
    #[table(row_key)]
    pub(super) id: u8,
    pub(super) mail: Option<String>,
    pub(super) code: Option<i32>,
    pub(super) team: Option<String>,
    pub(super) grade: u8,
    pub(super) name: String,
    /// No index has it. Each call writes another one.
    pub(super) note: String,
}

/// The indexes of [`Person`].
pub(super) const INDEXES: [Declared; 4] = [
    Declared::unique("by_mail", &[Field::Text("mail")]),
    Declared::unique("by_code", &[Field::Int("code")]),
    Declared::plain("by_team", &[Field::Text("team"), Field::Byte("grade")]),
    Declared::covers("by_name", &[Field::Text("name")]),
];

pub(super) type Id = (&'static str, u8);

pub(super) const TENANTS: [&str; 2] = ["t", "u"];
pub(super) const NAMES: [&str; 4] = ["Ada", "a b", "ü/\\?#", ""];

impl Person {
    /// Returns an entity with random fields of few values.
    pub(super) fn random((tenant, id): Id, random: &mut Rng) -> Self {
        let pick = |random: &mut Rng| NAMES[random.usize(..NAMES.len())].to_owned();
        Self {
            tenant: tenant.to_owned(),
            id,
            mail: random.bool().then(|| format!("{}@x", random.u8(..4))),
            code: random.bool().then(|| random.i32(-2..2)),
            team: random.bool().then(|| pick(random)),
            grade: random.u8(..2),
            name: pick(random),
            note: random.u32(..).to_string(),
        }
    }

    pub(super) fn key(&self) -> Id {
        let tenant = TENANTS.into_iter().find(|tenant| *tenant == self.tenant);
        (tenant.unwrap_or_default(), self.id)
    }

    /// Returns `true` if two entities have one value of a unique index.
    fn excludes(&self, other: &Self) -> bool {
        let is_same_mail = self.mail.is_some() && self.mail == other.mail;
        let is_same_code = self.code.is_some() && self.code == other.code;
        self.key() != other.key() && self.tenant == other.tenant && (is_same_mail || is_same_code)
    }
}

/// A write of one task.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Insert(Person),
    Upsert(Person),
    /// Sets all fields of the entity.
    Modify(Person),
    /// Replaces the version that was stored when the round began.
    Replace(Versioned<Person>),
    Delete(Id),
}

/// The result of a call.
#[derive(Debug)]
pub(super) enum Outcome {
    Done,
    /// A delete found no entity.
    Absent,
    Rejected(ErrorKind),
    /// It was applied, or was not.
    InDoubt,
    /// It was not applied, and says nothing about the entities.
    Failed,
}

impl Outcome {
    pub(super) fn of<T>(written: Result<T>, done: impl Fn(T) -> Self) -> Self {
        count([&written]);
        match written {
            Ok(value) => done(value),
            Err(e) if e.may_have_applied() => Self::InDoubt,
            Err(e) => match e.kind() {
                kind @ (ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet) => {
                    Self::Rejected(kind)
                }
                ErrorKind::Connection
                | ErrorKind::Timeout
                | ErrorKind::Throttled
                | ErrorKind::Rejected
                | ErrorKind::Forbidden
                | ErrorKind::ServerFault
                | ErrorKind::Contention => Self::Failed,
                _ => panic!("{e:?}"),
            },
        }
    }
}

impl Write {
    pub(super) fn random(stored: &State, versions: &BTreeMap<Id, Versioned<Person>>, random: &mut Rng) -> Self {
        let id = (TENANTS[random.usize(..2)], random.u8(..5));
        let mut new = Person::random(id, random);
        // Half of the changes leave some fields of indexes as they are.
        if let Some(stored) = stored.get(&id).filter(|_| random.bool()) {
            let Person { code, team, grade, .. } = stored.clone();
            new = Person {
                code,
                team,
                grade,
                ..new
            };
        }
        match random.u8(..8) {
            0 | 1 => Self::Insert(new),
            2 | 3 => Self::Upsert(new),
            4 | 5 => Self::Modify(new),
            6 => Self::Delete(id),
            _ => match versions.get(&id) {
                None => Self::Insert(new),
                Some(version) => Self::Replace(Versioned {
                    entity: new,
                    ..version.clone()
                }),
            },
        }
    }

    pub(super) async fn run(&self, people: &Indexed<Person>) -> Outcome {
        let done = |_: ETag| Outcome::Done;
        match self {
            Self::Insert(new) => Outcome::of(people.insert(new).await, done),
            Self::Upsert(new) => Outcome::of(people.insert_or_replace(new).await, done),
            Self::Modify(new) => {
                let set = |person: &mut Person| person.clone_from(new);
                Outcome::of(people.modify(new.key(), set).await, |_| Outcome::Done)
            }
            Self::Replace(new) => Outcome::of(people.replace(new).await, done),
            Self::Delete(id) => {
                let done = |existed| if existed { Outcome::Done } else { Outcome::Absent };
                Outcome::of(people.delete(*id).await, done)
            }
        }
    }

    /// Applies the call to the entities. Returns its result.
    fn apply(&self, state: &mut State, versions: &mut BTreeSet<Id>) -> Outcome {
        let (new, may_insert, may_replace) = match self {
            Self::Delete(id) => {
                versions.insert(*id);
                return state.remove(id).map_or(Outcome::Absent, |_| Outcome::Done);
            }
            Self::Insert(new) => (new, true, false),
            Self::Upsert(new) => (new, true, true),
            Self::Modify(new) => (new, false, true),
            Self::Replace(new) => {
                let is_changed = versions.contains(&new.entity.key());
                (&new.entity, false, !is_changed)
            }
        };
        let exists = state.contains_key(&new.key());
        if exists && !may_replace {
            return Outcome::Rejected(match self {
                Self::Insert(_) => ErrorKind::AlreadyExists,
                _ => ErrorKind::ConditionNotMet,
            });
        }
        if !exists && !may_insert {
            return Outcome::Rejected(ErrorKind::NotFound);
        }
        if state.values().any(|other| other.excludes(new)) {
            return Outcome::Rejected(ErrorKind::AlreadyExists);
        }
        state.insert(new.key(), new.clone());
        versions.insert(new.key());
        Outcome::Done
    }

    pub(super) fn target(&self) -> Id {
        match self {
            Self::Delete(id) => *id,
            Self::Insert(new) | Self::Upsert(new) | Self::Modify(new) => new.key(),
            Self::Replace(new) => new.entity.key(),
        }
    }
}

/// The entities.
pub(super) type State = BTreeMap<Id, Person>;

/// Returns `true` if the calls that are left, in some order, lead from a state to another.
pub(super) fn explains(state: State, versions: &BTreeSet<Id>, left: &[(&Write, &Outcome)], after: &State) -> bool {
    // A call that was not applied, or need not have been.
    let is_optional = |(_, outcome): &(&Write, &Outcome)| matches!(outcome, Outcome::InDoubt | Outcome::Failed);
    if left.iter().all(is_optional) && state == *after {
        return true;
    }
    left.iter().enumerate().any(|(at, (call, outcome))| {
        let (mut next, mut changed) = (state.clone(), versions.clone());
        let result = call.apply(&mut next, &mut changed);
        let is_possible = match (outcome, &result) {
            (Outcome::Done, Outcome::Done) | (Outcome::Absent, Outcome::Absent) => true,
            (Outcome::InDoubt, Outcome::Done) => true,
            (Outcome::Rejected(one), Outcome::Rejected(other)) => one == other,
            _ => false,
        };
        let mut others = left.to_vec();
        others.remove(at);
        is_possible && explains(next, &changed, &others, after)
    })
}

/// Returns the stored entities.
pub(super) async fn stored(people: &Indexed<Person>) -> BTreeMap<Id, Versioned<Person>> {
    let read = people.query().allow_table_scan().versioned().all().await.unwrap();
    read.into_iter().map(|person| (person.entity.key(), person)).collect()
}
