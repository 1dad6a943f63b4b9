//! The bound of a point: its clients' CPU, the service, or neither.

use std::fmt;

use crate::measured::Measured;
use crate::workload::Workload;

/// The share of the CPU from which on the clients are the bound.
const BUSY: f64 = 0.9;

/// The limit that a point met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    ClientBound,
    /// The service rejected requests.
    ServiceBound,
    WithinTarget,
    /// More than the target of its partition or account, and no rejection.
    AboveTarget,
    /// No target is known.
    Unlimited,
    /// Nothing was counted, or every request failed.
    Failed,
}

impl Verdict {
    /// Classifies a point by the targets of a partition and of the account, in entities per second.
    pub(crate) fn of(workload: &Workload, measured: &Measured, targets: Option<(f64, f64)>) -> Self {
        let rate = measured.entities_per_second();
        if measured.accepted_requests == 0 && measured.rejected_requests == 0 {
            return Self::Failed;
        }
        if measured.cpu >= BUSY {
            return Self::ClientBound;
        }
        if measured.rejected_requests > 0 {
            return Self::ServiceBound;
        }
        let Some((partition, account)) = targets else {
            return Self::Unlimited;
        };
        let of_partition = workload.partitions().map_or(0.0, |partitions| rate / partitions as f64);
        if of_partition > partition || rate > account {
            Self::AboveTarget
        } else {
            Self::WithinTarget
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClientBound => "client-bound",
            Self::ServiceBound => "service-bound",
            Self::WithinTarget => "within the target",
            Self::AboveTarget => "above the target",
            Self::Unlimited => "no target",
            Self::Failed => "failed",
        })
    }
}
