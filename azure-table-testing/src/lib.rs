#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Imports the wire crate, never the client or the emulator. `explore.rs` of azure-table combines all of them
// into an exploration.

mod address;
mod bill;
mod error;
mod exchange;
mod exploration;
#[doc(hidden)]
pub mod explore;
mod fault;
mod fault_rule;
mod faults;
mod fingerprint;
mod mask;
mod recorder;
mod recording;
mod redaction;
mod replay;
mod response_template;
mod script;
mod secrets;
mod spy;
mod verdict;

pub use crate::bill::Bill;
pub use crate::error::{error, error_in_doubt};
pub use crate::exchange::Exchange;
pub use crate::exploration::{Exploration, FailedSchedule, StopReason};
pub use crate::fault::Fault;
pub use crate::fault_rule::FaultRule;
pub use crate::faults::{AddedRule, FaultRecord, Faults};
pub use crate::mask::{mask_guids, mask_times};
pub use crate::recorder::Recorder;
pub use crate::replay::Replay;
pub use crate::response_template::ResponseTemplate;
#[doc(hidden)]
pub use crate::response_template::{EncodedRow, computed_response, page_response, row_response};
pub use crate::script::Script;
pub use crate::spy::Spy;
