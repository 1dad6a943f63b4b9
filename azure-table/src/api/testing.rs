//! Test doubles for the service: faults, scripts, spies, recordings. Feature `test-util`.
//!
//! All are [`Transport`](crate::transport::Transport)s below the retry loop, so a client treats them like the network.
//! They can wrap each other, an `Emulator` or a real connection.
//!
//! | item | use |
//! |---|---|
//! | [`Faults`], [`FaultRule`], [`Fault`], [`AddedRule`], [`FaultRecord`] | faults by rules, such as lost responses |
//! | [`Script`], [`ResponseTemplate`] | responses in an exact order |
//! | [`EntityResponse`] | entities in a response template |
//! | [`Spy`], [`Exchange`], [`Bill`] | the requests that were sent, their responses, and totals by kind |
//! | [`Recorder`], [`Replay`], [`mask_guids`], [`mask_times`] | record a conversation to a file without secrets, and replay it |
//! | [`error`], [`error_in_doubt`] | errors for mocks |
//! | `explore`, `Simulation`, `Explore`, `RunOutput` (feature `emulator`) | a test in every order of its requests |
//! | `Exploration`, `FailedSchedule`, `StopReason` (feature `emulator`) | the result of an exploration |
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
//! let table = TableServiceClient::from_transport(script).dynamic_table("Blogs").unwrap();
//! let error = table.query().all().await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::TableNotFound);
//! # }
//! ```
//!
//! The guide `testing` (with the features `derive` and `emulator`) compares them.

// `azure-table-testing` has all of them but explorations, which combine the client with the emulator.

#[doc(inline)]
pub use azure_table_testing::{
    AddedRule, Bill, Exchange, Fault, FaultRecord, FaultRule, Faults, Recorder, Replay, ResponseTemplate, Script, Spy,
    error, error_in_doubt, mask_guids, mask_times,
};
#[cfg(feature = "emulator")]
#[doc(inline)]
pub use azure_table_testing::{Exploration, FailedSchedule, StopReason};

pub use crate::entity::entity_response::EntityResponse;
#[cfg(feature = "emulator")]
pub use crate::explore::{Explore, RunOutput, Simulation, explore};
