//! Transports for a user's tests, in front of a service or in its place. Feature `test-util`.
//!
//! | type | purpose |
//! |---|---|
//! | [`Faults`] | fails requests and responses by rules |
//! | [`Spy`] | keeps the requests and their responses |
//! | [`Script`] | answers requests in a fixed order |
//! | [`Recorder`] | writes a conversation to a file |
//! | [`Replay`] | answers from that file |
//!
//! The guide `testing` says, with examples, which of them proves what (with the features `derive` and `emulator`).
//! `#[azure_table::test]` of the same features gives each test a service of its own.
//!
//! All are [`Transport`](crate::transport::Transport)s. They are below the retry loop, so a client sees their effects
//! as it would see them on the network. Behind them is another transport: the `Emulator`, a real connection, or another
//! one of these. Layers: `pipeline::transport`, `protocol`, `codec`, `model`; never the client or the emulator.

mod address;
mod error;
mod exchange;
mod fault;
mod fault_rule;
mod faults;
mod fingerprint;
mod mask;
mod recorder;
mod recording;
mod redaction;
mod replay;
mod request_kind;
mod response_template;
mod script;
mod secrets;
mod spy;
mod verdict;

pub use crate::testing::error::{error, error_in_doubt};
pub use crate::testing::exchange::Exchange;
pub use crate::testing::fault::Fault;
pub use crate::testing::fault_rule::FaultRule;
pub use crate::testing::faults::{AddedRule, FaultRecord, Faults};
pub use crate::testing::mask::{mask_guids, mask_times};
pub use crate::testing::recorder::Recorder;
pub use crate::testing::replay::Replay;
pub use crate::testing::response_template::ResponseTemplate;
pub use crate::testing::script::Script;
pub use crate::testing::spy::Spy;
