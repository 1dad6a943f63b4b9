//! A workload: what the workers of some VMs send. Contains the numbers; keys and entities are `entity.rs`.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::entity::{Columns, Template, Worker};

/// The placeholders of a partition that all workers share.
pub(crate) const ONE: &str = "{job}";
/// A partition for each worker.
pub(crate) const MANY: &str = "{guid}";
/// The row key of the study: JobID_VMID_WorkerId_Index.
pub(crate) const ROW_KEY: &str = "{job}_{vm}_{worker}_{n}";

/// The request that a worker sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Operation {
    Insert,
    Get,
    /// So many reads in 100 requests, evenly among the writes.
    Mixed(u64),
}

impl Operation {
    /// Returns whether the request of this number is a read.
    pub(crate) fn is_read(self, request: u64) -> bool {
        match self {
            Self::Insert => false,
            Self::Get => true,
            Self::Mixed(reads) => (request + 1) * reads / 100 > request * reads / 100,
        }
    }
}

/// The sizes of VMs in 2010. The study has the smallest and the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum VmSize {
    Small,
    Medium,
    Large,
    ExtraLarge,
}

impl VmSize {
    /// Returns the number of cores.
    pub(crate) fn cores(self) -> usize {
        match self {
            Self::Small => 1,
            Self::Medium => 2,
            Self::Large => 4,
            Self::ExtraLarge => 8,
        }
    }

    /// Returns the name of its curve.
    pub(crate) fn curve(self) -> &'static str {
        match self {
            Self::Small => "small VM",
            Self::Medium => "medium VM",
            Self::Large => "large VM",
            Self::ExtraLarge => "XL VM",
        }
    }
}

/// The load of one point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Workload {
    pub(crate) operation: Operation,
    /// Entities of each write. 1 is an insert without a batch.
    pub(crate) batch: u64,
    pub(crate) vms: usize,
    /// Workers of each VM.
    pub(crate) threads: usize,
    pub(crate) vm_size: VmSize,
    pub(crate) partition_key: Template,
    pub(crate) row_key: Template,
    pub(crate) columns: Columns,
    /// Requests per second over all VMs.
    pub(crate) rate: Option<f64>,
    /// Rows that each worker finds.
    pub(crate) rows: u64,
    /// Seconds after a rejection or a failure.
    pub(crate) pause: f64,
    pub(crate) warm_up: f64,
    pub(crate) seconds: f64,
}

impl Workload {
    pub(crate) fn workers(&self) -> usize {
        self.vms * self.threads
    }

    /// Returns the number of partitions, or `None` where new ones are added for as long as it runs.
    pub(crate) fn partitions(&self) -> Option<usize> {
        let indices = self.partition_key.indices()?;
        let keys = self
            .each_worker()
            .flat_map(|worker| (0..indices).map(move |n| self.partition_key.render("", worker, n)));
        Some(keys.collect::<HashSet<_>>().len())
    }

    /// Returns the workers of all VMs.
    pub(crate) fn each_worker(&self) -> impl Iterator<Item = Worker> + '_ {
        (0..self.vms).flat_map(|vm| self.workers_of(vm))
    }

    /// Returns the workers of one VM.
    pub(crate) fn workers_of(&self, vm: usize) -> impl Iterator<Item = Worker> + use<> {
        let threads = self.threads;
        (0..threads).map(move |worker| Worker {
            vm,
            worker,
            all: vm * threads + worker,
        })
    }

    /// Returns whether rows must exist before the first request.
    pub(crate) fn reads(&self) -> bool {
        self.operation != Operation::Insert
    }

    pub(crate) fn duration(&self) -> f64 {
        self.warm_up + self.seconds
    }
}
