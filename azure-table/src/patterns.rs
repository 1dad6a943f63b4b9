//! Coordination through rows: what many services write by hand. Feature `patterns`.
//!
//! | pattern | promise |
//! |---|---|
//! | [`Fence`] | all batches of a partition in one order, none on the base of an old state |
//! | [`Leases`], [`Lease`] | at most one holder at a time, with a token that orders their writes |
//! | [`Log`] | events in one order without a gap, each append applied at most once |
//! | [`Sequence`] | numbers that are never given twice |
//! | [`Unique`] | at most one entity of a partition with a value |
//!
//! Each is tested in every order of its requests, without and with a lost request or response (`testing::explore`). The
//! pages say what each operation costs in requests, and what happens in a crash.
//!
//! They are written on the public interface alone, so your own patterns can be like them.
//!
//! ```
//! use azure_table::patterns::Sequence;
//! use azure_table::{Emulator, TableServiceClient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let service = TableServiceClient::on(Emulator::new());
//! let numbers = service.dynamic_table("Numbers")?;
//! numbers.create_table().await?;
//!
//! let mut invoices = Sequence::new(&numbers, "sequences", "invoice").block(100);
//! assert_eq!((invoices.next().await?, invoices.next().await?), (1, 2));
//! # Ok(())
//! # }
//! ```

// Imports the crate by its own name, as another crate would.

mod fence;
mod lease;
mod log;
mod sequence;
mod unique;

pub use self::fence::Fence;
pub use self::lease::{Lease, Leases};
pub use self::log::Log;
pub use self::sequence::Sequence;
pub use self::unique::Unique;
