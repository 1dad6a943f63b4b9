//! Which copy of the data reads ask.

use crate::model::location::Location;

/// Which copy of the data reads ask, for accounts whose second region can be read (RA-GRS, RA-GZRS). Writes always go to the
/// primary. The copy lags behind: [`statistics`](crate::TableServiceClient::statistics) tells how far, and what is not found
/// there is asked of the primary, where the mode has both.
///
/// A query stays where its first page came from: continuations of one region mean nothing in the other.
///
/// Source: "Use geo-redundancy to design highly available applications".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocationMode {
    /// Never the copy.
    #[default]
    PrimaryOnly,
    /// The primary first; after a failure the copy and the primary in turn.
    PrimaryThenSecondary,
    /// Only the copy: what is not found there is not there.
    SecondaryOnly,
    /// The copy first; after a failure, or if it finds nothing, the primary and the copy in turn.
    SecondaryThenPrimary,
}

impl LocationMode {
    /// Where the first attempt goes.
    pub(crate) fn first(self) -> Location {
        match self {
            Self::PrimaryOnly | Self::PrimaryThenSecondary => Location::Primary,
            Self::SecondaryOnly | Self::SecondaryThenPrimary => Location::Secondary,
        }
    }

    /// Where the one after an attempt goes.
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

    /// The mode that stays there.
    pub(crate) fn only(location: Location) -> Self {
        match location {
            Location::Primary => Self::PrimaryOnly,
            Location::Secondary => Self::SecondaryOnly,
        }
    }
}
