//! Credentials and shared access signatures (SAS).
//!
//! The credentials of most programs are at the root of the crate: [`AccountKey`](crate::AccountKey),
//! [`SasToken`](crate::SasToken), and with the feature `entra` `EntraCredential`. This module has the rest, and the
//! parts for a [`Credential`](crate::Credential) of your own.
//!
//! | type | use |
//! |---|---|
//! | [`SharedKeyLite`] | an account key with the shorter signature |
//! | [`RenewableSas`], [`SharedSas`] | a SAS that is fetched again before it expires, or that the program replaces |
//! | [`Anonymous`] | a service without authorization |
//! | [`UserDelegationKey`] | signs a SAS without the account key |
//! | [`SasUrl`], [`SasParts`] | a URL with its SAS, and the parts of a SAS |
//! | [`AccountPermissions`], [`AccountResources`] | the contents of an [`AccountSas`](crate::AccountSas) |
//! | [`AccountServices`] | other services that an `AccountSas` applies to |
//! | [`AuthorizationContext`], [`AuthorizationFailure`] | the input of a credential of your own |
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
//! [The guide to accounts](crate::guide::accounts) shows all kinds of credentials, and connection strings.

#[doc(inline)]
pub use azure_table_wire::sas::permissions::{AccountPermissions, AccountResources, AccountServices};
#[doc(inline)]
pub use azure_table_wire::sas::user_delegation_key::UserDelegationKey;

pub use crate::account::sas_token::SasParts;
pub use crate::account::sas_url::SasUrl;
pub use crate::pipeline::auth::sas::{RenewableSas, SharedSas};
pub use crate::pipeline::auth::shared_key::SharedKeyLite;
pub use crate::pipeline::auth::{Anonymous, AuthorizationContext, AuthorizationFailure};
