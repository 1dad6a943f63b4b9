//! Service properties and statistics, access policies, and the outcomes of creating tables.
//!
//! | type | use |
//! |---|---|
//! | [`ServiceProperties`], [`CorsRule`], [`Logging`], [`Metrics`] | logging, metrics and CORS of the service |
//! | [`ServiceStatistics`], [`GeoReplicationStatus`] | the replication status of the secondary |
//! | [`StoredAccessPolicy`] | permissions that a SAS refers to, and that you can revoke |
//! | [`Creation`] | the outcome of `create_table_if_not_exists`; a delete returns a [`Deletion`](crate::Deletion) |
//! | [`RecreateProgress`] | progress of [`TableClient::recreate_table`](crate::TableClient::recreate_table) |
//!
//! [`TableServiceClient::properties`](crate::TableServiceClient::properties) and `set_properties` read and change the
//! properties of the service. [`TableServiceClient::statistics`](crate::TableServiceClient::statistics) reads its
//! statistics.
//!
//! # Examples
//!
//! ```
//! use azure_table::service::Creation;
//! use azure_table::{Emulator, TableServiceClient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let service = TableServiceClient::from_transport(Emulator::new());
//! let blogs = service.dynamic_table("Blogs")?;
//! assert_eq!(blogs.create_table_if_not_exists().await?, Creation::Created);
//! let properties = service.properties().await?;
//! assert_eq!(properties.cors, Some(Vec::new()));
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use azure_table_wire::service::access_policy::StoredAccessPolicy;
#[doc(inline)]
pub use azure_table_wire::service::service_properties::ServiceProperties;
#[doc(inline)]
pub use azure_table_wire::service::service_properties::analytics::{Logging, Metrics};
#[doc(inline)]
pub use azure_table_wire::service::service_properties::cors::CorsRule;
#[doc(inline)]
pub use azure_table_wire::service::service_statistics::{GeoReplicationStatus, ServiceStatistics};

pub use crate::client::ops::recreate_table::RecreateProgress;
pub use crate::request::tables::Creation;
