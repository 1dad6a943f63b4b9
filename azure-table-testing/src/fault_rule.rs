//! The conditions of a fault.
//!
//! Defines [`FaultRule`] and the decision for one request. `faults.rs` keeps the counts.

use azure_table_wire::error::operation_kind::{OperationKind, is_request};

use crate::fault::Fault;
use crate::response_template::ResponseTemplate;

/// A [`Fault`] and the requests that it affects. Without conditions it affects all.
///
/// Kinds and table select the matching requests, which are counted from 1. Choose among them with [`nth`](Self::nth),
/// [`first`](Self::first), [`every`](Self::every) or [`probability`](Self::probability). If you set several, the last
/// one applies.
///
/// ```
/// use azure_table::operation::OperationKind;
/// use azure_table::testing::{Fault, FaultRule};
/// let rule = FaultRule::new(Fault::Reset).on(OperationKind::Insert).table("Orders").every(3).at_most(2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a rule does nothing until it is added"]
pub struct FaultRule {
    pub(crate) fault: Fault,
    /// Empty means all kinds.
    kinds: Vec<OperationKind>,
    table: Option<String>,
    when: When,
    max_hits: u64,
}

#[derive(Clone, Copy, Debug)]
enum When {
    Always,
    Nth(u64),
    First(u64),
    Every(u64),
    Chance(f64),
}

impl FaultRule {
    /// Creates a rule for every request: a fault, or a response instead of the service's.
    pub fn new(fault: impl Into<Fault>) -> Self {
        Self {
            fault: fault.into(),
            kinds: Vec::new(),
            table: None,
            when: When::Always,
            max_hits: u64::MAX,
        }
    }

    /// Limits the rule to requests of this kind, and of the kinds added before.
    ///
    /// # Panics
    /// No request is of this kind, because the operation sends requests of other kinds.
    pub fn on(mut self, kind: OperationKind) -> Self {
        assert!(
            is_request(kind),
            "no request is of the kind {kind:?}: name those that it sends, such as `Get`"
        );
        self.kinds.push(kind);
        self
    }

    /// Limits the rule to reads of entities and tables, and the kinds added before.
    pub fn on_reads(mut self) -> Self {
        use OperationKind::{Get, GetTable, ListTables, Query};
        self.kinds.extend([Get, Query, GetTable, ListTables]);
        self
    }

    /// Limits the rule to writes of entities and tables, and the kinds added before.
    pub fn on_writes(mut self) -> Self {
        use OperationKind::{
            Batch, CreateTable, Delete, DeleteTable, Insert, InsertOrMerge, InsertOrReplace, Merge, Replace,
        };
        self.kinds
            .extend([Insert, Replace, Merge, InsertOrReplace, InsertOrMerge]);
        self.kinds.extend([Delete, Batch, CreateTable, DeleteTable]);
        self
    }

    /// Limits the rule to requests for this table. Names are case-insensitive.
    pub fn table(mut self, name: impl Into<String>) -> Self {
        self.table = Some(name.into());
        self
    }

    /// Limits the rule to the `n`th matching request.
    pub fn nth(mut self, n: u64) -> Self {
        self.when = When::Nth(n);
        self
    }

    /// Limits the rule to the first `n` matching requests.
    pub fn first(mut self, n: u64) -> Self {
        self.when = When::First(n);
        self
    }

    /// Limits the rule to every `n`th matching request: the `n`th, the `2n`th, and so on.
    pub fn every(mut self, n: u64) -> Self {
        self.when = When::Every(n);
        self
    }

    /// Affects each matching request with this probability, from 0 to 1.
    ///
    /// It is drawn from the seed of [`Faults`](crate::Faults).
    pub fn probability(mut self, probability: f64) -> Self {
        self.when = When::Chance(probability);
        self
    }

    /// Limits the total number of hits.
    pub fn at_most(mut self, hits: u64) -> Self {
        self.max_hits = hits;
        self
    }

    pub(crate) fn fits(&self, kind: Option<OperationKind>, table: Option<&str>) -> bool {
        let of_kind = self.kinds.is_empty() || kind.is_some_and(|kind| self.kinds.contains(&kind));
        let of_table = self
            .table
            .as_deref()
            .is_none_or(|wanted| table.is_some_and(|table| table.eq_ignore_ascii_case(wanted)));
        of_kind && of_table && self.fault.can_happen_to(kind)
    }

    /// Returns `true` if the fault affects the `count`th matching request, after `hits` hits.
    pub(crate) fn chooses(&self, count: u64, hits: u64, random: &mut fastrand::Rng) -> bool {
        let chosen = match self.when {
            When::Always => true,
            When::Nth(n) => count == n,
            When::First(n) => count <= n,
            When::Every(n) => n != 0 && count.is_multiple_of(n),
            // Drawn for each matching request, so that the draws do not depend on the hits.
            When::Chance(probability) => random.f64() < probability,
        };
        chosen && hits < self.max_hits
    }
}

impl From<Fault> for FaultRule {
    fn from(fault: Fault) -> Self {
        Self::new(fault)
    }
}

impl From<ResponseTemplate> for FaultRule {
    fn from(template: ResponseTemplate) -> Self {
        Self::new(template)
    }
}
