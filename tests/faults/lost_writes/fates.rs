//! The fates of attempts, and the clocks that may be wrong.

/// The wrong clock of a history, in seconds. At most one clock is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Right,
    /// Each `Date` is off by this.
    Date(i64),
    NoDate,
    /// This machine's clock is off by this.
    Own(i64),
    /// It is off by the first, and by the second after the first attempt.
    Stepped(i64, i64),
    /// Cosmos DB, with right clocks, whose reads may be one version old.
    Cosmos,
}

impl Clock {
    pub(super) const ALL: [Self; 19] = [
        Self::Right,
        Self::Date(40),
        Self::Date(-40),
        Self::Date(840),
        Self::Date(-840),
        Self::NoDate,
        Self::Own(40),
        Self::Own(-40),
        Self::Own(840),
        Self::Own(-840),
        Self::Stepped(40, 0),
        Self::Stepped(-40, 0),
        Self::Stepped(840, 0),
        Self::Stepped(-840, 0),
        Self::Stepped(0, 40),
        Self::Stepped(0, -40),
        Self::Stepped(0, 840),
        Self::Stepped(0, -840),
        Self::Cosmos,
    ];

    /// Returns the kind of the fault.
    pub(super) fn family(self) -> &'static str {
        match self {
            Self::Right => "right clocks",
            Self::Date(_) | Self::NoDate => "wrong date",
            Self::Own(_) => "wrong own clock",
            Self::Stepped(..) => "own clock stepped",
            Self::Cosmos => "Cosmos DB",
        }
    }
}

/// When the service receives a request whose response is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    AtOnce,
    Never,
    /// After this number of later requests of the call, or sooner, so that it is never as late as the client excludes.
    After(u32),
}

/// What becomes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    Reset(Arrival),
    Fault(Arrival),
    Busy,
    Proxy(u16),
    /// The credential is rejected and renewed.
    Renewed,
    /// A rejection in the form of the service that no row explains.
    Unexplained(u16),
    Refused,
}
use Arrival::{After, AtOnce, Never};
use Fate::{Answered, Busy, Fault, Proxy, Refused, Renewed, Reset, Unexplained};

/// The fates of the complete enumeration come first.
pub(super) const FATES: [Fate; 21] = [
    Answered,
    Reset(AtOnce),
    Reset(Never),
    Reset(After(1)),
    Reset(After(2)),
    Busy,
    Proxy(404),
    Proxy(412),
    Proxy(403),
    Renewed,
    Unexplained(404),
    Unexplained(412),
    Refused,
    Fault(AtOnce),
    Fault(Never),
    Fault(After(1)),
    Fault(After(2)),
    Reset(After(0)),
    Reset(After(3)),
    Proxy(409),
    Proxy(400),
];
pub(super) const COMPLETE_FATES: usize = 13;

/// The bounds of the histories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) attempts: u32,
    pub(super) changes: u32,
    /// `false` for the fates of the complete enumeration.
    pub(super) has_all_fates: bool,
}
