//! The state that the routes share, and the limits of a request.

use std::time::Duration;

use azure_table_emulator::Emulator;
use tokio::sync::Semaphore;

use crate::control::access::Access;
use crate::control::fault_rules::FaultRules;
use crate::control::request_log::RequestLog;

/// The time limit for the head of a request, for its body, and for each piece of its response.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum total size of request bodies that are read and processed concurrently, in KiB; others wait.
pub(super) const MAX_BODIES: u32 = 256 << 10;

/// The controlled emulator.
pub(super) struct Steered {
    pub(super) access: Access,
    pub(super) emulator: Emulator,
    pub(super) faults: FaultRules,
    pub(super) log: RequestLog,
    /// The memory of request bodies, in KiB.
    pub(super) bodies: Semaphore,
}
