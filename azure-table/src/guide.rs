//! Pages on one subject each.

#[doc = include_str!("../docs/entities.md")]
pub mod entities {}

#[doc = include_str!("../docs/accounts.md")]
pub mod accounts {}

#[doc = include_str!("../docs/batches.md")]
pub mod batches {}

#[doc = include_str!("../docs/queries.md")]
pub mod queries {}

#[doc = include_str!("../docs/retries.md")]
pub mod retries {}

#[cfg(all(feature = "derive", feature = "test-util", feature = "emulator"))]
#[doc = include_str!("../docs/testing.md")]
pub mod testing {}
