//! What a user's tests need: failures on demand, between a client and its service. Feature `test-util`.
//!
//! Owns [`Faults`], a wrapper of any [`Transport`](crate::Transport) that does to requests and answers what its rules say.
//! It stands below the retry loop, so a client meets a fault as it would meet one on the network. The service behind it is
//! another's: the `Emulator` of the feature `emulator`, a real connection, a double. Layers: `pipeline::transport`,
//! `codec`, `model`; never the client.
//!
//! # Testing your code
//!
//! Give the code under test a client over [`Faults`], let the call fail that you care for, and look at the table through a
//! client without faults:
//!
//! ```
//! use std::time::Duration;
//! use azure_table::testing::{Fault, Answer, FaultRule, Faults, RequestKind};
//! use azure_table::{DynamicEntity, Emulator, TableClient, TableServiceClient};
//!
//! /// The code under test: a counter that is not lost when its write is in doubt.
//! async fn count(table: &TableClient) -> azure_table::Result<()> {
//!     let written = table.insert_or_merge(&DynamicEntity::new("counter", "1")).await;
//!     match written {
//!         Err(e) if e.may_have_applied() => table.get(("counter", "1")).await.map(drop),
//!         other => other.map(drop),
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let emulator = Emulator::new();
//! let faults = Faults::new(emulator.clone());
//! let table = TableServiceClient::on(faults.clone()).dynamic_table("Counters")?;
//! table.create_table().await?;
//!
//! // The write is applied, but its answer never comes; and then the service is busy once.
//! let lost = faults.add(FaultRule::new(Fault::LoseAnswer).on(RequestKind::InsertOrMerge).first(1));
//! let busy = faults.add(FaultRule::new(Answer::server_busy(Duration::from_millis(10))).on_reads().first(1));
//! count(&table).await?;
//!
//! assert_eq!((lost.hits(), busy.hits()), (1, 1));
//! let truth = TableServiceClient::on(emulator).dynamic_table("Counters")?;
//! assert!(truth.get(("counter", "1")).await?.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! Waits go by tokio's clock: under `#[tokio::test(start_paused = true)]` (tokio's feature `test-util`) an hour's delay
//! takes no time. Rules that leave something to chance draw from a seed ([`Faults::with_seed`]), so that a failure can be
//! seen again. A service whose clock is wrong is an emulator with an `EmulatorClock`, for all requests or by [`Fault::Instead`]
//! for some.

mod address;
mod answer;
mod exchange;
mod fault;
mod faults;
mod likeness;
mod mask;
mod record;
mod recorder;
mod recording;
mod replay;
mod request_kind;
mod rule;
mod script;
mod secrets;
mod spy;
mod verdict;

pub use crate::testing::answer::Answer;
pub use crate::testing::exchange::Exchange;
pub use crate::testing::fault::Fault;
pub use crate::testing::faults::{AddedRule, Faults};
pub use crate::testing::mask::{mask_guids, mask_times};
pub use crate::testing::record::FaultRecord;
pub use crate::testing::recorder::Recorder;
pub use crate::testing::replay::Replay;
pub use crate::testing::request_kind::RequestKind;
pub use crate::testing::rule::FaultRule;
pub use crate::testing::script::Script;
pub use crate::testing::spy::Spy;
