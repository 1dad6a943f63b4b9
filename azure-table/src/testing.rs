//! What a user's tests put between a client and its service, or in its place. Feature `test-util`.
//!
//! [`Faults`] let requests and answers go wrong by rules, a [`Spy`] keeps what was sent, a [`Script`] says what comes
//! in which order, a [`Recorder`] writes a conversation to a file and a [`Replay`] answers from it. Which of them
//! proves what, with examples, is the guide `testing` (with the features `derive` and `emulator`); a service for each
//! test is `#[azure_table::test]` of the same features.
//!
//! All are [`Transport`](crate::transport::Transport)s: they stand below the retry loop, so a client meets what they do
//! as it would meet it on the network. What is behind them is another's: the `Emulator`, a real connection, another one
//! of these. Layers: `pipeline::transport`, `protocol`, `codec`, `model`; never the client or the emulator.

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
