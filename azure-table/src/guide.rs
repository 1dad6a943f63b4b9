#![doc = include_str!("guide/index.md")]

#[doc = include_str!("guide/entities.md")]
pub mod entities {}

#[doc = include_str!("guide/accounts.md")]
pub mod accounts {}

#[doc = include_str!("guide/cosmos.md")]
pub mod cosmos {}

#[doc = include_str!("guide/design.md")]
pub mod design {}

#[doc = include_str!("guide/compared.md")]
pub mod compared {}

#[doc = include_str!("guide/limits.md")]
pub mod limits {}

#[doc = include_str!("guide/deployments.md")]
pub mod deployments {}

#[doc = include_str!("guide/web_services.md")]
pub mod web_services {}

#[doc = include_str!("guide/batches.md")]
pub mod batches {}

#[doc = include_str!("guide/queries.md")]
pub mod queries {}

#[doc = include_str!("guide/operations.md")]
pub mod operations {}

#[doc = include_str!("guide/retries.md")]
pub mod retries {}

#[cfg_attr(all(feature = "derive", feature = "test-util", feature = "emulator"), doc = include_str!("guide/testing.md"))]
#[cfg_attr(
    not(all(feature = "derive", feature = "test-util", feature = "emulator")),
    doc = "Needs the features `derive`, `emulator` and `test-util`: docs.rs has it."
)]
pub mod testing {}

#[cfg_attr(all(feature = "derive", feature = "test-util", feature = "emulator"), doc = include_str!("guide/explorations.md"))]
#[cfg_attr(
    not(all(feature = "derive", feature = "test-util", feature = "emulator")),
    doc = "Needs the features `derive`, `emulator` and `test-util`: docs.rs has it."
)]
pub mod explorations {}

#[cfg_attr(all(feature = "derive", feature = "test-util", feature = "emulator"), doc = include_str!("guide/cookbook.md"))]
#[cfg_attr(
    not(all(feature = "derive", feature = "test-util", feature = "emulator")),
    doc = "Needs the features `derive`, `emulator` and `test-util`: docs.rs has it."
)]
pub mod cookbook {}

#[doc = include_str!("guide/emulator.md")]
pub mod emulator {}

#[doc = include_str!("guide/performance.md")]
pub mod performance {}

#[doc = include_str!("guide/pitfalls.md")]
pub mod pitfalls {}

#[doc = include_str!("guide/migrate_azure_data_tables.md")]
pub mod migrate_azure_data_tables {}

#[doc = include_str!("guide/migrate_dotnet.md")]
pub mod migrate_dotnet {}

#[doc = include_str!("guide/migrate_others.md")]
pub mod migrate_others {}

#[doc = include_str!("guide/migrate_azurite.md")]
pub mod migrate_azurite {}
