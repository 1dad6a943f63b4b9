//! Test doubles for the service: faults, scripts, spies, recordings. Feature `test-util`; faults alone also `faults`.
//!
//! All are [`Transport`](crate::transport::Transport)s below the retry loop, so a client treats them like the network.
//! They wrap each other, an `Emulator` or a real connection.
//!
//! | item | use |
//! |---|---|
//! | [`Faults`], [`FaultRule`], [`Fault`], [`AddedRule`], [`FaultRecord`] | faults by rules, such as lost responses |
//! | [`Script`], [`ResponseTemplate`] | responses in an exact order |
//! | [`Spy`], [`Exchange`] | the requests that were sent, and their responses |
//! | [`Recorder`], [`Replay`], [`mask_guids`], [`mask_times`] | a conversation in a file, without secrets |
//! | [`error`], [`error_in_doubt`] | errors for mocks |
//! | `explore`, `World`, `Explore`, `RunOutput` (feature `emulator`) | a test in every order of its requests |
//! | `Exploration`, `FailedSchedule`, `Bound` (feature `emulator`) | what an exploration found |
//!
//! With the features `derive` and `emulator`, `#[azure_table::test]` gives each test its own service.
//!
//! # Examples
//!
//! ```
//! use azure_table::testing::{ResponseTemplate, Script};
//! use azure_table::{ErrorKind, TableServiceClient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let script = Script::new().then_any(ResponseTemplate::new(404).code("TableNotFound"));
//! let table = TableServiceClient::on(script).dynamic_table("Blogs").unwrap();
//! let error = table.query().all().await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::NotFound);
//! # }
//! ```
//!
//! The guide `testing` (with the features `derive` and `emulator`) compares them.

// Imports the core, never the client or the emulator.
// `__private/explore.rs` joins all of them to an exploration, which is only exported here.

#[cfg(feature = "test-util")]
mod address;
#[cfg(feature = "test-util")]
mod error;
#[cfg(feature = "test-util")]
mod exchange;
#[cfg(all(feature = "test-util", feature = "emulator"))]
pub(crate) mod explore;
mod fault;
mod fault_rule;
mod faults;
#[cfg(feature = "test-util")]
mod fingerprint;
#[cfg(feature = "test-util")]
mod mask;
#[cfg(feature = "test-util")]
mod recorder;
#[cfg(feature = "test-util")]
mod recording;
#[cfg(feature = "test-util")]
mod redaction;
#[cfg(feature = "test-util")]
mod replay;
mod response_template;
#[cfg(feature = "test-util")]
mod script;
#[cfg(feature = "test-util")]
mod secrets;
#[cfg(feature = "test-util")]
mod spy;
#[cfg(feature = "test-util")]
mod verdict;

#[cfg(all(feature = "test-util", feature = "emulator"))]
pub use crate::__private::explore::{Explore, RunOutput, World, explore};
#[cfg(feature = "test-util")]
pub use crate::testing::error::{error, error_in_doubt};
#[cfg(feature = "test-util")]
pub use crate::testing::exchange::Exchange;
#[cfg(all(feature = "test-util", feature = "emulator"))]
pub use crate::testing::explore::outcome::{Bound, Exploration, FailedSchedule};
pub use crate::testing::fault::Fault;
pub use crate::testing::fault_rule::FaultRule;
pub use crate::testing::faults::{AddedRule, FaultRecord, Faults};
#[cfg(feature = "test-util")]
pub use crate::testing::mask::{mask_guids, mask_times};
#[cfg(feature = "test-util")]
pub use crate::testing::recorder::Recorder;
#[cfg(feature = "test-util")]
pub use crate::testing::replay::Replay;
pub use crate::testing::response_template::ResponseTemplate;
#[cfg(feature = "test-util")]
pub use crate::testing::script::Script;
#[cfg(feature = "test-util")]
pub use crate::testing::spy::Spy;
