//! The locations that reads are sent to.

use azure_table_wire::value::location::Location;

/// The location that reads are sent to, for accounts with a readable secondary (RA-GRS, RA-GZRS).
///
/// Two rules hold in every mode:
///
/// - Only a GET may leave the primary. Writes, reads inside a batch and user delegation keys are sent to the primary.
/// - A read that the client makes for a write is sent to the primary. This applies to `modify`, `refresh`,
///   `delete_where`, `patch_where`, `update_where`, `upgrade_where`, `ensure_tables` and the changes of access
///   policies. It also applies when the client reads back a write in doubt.
///
/// Your own `get` and queries follow the mode, and may return a state of minutes ago. A later replace without its ETag
/// then undoes newer writes, without an error. Read with `versioned`: the primary rejects the ETag of an old state with
/// [`ConditionNotMet`](crate::ErrorKind::ConditionNotMet). Or read with [`PrimaryOnly`](Self::PrimaryOnly).
///
/// The secondary lags behind the primary; [`statistics`](crate::TableServiceClient::statistics) returns the last
/// synchronization time. If the secondary does not find an entity, a mode with both locations reads it from the
/// primary. All pages of a query come from the location of its first page: a continuation of one location is not valid
/// in the other.
///
/// See [the guide on retries](crate::guide::retries).
///
/// Source: "Use geo-redundancy to design highly available applications".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocationMode {
    /// Reads go to the primary only.
    #[default]
    PrimaryOnly,
    /// Reads go to the primary first.
    ///
    /// After a failure they alternate between secondary and primary.
    PrimaryThenSecondary,
    /// Reads go to the secondary only, except if a write depends on them.
    SecondaryOnly,
    /// Reads go to the secondary first.
    ///
    /// After a failure, or if the secondary finds nothing, they alternate between primary and secondary.
    SecondaryThenPrimary,
}

impl LocationMode {
    /// Returns the location of the first attempt.
    pub(crate) fn first(self) -> Location {
        match self {
            Self::PrimaryOnly | Self::PrimaryThenSecondary => Location::Primary,
            Self::SecondaryOnly | Self::SecondaryThenPrimary => Location::Secondary,
        }
    }

    /// Returns the location of the attempt after one at `location`.
    pub(crate) fn after(self, location: Location) -> Location {
        match (self, location) {
            (Self::PrimaryOnly, _) => Location::Primary,
            (Self::SecondaryOnly, _) => Location::Secondary,
            (_, Location::Primary) => Location::Secondary,
            (_, Location::Secondary) => Location::Primary,
        }
    }

    pub(crate) fn has(self, location: Location) -> bool {
        match self {
            Self::PrimaryOnly => location == Location::Primary,
            Self::SecondaryOnly => location == Location::Secondary,
            Self::PrimaryThenSecondary | Self::SecondaryThenPrimary => true,
        }
    }

    /// Returns the mode that reads from `location` only.
    pub(crate) fn only(location: Location) -> Self {
        match location {
            Location::Primary => Self::PrimaryOnly,
            Location::Secondary => Self::SecondaryOnly,
        }
    }
}
