//! Two and three calls of declared indexes beside each other, on both services, calm and at their worst, with a fault,
//! with a crash, and with both.
//!
//! `cargo program explorations -- indexes` runs them.

use std::time::Duration;

use azure_table::testing::{Exploration, Simulation, explore};

use super::Call::{
    self, Build, BuildCovering, Delete, Insert, Modify, Note, Query, QueryKeys, Repair, Replace, Upsert, Verify,
};
use super::beside;
use crate::promises::Place;

/// The calls, each of which is explored beside each.
const CALLS: [Call; 12] = [
    Insert(2, "a@x"),
    Upsert("b@x"),
    Modify("b@x"),
    Replace("c@x"),
    Note,
    Delete,
    Query,
    QueryKeys,
    Build,
    BuildCovering,
    Verify,
    Repair,
];

/// Three calls: about one value of a unique index, and beside readers and repairs.
const THREE: [[Call; 3]; 10] = [
    [Insert(2, "b@x"), Modify("b@x"), Delete],
    [Insert(2, "a@x"), Modify("b@x"), Delete],
    [Insert(2, "b@x"), Insert(5, "b@x"), Modify("b@x")],
    [Insert(2, "a@x"), Upsert("b@x"), Delete],
    [Modify("b@x"), Upsert("c@x"), Replace("a@x")],
    [Insert(2, "a@x"), Modify("b@x"), Query],
    [Insert(2, "a@x"), Delete, Verify],
    [Insert(2, "a@x"), Modify("b@x"), Repair],
    [Modify("b@x"), Delete, Build],
    [Build, Build, Modify("b@x")],
];

/// The service, and what goes wrong in a run.
#[derive(Clone, Copy, Debug)]
pub struct IndexSetting {
    /// The name of the service.
    pub service: &'static str,
    is_cosmos: bool,
    adverse: Option<u64>,
    /// The most faults in a run.
    pub faults: usize,
    /// The most crashes in a run.
    pub crashes: usize,
}

impl IndexSetting {
    /// Returns all of them: each service calm, with a fault, a crash, and both, and at its worst by some seeds.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for (service, is_cosmos) in [("Table storage", false), ("Cosmos DB", true)] {
            let setting = |service, adverse, faults, crashes| Self {
                service,
                is_cosmos,
                adverse,
                faults,
                crashes,
            };
            all.extend(
                [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(faults, crashes)| setting(service, None, faults, crashes)),
            );
            let worst = if is_cosmos {
                "Cosmos DB, adverse"
            } else {
                "Table storage, adverse"
            };
            all.extend([1, 2, 3].map(|seed| setting(worst, Some(seed), 0, 0)));
            all.push(setting(worst, Some(1), 0, 1));
        }
        all
    }
}

/// Calls beside each other.
#[derive(Clone, Debug)]
pub struct IndexCase {
    calls: Vec<Call>,
}

impl IndexCase {
    /// Returns all pairs of calls, and three calls beside each other.
    pub fn all() -> Vec<Self> {
        let pairs = CALLS.iter().enumerate();
        let pairs = pairs.flat_map(|(at, one)| CALLS[at..].iter().map(|other| vec![*one, *other]));
        let is_useful = |calls: &Vec<Call>| {
            let reads = [Query, QueryKeys, Verify];
            !calls.iter().all(|call| reads.contains(call))
        };
        let pairs = pairs.filter(is_useful);
        let three = THREE.iter().map(|calls| calls.to_vec());
        pairs.chain(three).map(|calls| Self { calls }).collect()
    }

    /// Returns the calls.
    pub fn name(&self) -> String {
        let names: Vec<_> = self.calls.iter().map(|call| format!("{call:?}")).collect();
        names.join(" beside ").replace('"', "")
    }

    /// Returns the number of processes.
    pub fn processes(&self) -> usize {
        self.calls.len()
    }

    /// Explores the calls under a setting, for up to this time.
    pub fn explore(&self, setting: IndexSetting, time: Duration) -> Exploration {
        let IndexSetting {
            adverse,
            faults,
            crashes,
            ..
        } = setting;
        let body = async |simulation: Simulation| {
            let mut place = if crashes > 0 {
                Place::explored_with_crashes(simulation)
            } else {
                Place::explored(simulation)
            };
            place.is_adverse = adverse.is_some();
            place.is_faultless = faults + crashes == 0 && adverse.is_none();
            beside(place, &self.calls).await;
        };
        let mut exploration = explore(body).isolated().faults(faults).crashes(crashes);
        if setting.is_cosmos {
            exploration = exploration.cosmos();
        }
        if let Some(seed) = adverse {
            exploration = exploration.adverse(seed);
        }
        exploration.max_schedules(u64::MAX).max_time(time).run()
    }
}
