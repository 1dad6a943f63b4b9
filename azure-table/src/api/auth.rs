//! Credentials and shared access signatures (SAS).
//!
//! Most programs need only the credentials at the crate root: [`AccountKey`](crate::AccountKey),
//! [`SasToken`](crate::SasToken) and `EntraCredential` (feature `azure-core-1`). This module has the rest, and the types
//! for writing your own [`Credential`](crate::Credential).
//!
//! | type | use |
//! |---|---|
//! | [`SharedKeyLite`] | an account key that signs with the shorter Shared Key Lite signature |
//! | [`RenewableSas`], [`SharedSas`] | a SAS that the client renews before it expires, or that your program replaces |
//! | [`Anonymous`] | a service without authorization |
//! | [`UserDelegationKey`] | signs a SAS without the account key |
//! | [`SasUrl`], [`SasParts`] | a URL with its SAS, and the parts of a SAS |
//! | [`AccountPermissions`], [`AccountResources`] | the contents of an [`AccountSas`](crate::AccountSas) |
//! | [`AccountServices`] | other services that an `AccountSas` also covers |
//! | [`AuthorizationContext`], [`AuthorizationFailure`] | the arguments of your own credential |
//! | [`IntoCredential`] | the values that a client accepts as its credential |
//!
//! # Examples
//!
//! A URL whose SAS may read one table for an hour:
//!
//! ```
//! use azure_table::{AccountKey, DateTime, TablePermissions, TableSas, TableServiceClient};
//! use std::time::Duration;
//!
//! # fn main() -> azure_table::Result<()> {
//! let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
//! let service = TableServiceClient::new("https://contoso.table.core.windows.net", key)?;
//! let blogs = service.dynamic_table("Blogs")?;
//! let sas = TableSas::new(blogs.name())
//!     .permissions(TablePermissions::READ)
//!     .expiry(DateTime::now() + Duration::from_secs(3_600));
//! let url = blogs.sas_url(&sas)?;
//! assert!(url.expose().starts_with("https://contoso.table.core.windows.net/Blogs?"));
//! # Ok(())
//! # }
//! ```
//!
//! [The accounts guide](crate::guide::accounts) covers all credentials and connection strings.

#[doc(inline)]
pub use azure_table_wire::sas::permissions::{AccountPermissions, AccountResources, AccountServices};
#[doc(inline)]
pub use azure_table_wire::sas::user_delegation_key::UserDelegationKey;

pub use crate::account::sas_token::SasParts;
pub use crate::account::sas_url::SasUrl;
pub use crate::pipeline::auth::sas::{RenewableSas, SharedSas};
pub use crate::pipeline::auth::shared_key::SharedKeyLite;
pub use crate::pipeline::auth::{Anonymous, AuthorizationContext, AuthorizationFailure, IntoCredential};
