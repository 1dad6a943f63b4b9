//! The rows of a cluster's partition.

use azure_table::{DateTime, Guid, TableEntity, TableOperation};
use azure_table::{DynamicEntity, PropertyGroup, TableProperty};

pub(super) const START: &str = "!Start";
pub(super) const VERSION: &str = "VersionRow";
pub(super) const END: &str = "~End";

/// All rows of a partition.
#[derive(TableEntity, Debug)]
pub(super) enum Row {
    Start(Start),
    Silo(Silo),
    Version(VersionRow),
    End(End),
    /// A row of a later layout. Views ignore it.
    #[table(other)]
    Unknown(DynamicEntity),
}

/// The state of a silo.
#[derive(TableProperty, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Known, not started.
    Created,
    /// Starting.
    Joining,
    /// Running.
    Active,
    /// Finishing its work.
    ShuttingDown,
    /// Ending without finishing its work.
    Stopping,
    /// Over, or declared so by other silos.
    Dead,
}

/// A process of the cluster. A restarted one has a higher generation.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{address}-{port}-{generation}", rename_all = "PascalCase")]
pub struct Silo {
    /// The cluster.
    #[table(partition_key)]
    pub cluster: String,
    /// The IP address.
    pub address: String,
    /// The port for other silos.
    pub port: u16,
    /// The start of the process, as a number that grows.
    pub generation: u32,
    /// The state.
    pub status: Status,
    /// The port for clients; 0 if it is no gateway.
    pub proxy_port: i32,
    /// The name of the host.
    pub host_name: String,
    /// The silos that suspect this one, each with the time of its vote.
    #[table(json)]
    pub suspicions: Vec<(String, DateTime)>,
    /// The time at which the process started.
    pub start_time: Option<DateTime>,
    /// The last time at which the process was alive.
    pub i_am_alive_time: Option<DateTime>,
}

impl Silo {
    /// Creates a joining silo.
    pub fn new(cluster: impl Into<String>, address: impl Into<String>, port: u16, generation: u32) -> Self {
        Self {
            cluster: cluster.into(),
            address: address.into(),
            port,
            generation,
            status: Status::Joining,
            proxy_port: 0,
            host_name: String::new(),
            suspicions: Vec::new(),
            start_time: None,
            i_am_alive_time: None,
        }
    }
}

/// The version of the table.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "VersionRow", rename_all = "PascalCase")]
pub(super) struct VersionRow {
    #[table(partition_key)]
    cluster: String,
    #[table(rename = "MembershipVersion")]
    pub(super) number: i32,
    #[table(write_id)]
    write: Option<Guid>,
}

impl VersionRow {
    pub(super) fn new(cluster: &str) -> Self {
        Self {
            cluster: cluster.to_owned(),
            number: 0,
            write: None,
        }
    }
}

/// The version, in a row before or after all others.
#[derive(PropertyGroup, Clone, Copy, Debug)]
#[table(rename_all = "PascalCase")]
pub(super) struct Bound {
    #[table(rename = "MembershipVersion")]
    pub(super) number: i32,
    /// Always active: a cleanup that does not know the row leaves it.
    status: Status,
}

impl Bound {
    /// Returns the writes of both rows.
    pub(super) fn operations(cluster: &str, number: i32) -> [TableOperation; 2] {
        let status = Status::Active;
        let (cluster, bound) = (cluster.to_owned(), Self { number, status });
        let start = Start {
            cluster: cluster.clone(),
            bound,
        };
        [
            TableOperation::insert_or_replace(&start),
            TableOperation::insert_or_replace(&End { cluster, bound }),
        ]
    }
}

#[derive(TableEntity, Debug)]
#[table(row_key = "!Start")]
pub(super) struct Start {
    #[table(partition_key)]
    cluster: String,
    #[table(flatten)]
    pub(super) bound: Bound,
}

#[derive(TableEntity, Debug)]
#[table(row_key = "~End")]
pub(super) struct End {
    #[table(partition_key)]
    cluster: String,
    #[table(flatten)]
    pub(super) bound: Bound,
}
