//! Encrypted properties, `#[table(encrypted)]`. Feature `encryption`.
//!
//! A client with a key provider encrypts these properties before it sends them, and decrypts them when it reads them.
//!
//! | item | use |
//! |---|---|
//! | [`KeyProvider`] | wraps data keys, for example by Azure Key Vault |
//! | [`LocalKeys`] | the provider whose keys are in the program's memory |
//! | [`DataKey`], [`WrappedKey`] | the arguments of a provider |
//! | [`key_id`] | the key of a stored value, for a rotation |
//! | [`EncryptedColumn`] | the constant of an encrypted field, for patches and selections |
//!
//! # Examples
//!
//! ```
//! use azure_table::encryption::{DataKey, LocalKeys};
//! use azure_table::{Emulator, TableEntity, TableServiceClient};
//!
//! #[derive(TableEntity)]
//! struct Patient {
//!     #[table(partition_key)]
//!     clinic: String,
//!     #[table(row_key)]
//!     number: u32,
//!     #[table(encrypted)]
//!     diagnosis: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let keys = LocalKeys::new("2026-11", DataKey::random()?);
//! let service = TableServiceClient::from_transport(Emulator::new()).encryption(keys);
//! let patients = service.table::<Patient>("Patients")?;
//! # patients.create_table().await?;
//! # patients.insert(&Patient { clinic: "north".into(), number: 1, diagnosis: "gout".into() }).await?;
//! patients.patch(("north", 1), Patient::DIAGNOSIS.set("none")).await?;
//! assert_eq!(patients.query().select((Patient::DIAGNOSIS,)).all().await?, [("none".to_owned(),)]);
//! # Ok(())
//! # }
//! ```
//!
//! The guide [`encryption`](crate::guide::encryption) lists what each operation does, and the format to the byte.

pub use crate::entity::encryption::{DataKey, WrappedKey, key_id};
pub use crate::filter::encrypted_column::EncryptedColumn;
pub use crate::pipeline::encryption::data_keys::KeyProvider;
pub use crate::pipeline::encryption::local_keys::LocalKeys;
