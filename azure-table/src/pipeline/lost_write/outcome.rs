//! The outcome of a lost write: a table, without I/O, clock or features.
//!
//! The guide `retries` has the same table, in the same order.

use crate::pipeline::lost_write::row::{AboutWrite, RowShows, Why};
use crate::pipeline::lost_write::sent_time::MAX_IN_FLIGHT;

/// The outcome of a write in doubt, as far as its stored rows show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// The write was applied. Other writes may have changed its rows since.
    Applied,
    /// The write was not applied, and will not be: no request of it can succeed any more.
    NotApplied,
    /// The stored rows do not show it. The text says why, in one sentence.
    Unknown(String),
}

impl Resolution {
    /// `None` if the stored rows do not show it.
    pub(crate) fn is_applied(&self) -> Option<bool> {
        match self {
            Self::Applied => Some(true),
            Self::NotApplied => Some(false),
            Self::Unknown(_) => None,
        }
    }
}

/// How the rows were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    /// A request of the write may arrive after them.
    pub(super) is_in_flight: bool,
    /// They may show the rows as they were before an applied write: Cosmos DB below strong consistency.
    pub(super) may_lag: bool,
    /// One response had all rows, so they are of one moment.
    ///
    /// Source: "Windows Azure Table" (2009): snapshot isolation within a partition and a query, but not across
    /// continuations.
    pub(super) are_of_one_moment: bool,
}

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Applied,
    NotApplied,
    Unknown(UnknownBecause),
}

/// Why the rows do not show the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownBecause {
    ReadsMayLag,
    SharedId,
    InFlight,
    /// Of the row with this index.
    Row(usize, Why),
    /// All rows to delete are missing.
    Deleted,
}

/// What all rows show together. A batch is applied completely or not at all, so one row may decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TogetherShow {
    /// A row has the id of this write, which no other call sent.
    Id,
    /// A row still has the ETag that the write requires.
    RequiredETag,
    /// A row is older than the write.
    OlderRow,
    /// The same, and another row has an id that an earlier call may have written.
    OlderRowAndSharedId,
    /// All rows are as the write leaves them.
    WholeWrite,
    Nothing(UnknownBecause),
}

/// Returns the outcome of a write whose rows show this.
pub(super) fn outcome(rows: &[RowShows], reads: Reads) -> Outcome {
    // An ETag that a row has lost never returns: before the write was sent, or while another row shows that the write
    // was not applied at that moment.
    let is_ruled_out = rows
        .iter()
        .any(|row| row.has_lost_etag && (reads.are_of_one_moment || row.about_write == AboutWrite::IsOlder));
    let may_arrive = reads.is_in_flight && !is_ruled_out;
    match (together(rows), reads.may_lag, may_arrive) {
        (TogetherShow::Id, _, _) => Outcome::Applied,
        // A later read may show the write.
        (TogetherShow::RequiredETag | TogetherShow::OlderRow | TogetherShow::OlderRowAndSharedId, true, _) => {
            Outcome::Unknown(UnknownBecause::ReadsMayLag)
        }
        (TogetherShow::OlderRowAndSharedId, false, _) => Outcome::Unknown(UnknownBecause::SharedId),
        (TogetherShow::RequiredETag | TogetherShow::OlderRow, false, false) => Outcome::NotApplied,
        (TogetherShow::RequiredETag | TogetherShow::OlderRow, false, true) => {
            Outcome::Unknown(UnknownBecause::InFlight)
        }
        (TogetherShow::WholeWrite, _, _) => Outcome::Applied,
        (TogetherShow::Nothing(why), _, _) => Outcome::Unknown(why),
    }
}

fn together(rows: &[RowShows]) -> TogetherShow {
    let any = |wanted: AboutWrite| rows.iter().any(|row| row.about_write == wanted);
    let nothing = rows.iter().enumerate().find_map(|(index, row)| match row.about_write {
        AboutWrite::Nothing(why) => Some(UnknownBecause::Row(index, why)),
        _ => None,
    });
    if any(AboutWrite::HasWriteId { is_unshared: true }) {
        TogetherShow::Id
    } else if any(AboutWrite::HasRequiredETag) {
        TogetherShow::RequiredETag
    } else if any(AboutWrite::IsOlder) && any(AboutWrite::HasWriteId { is_unshared: false }) {
        TogetherShow::OlderRowAndSharedId
    } else if any(AboutWrite::IsOlder) {
        TogetherShow::OlderRow
    } else if let Some(why) = nothing {
        TogetherShow::Nothing(why)
    } else if rows.iter().any(|row| row.about_write.is_written()) {
        TogetherShow::WholeWrite
    } else {
        TogetherShow::Nothing(UnknownBecause::Deleted)
    }
}

impl Outcome {
    /// Returns the outcome as users see it. `key` returns the key of the row with an index.
    pub(super) fn into_resolution<'a>(self, key: impl Fn(usize) -> (&'a str, &'a str)) -> Resolution {
        let why = match self {
            Self::Applied => return Resolution::Applied,
            Self::NotApplied => return Resolution::NotApplied,
            Self::Unknown(why) => why,
        };
        Resolution::Unknown(match why {
            UnknownBecause::Row(index, why) => why.describe(key(index)),
            UnknownBecause::Deleted => {
                format!("the row {:?} is missing, which does not show who deleted it", key(0))
            }
            UnknownBecause::SharedId => {
                "some of its rows have its ids, which an earlier call with the same operations \
                                         may have written"
                    .to_owned()
            }
            UnknownBecause::ReadsMayLag => "its rows are unchanged, but reads of Cosmos DB may lag behind writes: \
                                            read the row later"
                .to_owned(),
            UnknownBecause::InFlight => format!(
                "not applied so far, but a request may still be in flight: resolve it {} s after the error; another \
                 process cannot tell if no response came",
                MAX_IN_FLIGHT.as_secs()
            ),
        })
    }
}
