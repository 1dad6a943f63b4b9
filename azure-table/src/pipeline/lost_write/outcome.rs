//! The outcome of a lost write: a table, without I/O, clock or features.
//!
//! The guide `retries` has the same table, in the same order.

use crate::pipeline::lost_write::row::{AboutWrite, RowShows};
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

    pub(crate) fn unknown(why: &str) -> Self {
        Self::Unknown(why.to_owned())
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

/// Returns the outcome of a write whose rows show this.
///
/// A batch is applied completely or not at all, so one row may decide.
pub(super) fn outcome(rows: &[RowShows], reads: Reads) -> Resolution {
    let any = |wanted: AboutWrite| rows.iter().any(|row| row.about_write == wanted);
    let is_proven = any(AboutWrite::HasWriteId { is_unshared: true });
    let has_required_etag = any(AboutWrite::HasRequiredETag);
    // Either an earlier call wrote that row, or a clock deceives. No clock outweighs an id.
    let is_contradicted = any(AboutWrite::HasWriteId { is_unshared: false }) && !has_required_etag;
    // An ETag that a row has lost never returns: it was lost before the write was sent, or while another row shows that
    // the write was not applied at that moment.
    let is_ruled_out = (rows.iter())
        .any(|row| row.has_lost_etag && (reads.are_of_one_moment || row.about_write == AboutWrite::IsOlder));
    let why_nothing = rows.iter().find_map(|row| match &row.about_write {
        AboutWrite::Nothing(why) => Some(why.clone()),
        _ => None,
    });
    match (is_proven, has_required_etag || any(AboutWrite::IsOlder)) {
        (true, _) => Resolution::Applied,
        (false, true) if reads.may_lag => {
            Resolution::unknown("its rows are unchanged, but reads of Cosmos DB may lag behind writes")
        }
        (false, true) if is_contradicted => Resolution::unknown(
            "some of its rows have its ids, which an earlier call with the same operations may have written",
        ),
        (false, true) if reads.is_in_flight && !is_ruled_out => Resolution::Unknown(format!(
            "not applied so far, but a request may still be in flight: resolve it {} s after the error, or a minute later in \
             another process; that one cannot tell if no response came",
            MAX_IN_FLIGHT.as_secs()
        )),
        (false, true) => Resolution::NotApplied,
        (false, false) => match why_nothing {
            None if rows.iter().any(|row| row.about_write.is_written()) => Resolution::Applied,
            None => Resolution::unknown("its rows are missing, which does not show who deleted them"),
            Some(why) => Resolution::Unknown(why),
        },
    }
}
